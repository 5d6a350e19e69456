"""What follows an outcome: positions, visits, budgets. Pure, so that every case is a value."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.definition_helpers import END, action, automation, found, step
from workflows.contracts import Continue, Delay, End, GoTo, Outcome, ReplyWait, WaitForReply
from workflows.definitions.automation import compile_automation
from workflows.definitions.model import Automation
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
from workflows.engine.state import MAX_ACTIONS_BETWEEN_PAUSES, MAX_SENDS, State

NOW = datetime(2026, 12, 1, 14, tzinfo=UTC)
WAIT = WaitForReply(ReplyWait.model_validate({"timeout": "PT24H"}))
TRUE = {"field": "a", "operator": "not_exists"}


def send(key: str) -> dict[str, Any]:
    return action("comms.send_message", key, text="Hola")


def goto(key: str, target: str) -> dict[str, Any]:
    return action("flow.goto_step", key, step=target)


TERMINALS = {
    "goto": goto("salta", "dos"),
    "condition": action("flow.condition", "salta", when=TRUE, on_true="dos", on_false="dos"),
    "evaluate_reply": action("flow.evaluate_reply", "salta", branches=[], default="dos"),
}


def two_steps(terminal: dict[str, Any] = TERMINALS["goto"], **changes: Any) -> Automation:
    """`uno` goes to `dos`, and `dos` to `uno`."""
    document = automation(step("uno", terminal), step("dos", send("hola"), goto("vuelve", "uno")), **changes)
    return compile_automation(document)


def proceed(automation: Automation, state: State, outcome: Outcome) -> State:
    move = after(automation, state, outcome, now=NOW)
    assert isinstance(move, Proceed)
    return move.state


@pytest.mark.rule("F1")
@pytest.mark.rule("decision-1")
def test_an_execution_begins_at_step_1_which_counts_as_visited() -> None:
    assert begin(two_steps()) == State(step=0, action=0, visits={"uno": 1}, actions=0, sends=0)


@pytest.mark.rule("S5")
def test_actions_follow_one_another() -> None:
    model = compile_automation(automation(step("uno", send("a"), send("b"), END)))
    state, keys = begin(model), []
    while action_at(model, state).key != "fin":
        keys.append(action_at(model, state).key)
        state = proceed(model, state, Continue())
    assert keys == ["a", "b"]
    assert after(model, state, End(), now=NOW) == Finish(State(0, 2, {"uno": 1}, actions=3, sends=2))


@pytest.mark.rule("F2")
@pytest.mark.rule("S3")
@pytest.mark.rule("decision-2")
@pytest.mark.parametrize("kind", TERMINALS)
def test_every_transfer_counts_a_visit_of_its_target(kind: str) -> None:
    model = two_steps(TERMINALS[kind])
    assert proceed(model, begin(model), GoTo("dos")) == State(1, 0, {"uno": 1, "dos": 1}, actions=1)


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-33")
def test_a_transfer_goes_to_earlier_steps_and_to_its_own() -> None:
    model = two_steps()
    state = State(1, 1, {"uno": 1, "dos": 1})
    assert proceed(model, state, GoTo("uno")) == State(0, 0, {"uno": 2, "dos": 1}, actions=1)
    assert proceed(model, state, GoTo("dos")) == State(1, 0, {"uno": 1, "dos": 2}, actions=1)


@pytest.mark.rule("decision-33")
def test_going_back_with_the_trigger_is_refused_on_save() -> None:
    again = action("flow.goto_step", "salta", step="uno", skip_trigger=False)
    assert [rule for rule, _code, _pointer in found(automation(step("uno", again)))] == ["decision-33"]
    kept = action("flow.goto_step", "salta", step="uno", skip_trigger=True)
    assert found(automation(step("uno", kept))) == []


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-1")
@pytest.mark.parametrize("kind", TERMINALS)
def test_the_tenth_visit_is_allowed_and_the_eleventh_halts(kind: str) -> None:
    model = two_steps(TERMINALS[kind])
    ninth = State(0, 0, {"uno": 1, "dos": 9}, actions=3, sends=1)
    tenth = proceed(model, ninth, GoTo("dos"))
    assert tenth.visits == {"uno": 1, "dos": 10}
    before = replace(ninth, visits=tenth.visits)
    move = after(model, before, GoTo("dos"), now=NOW)
    assert move == Halt(before, "max_step_visits_exceeded", {"step": "dos"})
    assert move.state.visits == {"uno": 1, "dos": 10}


@pytest.mark.rule("decision-1")
@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_is_the_workflows_and_step_1_starts_at_1(limit: int) -> None:
    model = compile_automation(automation(step("uno", goto("salta", "uno")), max_step_visits=limit))
    state, runs = begin(model), 1
    while isinstance(move := after(model, state, GoTo("uno"), now=NOW), Proceed):
        state, runs = move.state, runs + 1
    assert (runs, state.visits) == (limit, {"uno": limit})
    assert move == Halt(state, "max_step_visits_exceeded", {"step": "uno"})


@pytest.mark.rule("S6")
@pytest.mark.parametrize("outcome", [WAIT, Delay(NOW + timedelta(seconds=1))], ids=["reply", "delay"])
def test_a_pause_goes_on_with_the_next_action_of_the_step(outcome: WaitForReply | Delay) -> None:
    model = compile_automation(automation(step("uno", send("a"), send("b"), END)))
    state = State(0, 0, {"uno": 1}, actions=7, sends=2)
    wanted = State(0, 1, {"uno": 1}, actions=0, sends=3)
    assert after(model, state, outcome, now=NOW) == Pause(wanted, outcome)


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(days=3)])
def test_a_delay_until_the_past_goes_on_at_once(ago: timedelta) -> None:
    model = compile_automation(automation(step("uno", action("flow.delay", duration="PT1H"), END)))
    state = State(0, 0, {"uno": 1}, actions=7)
    move = after(model, state, Delay(NOW - ago), now=NOW)
    assert move == Proceed(State(0, 1, {"uno": 1}, actions=8), passed=True)


@pytest.mark.rule("decision-2")
def test_two_hundred_actions_run_between_pauses_and_no_more() -> None:
    model = two_steps()
    state = State(visits={"uno": 1}, actions=MAX_ACTIONS_BETWEEN_PAUSES - 1)
    assert MAX_ACTIONS_BETWEEN_PAUSES == 200
    assert check_budget(model, state) is None
    full = replace(state, actions=200)
    assert check_budget(model, full) == Halt(full, "action_budget_exceeded")


@pytest.mark.rule("decision-2")
def test_one_execution_sends_a_hundred_messages_and_no_more() -> None:
    model = two_steps()
    last = State(1, 0, {"uno": 1, "dos": 1}, sends=MAX_SENDS - 1)
    assert MAX_SENDS == 100
    assert check_budget(model, last) is None
    full = proceed(model, last, Continue())
    assert (full.sends, check_budget(model, full)) == (100, None)  # what follows is no message
    at_send = replace(full, action=0)
    assert check_budget(model, at_send) == Halt(at_send, "send_budget_exceeded")


@pytest.mark.rule("decision-2")
def test_a_pause_does_not_renew_the_sends() -> None:
    model = two_steps()
    move = after(model, State(1, 0, {"uno": 1, "dos": 1}, sends=99), WAIT, now=NOW)
    assert isinstance(move, Pause)
    assert (move.state.actions, move.state.sends) == (0, 100)


@pytest.mark.rule("F3")
@pytest.mark.rule("S4")
@pytest.mark.parametrize("actions", [[send("a")], [END, send("a")], [END, {**END, "key": "otra"}], []])
def test_a_step_without_its_one_terminal_action_is_refused(actions: list[dict[str, Any]]) -> None:
    rules = {rule for rule, _code, _pointer in found(automation(step("uno", *actions)))}
    assert rules & {"S4", "F3", "T3"}


@pytest.mark.rule("F4")
def test_only_condition_and_evaluate_reply_choose_between_steps() -> None:
    """Any other outcome leads to the next action, to the one target, or to the end."""
    model = two_steps()
    for outcome in (Continue(), WAIT, Delay(NOW)):
        state = State(1, 0, {"uno": 1, "dos": 1})
        move = after(model, state, outcome, now=NOW)
        assert isinstance(move, Proceed | Pause)
        assert (move.state.step, move.state.action) == (1, 1)


Choice = st.sampled_from(["continue", "uno", "dos", "wait", "delay", "past", "end"])


def outcome_of(choice: str) -> Outcome:
    match choice:
        case "continue":
            return Continue()
        case "wait":
            return WAIT
        case "delay":
            return Delay(NOW + timedelta(hours=1))
        case "past":
            return Delay(NOW)
        case "end":
            return End()
        case _:
            return GoTo(choice)


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-1")
@pytest.mark.rule("decision-2")
@given(choices=st.lists(Choice, max_size=400), limit=st.integers(1, 10))
def test_no_run_escapes_its_limits(choices: list[str], limit: int) -> None:
    """Whatever the actions answer: no step is visited oftener than allowed, visits never shrink, and a halt moves
    nothing."""
    model = two_steps(max_step_visits=limit)
    state = begin(model)
    for choice in choices:
        halted = check_budget(model, state)
        if halted is not None:
            assert halted.state == state
            assert state.actions >= 200 or state.sends >= 100
            return
        terminal = action_at(model, state).handler.terminal
        allowed = choice in ("uno", "dos", "end") if terminal else choice not in ("uno", "dos", "end")
        move: Move = after(
            model, state, outcome_of(choice if allowed else "dos" if terminal else "continue"), now=NOW
        )
        seen = move.state
        assert all(1 <= count <= limit for count in seen.visits.values())
        assert all(seen.visits[key] >= count for key, count in state.visits.items())
        assert sum(seen.visits.values()) - sum(state.visits.values()) in (0, 1)
        match move:
            case Halt(reason=reason):
                assert (seen, reason) == (state, "max_step_visits_exceeded")
                return
            case Finish():
                return
            case Pause():
                assert (seen.step, seen.action, seen.actions) == (state.step, state.action + 1, 0)
            case Proceed():
                assert seen.actions == state.actions + 1
        state = seen
