"""A workflow without a database: real definitions and actions, a context in memory, a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.builders import automation
from workflows.contracts import Call, Continue, Outcome, WaitForReply
from workflows.definitions.automation import compile_automation
from workflows.definitions.model import Action, Automation
from workflows.engine.interpreter import (
    Finish,
    Halt,
    Move,
    Pause,
    Proceed,
    action_at,
    after,
    begin,
    check_budget,
)
from workflows.engine.state import State

NOW = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
ZONE = ZoneInfo("America/Guatemala")
Answer = Callable[[Action, State], Outcome]


def act(key: str, kind: str, **config: Any) -> dict[str, Any]:
    """One action of a document."""
    return {"key": key, "type": kind, "config": config}


def note(key: str) -> dict[str, Any]:
    """An action with an effect that is no message to the contact."""
    return act(key, "notification.notify_user", user_id="u-1", text="x")


def compiled(steps: Mapping[str, list[dict[str, Any]]], **changes: Any) -> Automation:
    """An automation of steps by key."""
    listed = [{"key": key, "actions": actions} for key, actions in steps.items()]
    return compile_automation(automation(steps=listed, **changes))


def really(action: Action, context: Mapping[str, Any]) -> Outcome:
    """What a `flow.*` action gives; every other one succeeds without output, and waits if it is to wait."""
    if action.handler.category != "flow":
        return Continue() if action.reply_wait is None else WaitForReply(action.reply_wait)
    call = Call(
        context=context,
        now=NOW,
        zone=ZONE,
        services=None,
        auth=None,
        idempotency_key="",
        deadline_s=1.0,
    )
    config, _shown = action.bind(context)
    return action.handler.run(call, config)


@dataclass(slots=True)
class Walk:
    """What ran, as (step, action, visit), and how the walk ended."""

    ran: list[tuple[str, str, int]]
    end: Pause | Finish | Halt

    @property
    def keys(self) -> list[str]:
        """The actions that ran, by key."""
        return [key for _step, key, _visit in self.ran]


def walk(
    automation: Automation, state: State | None = None, context: Mapping[str, Any] | None = None
) -> Walk:
    """Go on from `state` (the beginning) until a pause, the end or a guard."""
    return walk_with(automation, lambda action, _state: really(action, context or {}), state)


def walk_with(automation: Automation, answer: Answer, state: State | None = None) -> Walk:
    """`walk` with outcomes of the test's own."""
    state = state or begin(automation)
    ran: list[tuple[str, str, int]] = []
    while True:
        halted = check_budget(automation, state)
        if halted is not None:
            return Walk(ran, halted)
        step, action = automation.steps[state.step], action_at(automation, state)
        move: Move = after(automation, state, answer(action, state), now=NOW)
        if not isinstance(move, Halt):
            ran.append((step.key, action.key, state.visits[step.key]))
        if not isinstance(move, Proceed):
            return Walk(ran, move)
        state = move.state
