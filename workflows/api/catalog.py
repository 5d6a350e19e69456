"""`catalog/`: what definitions may use, read from the registries, with labels in every language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.utils.translation import gettext, override
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.api.describe import problems_of
from workflows.contracts import action_registry, trigger_registry
from workflows.errors import REASONS
from workflows.filters import operator_catalogue
from workflows.models import Role

T = TypeVar("T", bound=BaseModel)
Texts = dict[str, str]
"""A text by language."""


class ActionOut(BaseModel):
    """A type of action; `config` and `output` are JSON Schemas."""

    type: str
    category: str
    label: Texts
    help: Texts
    terminal: bool
    effect: str
    limit_seconds: float
    config: dict[str, Any]
    output: dict[str, Any] | None


class TriggerOut(BaseModel):
    """A type of trigger; `config` is a JSON Schema."""

    type: str
    label: Texts
    help: Texts
    filters: bool
    publishable: bool
    config: dict[str, Any]


class OperatorOut(BaseModel):
    """An operator of filters; `value` names the input that a form shows."""

    operator: str
    label: Texts
    help: Texts
    value: str
    types: list[str]
    exact: bool
    negates: str | None


class ReasonOut(BaseModel):
    """A status, a reason or a reason of the router's trace."""

    code: str
    family: str
    cause: Texts
    next_step: Texts
    acts: list[str]


class ActionList(BaseModel):
    """All types of action."""

    results: list[ActionOut]


class TriggerList(BaseModel):
    """All types of trigger."""

    results: list[TriggerOut]


class OperatorList(BaseModel):
    """All operators."""

    results: list[OperatorOut]


class ReasonList(BaseModel):
    """All codes."""

    results: list[ReasonOut]


class CatalogView(APIView):
    """Base: every role may read."""

    roles: ClassVar = {"GET": Role.VIEWER}


class ActionsView(CatalogView):
    """Types of action."""

    @extend_schema(
        operation_id="list_action_types",
        summary="Types of action",
        responses={200: ActionList, **problems_of()},
    )
    def get(self, request: Request) -> Response:
        """With the JSON Schemas of their settings and outputs (A8)."""
        return _all(
            ActionOut(
                type=kind,
                category=handler.category,
                label=_texts(handler.label),
                help=_texts(handler.help),
                terminal=handler.terminal,
                effect=handler.effect,
                limit_seconds=handler.limit_s,
                config=handler.config.model_json_schema(),
                output=handler.output.model_json_schema(mode="serialization") if handler.output else None,
            )
            for kind, handler in action_registry.items()
        )


class TriggersView(CatalogView):
    """Types of trigger."""

    @extend_schema(
        operation_id="list_trigger_types",
        summary="Types of trigger",
        responses={200: TriggerList, **problems_of()},
    )
    def get(self, request: Request) -> Response:
        """With the JSON Schema of their settings."""
        return _all(
            TriggerOut(
                type=kind,
                label=_texts(handler.label),
                help=_texts(handler.help),
                filters=handler.has_filters,
                publishable=handler.publishable,
                config=handler.config.model_json_schema(),
            )
            for kind, handler in trigger_registry.items()
        )


class OperatorsView(CatalogView):
    """Operators of filters."""

    @extend_schema(
        operation_id="list_operators",
        summary="Operators of filters",
        responses={200: OperatorList, **problems_of()},
    )
    def get(self, request: Request) -> Response:
        """With the kind of value that each takes."""
        return _all(
            OperatorOut(**{**row, "label": _texts(row["label"]), "help": _texts(row["help"])})
            for row in operator_catalogue()
        )


class ReasonsView(CatalogView):
    """Statuses and reasons."""

    @extend_schema(
        operation_id="list_reasons",
        summary="Statuses and reasons",
        responses={200: ReasonList, **problems_of()},
    )
    def get(self, request: Request) -> Response:
        """Each with its cause, the next step and the acts that it allows."""
        return _all(
            ReasonOut(
                code=reason.code,
                family=reason.family,
                cause=_texts(reason.cause),
                next_step=_texts(reason.next_step),
                acts=list(reason.acts),
            )
            for reason in REASONS.values()
        )


def _all(found: Any) -> Response:
    return Response({"results": [each.model_dump(mode="json") for each in found]})


def _texts(msgid: str) -> Texts:
    """The text in every language of the installation."""
    return {language: _in(language, gettext, msgid) for language, _name in settings.LANGUAGES}


def _in(language: str, translate: Callable[[str], str], msgid: str) -> str:
    with override(language):
        return translate(msgid) if msgid else ""
