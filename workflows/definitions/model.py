"""A valid automation, compiled: what the engine runs and what the router asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workflows.contracts import ActionType, Config, ReplyWait, TriggerType
from workflows.definitions.binding import Slot, bind_slots
from workflows.filters import Filter


@dataclass(frozen=True, slots=True)
class Trigger:
    """The one trigger (T2). `filters` is None where there are none."""

    kind: str
    handler: TriggerType[Any]
    config: Config
    filters: Filter | None


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a step.

    `reply_wait` is the wait that it will ask for itself. `reservation` is the wait that takes a reply to this
    action's message: its own, or that of a later `flow.wait_for_reply` of the step with no other pause
    between (decision 12). `constant` is the config of an action without templates. Its output is merged
    under `<category>.<output_key>` (decision 20).
    """

    key: str
    kind: str
    handler: ActionType[Any]
    raw: Mapping[str, Any]
    reply_wait: ReplyWait | None
    reservation: ReplyWait | None
    constant: Config | None
    templates: tuple[Slot, ...]
    output_key: str
    needs_contact: bool

    def bind(self, context: Mapping[str, Any]) -> tuple[Config, Mapping[str, Any]]:
        """The config for one run, as a model and as JSON, both to be left unchanged; raises BindFailed."""
        if self.constant is not None:
            return self.constant, self.raw
        return bind_slots(self.key, self.handler.config, self.raw, self.templates, context)


@dataclass(frozen=True, slots=True)
class Step:
    """Actions in order; the last one, and no other, is terminal (S4)."""

    key: str
    name: str | None
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Automation:
    """A definition that keeps every rule. `index` gives a step's place by its key."""

    name: str
    max_step_visits: int
    wait_conflict: Literal["automatic", "manual"]
    on_agent_message: Literal["ignore", "cancel"]
    trigger: Trigger
    steps: tuple[Step, ...]
    index: Mapping[str, int]

    def action(self, step_key: str, action_key: str) -> Action:
        """The action by its keys."""
        actions = self.steps[self.index[step_key]].actions
        return next(action for action in actions if action.key == action_key)

    @property
    def needs_contact(self) -> bool:
        """Whether an execution can do nothing without a contact (decision 32)."""
        return any(action.needs_contact for step in self.steps for action in step.actions)
