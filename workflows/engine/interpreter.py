"""What comes next: a pure function of definition, state and outcome. It knows outcomes, never action types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from workflows.contracts import Continue, Delay, End, GoTo, Outcome, WaitForReply
from workflows.definitions.model import Action, Automation
from workflows.engine.state import MAX_ACTIONS_BETWEEN_PAUSES, MAX_SENDS, State


@dataclass(frozen=True, slots=True)
class Proceed:
    """Run the action at `state`. `passed` says that a delay's instant had passed already."""

    state: State
    passed: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop until the outcome's wait ends; `state` is where to go on (S6)."""

    state: State
    outcome: WaitForReply | Delay


@dataclass(frozen=True, slots=True)
class Finish:
    """The execution is complete."""

    state: State


@dataclass(frozen=True, slots=True)
class Halt:
    """A guard tripped: `paused_error` with `reason`, standing at `state`."""

    state: State
    reason: str
    facts: Mapping[str, str] = field(default_factory=dict)


Move = Proceed | Pause | Finish | Halt


def begin(automation: Automation) -> State:
    """The only entry point is step 1, whose first visit counts (F1, decision 1)."""
    return State(visits={automation.steps[0].key: 1})


def action_at(automation: Automation, state: State) -> Action:
    """The action that `state` points at."""
    return automation.steps[state.step].actions[state.action]


def check_budget(automation: Automation, state: State) -> Halt | None:
    """Whether one more action may run now (decision 2)."""
    if state.actions >= MAX_ACTIONS_BETWEEN_PAUSES:
        return Halt(state, "action_budget_exceeded")
    if state.sends >= MAX_SENDS and action_at(automation, state).handler.prompts:
        return Halt(state, "send_budget_exceeded")
    return None


def after(automation: Automation, state: State, outcome: Outcome, *, now: datetime) -> Move:
    """What follows `outcome` of the action at `state`."""
    ran = replace(
        state,
        actions=state.actions + 1,
        sends=state.sends + action_at(automation, state).handler.prompts,
    )
    match outcome:
        case Continue():
            return Proceed(replace(ran, action=ran.action + 1))
        case GoTo(step=key):
            return _transfer(automation, state, ran, key)
        case End():
            return Finish(ran)
        case WaitForReply():
            return Pause(replace(ran, action=ran.action + 1, actions=0), outcome)
        case Delay(until=until):
            if until <= now:
                return Proceed(replace(ran, action=ran.action + 1), passed=True)
            return Pause(replace(ran, action=ran.action + 1, actions=0), outcome)
        case _:
            assert_never(outcome)


def _transfer(automation: Automation, before: State, ran: State, key: str) -> Proceed | Halt:
    """Every transfer counts as a visit of its target (F2); one too many is not made (decisions 1 and 2)."""
    visits: Mapping[str, int] = ran.visits
    count = visits.get(key, 0) + 1
    if count > automation.max_step_visits:
        return Halt(before, "max_step_visits_exceeded", {"step": key})
    return Proceed(replace(ran, step=automation.index[key], action=0, visits={**visits, key: count}))
