"""Pauses stay inside their step (S6), and the two budgets between and across them (decision 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.walking import NOW, act, compiled, note, walk
from workflows.contracts import Continue, Delay, WaitForReply
from workflows.engine.interpreter import Finish, Halt, Pause, Proceed, after, begin, check_budget
from workflows.engine.state import State

POLICY = {"await_reply": {"timeout": "PT1H"}}
END = act("fin", "flow.end")
PAUSES = [
    act("pausa", "flow.wait_for_reply", timeout="PT1H"),
    act("pausa", "flow.delay", duration="PT1H"),
    act("pausa", "comms.send_message", text="¿?", response_policy=POLICY),
]


def sends(count: int) -> list[dict[str, Any]]:
    """Messages that wait for nothing."""
    return [act(f"m{number}", "comms.send_message", text="x") for number in range(count)]


@pytest.mark.rule("S6")
@pytest.mark.parametrize("pausing", PAUSES, ids=lambda action: str(action["type"]))
def test_after_a_pause_the_next_action_of_the_same_step_runs(pausing: dict[str, Any]) -> None:
    flow = compiled({"uno": [note("a"), pausing, note("b"), END]})
    paused = walk(flow)
    assert paused.ran == [("uno", "a", 1), ("uno", "pausa", 1)]
    assert isinstance(paused.end, Pause)
    state = paused.end.state
    assert (state.step, state.action, state.actions, state.visits) == (0, 2, 0, {"uno": 1})
    resumed = walk(flow, state)
    assert resumed.ran == [("uno", "b", 1), ("uno", "fin", 1)]
    assert isinstance(resumed.end, Finish)


@pytest.mark.parametrize(
    ("ahead", "pauses"),
    [(timedelta(microseconds=1), True), (timedelta(0), False), (-timedelta(days=1), False)],
)
def test_a_delay_until_an_instant_that_has_passed_goes_on_at_once(ahead: timedelta, pauses: bool) -> None:
    flow = compiled({"uno": [act("pausa", "flow.delay", until="{{ input.when }}"), END]})
    outcome = Delay(NOW + ahead)
    move = after(flow, begin(flow), outcome, now=NOW)
    if pauses:
        assert move == Pause(State(action=1, visits={"uno": 1}), outcome)
    else:
        assert move == Proceed(State(action=1, visits={"uno": 1}, actions=1), passed=True)


@pytest.mark.rule("decision-2")
def test_two_hundred_actions_run_between_two_pauses_and_no_more() -> None:
    loop = [*[note(f"n{number}") for number in range(39)], act("otra", "flow.goto_step", step="uno")]
    flow = compiled({"uno": loop}, max_step_visits=100)
    walked = walk(flow)
    assert len(walked.ran) == 200
    halted = State(step=0, action=0, visits={"uno": 6}, actions=200)
    assert walked.end == Halt(halted, "action_budget_exceeded")


@pytest.mark.rule("decision-2")
@pytest.mark.parametrize("pausing", PAUSES, ids=lambda action: str(action["type"]))
def test_a_pause_begins_the_count_of_actions_again(pausing: dict[str, Any]) -> None:
    flow = compiled({"uno": [pausing, END]})
    full = State(visits={"uno": 1}, actions=199)
    assert check_budget(flow, full) is None
    paused = walk(flow, full)
    assert isinstance(paused.end, Pause)
    assert paused.end.state.actions == 0


@pytest.mark.rule("decision-2")
def test_a_delay_that_has_passed_is_no_pause_and_counts_on() -> None:
    flow = compiled({"uno": [act("pausa", "flow.delay", until="{{ input.when }}"), END]})
    move = after(flow, State(visits={"uno": 1}, actions=199), Delay(NOW), now=NOW)
    assert isinstance(move, Proceed)
    assert check_budget(flow, move.state) == Halt(move.state, "action_budget_exceeded")


@pytest.mark.rule("decision-2")
def test_a_hundred_messages_are_sent_in_one_execution_and_no_more() -> None:
    flow = compiled({"uno": [*sends(15), act("otra", "flow.goto_step", step="uno")]})
    walked = walk(flow)
    assert sum(key.startswith("m") for key in walked.keys) == 100
    assert walked.end == Halt(
        State(action=10, visits={"uno": 7}, actions=106, sends=100), "send_budget_exceeded"
    )


@pytest.mark.rule("decision-2")
@pytest.mark.parametrize("pausing", PAUSES, ids=lambda action: str(action["type"]))
def test_no_pause_begins_the_count_of_messages_again(pausing: dict[str, Any]) -> None:
    flow = compiled({"uno": [pausing, *sends(2), END]})
    paused = walk(flow, State(visits={"uno": 1}, sends=99 - (pausing["type"] == "comms.send_message")))
    assert isinstance(paused.end, Pause)
    assert paused.end.state.sends == 99
    resumed = walk(flow, paused.end.state)
    assert resumed.keys == ["m0"]
    halted = State(action=2, visits={"uno": 1}, actions=1, sends=100)
    assert resumed.end == Halt(halted, "send_budget_exceeded")


@pytest.mark.rule("decision-2")
def test_what_is_no_message_runs_after_the_hundredth() -> None:
    flow = compiled({"uno": [*sends(1), note("n"), END]})
    walked = walk(flow, State(visits={"uno": 1}, sends=99))
    assert walked.keys == ["m0", "n", "fin"]
    assert isinstance(walked.end, Finish)


def test_the_interpreter_changes_no_state_it_was_given() -> None:
    flow = compiled({"uno": [note("n"), act("otra", "flow.goto_step", step="uno")]})
    visits = {"uno": 1}
    state = State(visits=visits)
    after(flow, state, Continue(), now=NOW)
    walk(flow, state)
    assert (state, visits) == (State(visits={"uno": 1}), {"uno": 1})


def test_a_wait_keeps_its_outcome_for_whoever_arms_it() -> None:
    flow = compiled({"uno": [PAUSES[0], END]})
    end = walk(flow).end
    assert isinstance(end, Pause)
    assert isinstance(end.outcome, WaitForReply)
    assert end.outcome.wait.timeout == timedelta(hours=1)
