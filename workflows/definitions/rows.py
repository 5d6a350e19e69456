"""A valid document as rows, for people and queries; the document itself stays as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """The one trigger, stored beside step 1 (S1)."""

    type: str
    config: Mapping[str, Any]
    filters: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step; positions count from 1, as people do."""

    position: int
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action of the step at `step_position`."""

    step_position: int
    position: int
    key: str
    type: str
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Everything of a document that is stored as rows."""

    trigger: TriggerRow
    steps: tuple[StepRow, ...]
    actions: tuple[ActionRow, ...]


def rows(document: Mapping[str, Any]) -> Rows:
    """The rows of a document that `read_automation` found valid."""
    trigger = document["trigger"]
    steps = list(enumerate(document["steps"], start=1))
    return Rows(
        TriggerRow(trigger["type"], trigger.get("config", {}), trigger.get("filters")),
        tuple(StepRow(position, step["key"], step.get("name") or step["key"]) for position, step in steps),
        tuple(
            ActionRow(step_position, position, action["key"], action["type"], action.get("config", {}))
            for step_position, step in steps
            for position, action in enumerate(step["actions"], start=1)
        ),
    )
