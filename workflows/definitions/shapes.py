"""The shapes of a definition's own parts; the configs of triggers and actions belong to their types."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workflows.contracts import refusal
from workflows.errors import N_

MAX_STEPS = 100
MAX_ACTIONS = 50

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}", re.ASCII)


def _key_form(value: str) -> str:
    if not _KEY.fullmatch(value):
        raise refusal(
            "key_format",
            N_("A key starts with a letter and has letters, digits and _ only, at most 63 characters."),
        )
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise refusal("blank", N_("The field {field} must not be blank."))
    return value


Key = Annotated[str, AfterValidator(_key_form)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_not_blank)]


class Shape(BaseModel):
    """Base: unknown fields are refused, values are taken as they are written."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Header(Shape):
    """An automation without its trigger and steps."""

    format: Literal[1]
    kind: Literal["automation"]
    name: Name
    max_step_visits: Annotated[int, Field(ge=1, le=100)] = 10
    wait_conflict: Literal["automatic", "manual"] = "automatic"
    on_agent_message: Literal["ignore", "cancel"] = "ignore"


class TriggerShape(Shape):
    """A trigger before its type is known."""

    type: str
    config: dict[str, Any] = {}
    filters: Any = None


class StepShape(Shape):
    """A step without its actions."""

    key: Key
    name: Name | None = None


class ActionShape(Shape):
    """An action before its type is known."""

    key: Key
    type: str
    config: dict[str, Any] = {}
