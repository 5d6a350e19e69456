"""What holds for every workflow and every way that its actions may turn out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.walking import NOW, act, compiled, note, walk_with
from workflows.contracts import Continue, Delay, End, GoTo, Outcome, ReplyWait, WaitForReply
from workflows.definitions.model import Action, Automation
from workflows.engine.interpreter import Finish, Halt, Pause, Proceed, action_at, after, begin, check_budget
from workflows.engine.state import MAX_ACTIONS_BETWEEN_PAUSES, MAX_SENDS, State

WAIT = ReplyWait.model_validate({"timeout": "PT1H"})
KEYS = ("uno", "dos", "tres")


def middle(key: str, kind: str) -> dict[str, Any]:
    """An action that is not the last of its step."""
    match kind:
        case "send":
            return act(key, "comms.send_message", text="x")
        case "wait":
            return act(key, "flow.wait_for_reply", timeout="PT1H")
        case "delay":
            return act(key, "flow.delay", duration="PT1H")
        case _:
            return note(key)


@st.composite
def flows(draw: st.DrawFn) -> Automation:
    """One to three steps, each of up to six actions and an end or a transfer."""
    keys = KEYS[: draw(st.integers(1, 3))]
    steps: dict[str, list[dict[str, Any]]] = {}
    for key in keys:
        kinds = draw(st.lists(st.sampled_from(["send", "wait", "delay", "note"]), max_size=6))
        actions = [middle(f"{key}_{number}", kind) for number, kind in enumerate(kinds)]
        target = draw(st.sampled_from([None, *keys]))
        last = act(f"{key}_z", "flow.goto_step", step=target) if target else act(f"{key}_z", "flow.end")
        steps[key] = [*actions, last]
    return compiled(steps, max_step_visits=draw(st.sampled_from([1, 3, 40])))


def answer(action: Action, draw: st.DataObject, keys: list[str]) -> Outcome:
    """An outcome that the action could give, a delay's instant passed or not."""
    match action.kind:
        case "flow.end":
            return End()
        case "flow.goto_step":
            return GoTo(draw.draw(st.sampled_from(keys)))
        case "flow.wait_for_reply":
            return WaitForReply(WAIT)
        case "flow.delay":
            return Delay(NOW + timedelta(hours=draw.draw(st.sampled_from([-1, 1]))))
        case _:
            return Continue()


@pytest.mark.rule("F2")
@pytest.mark.rule("S3")
@pytest.mark.rule("S6")
@pytest.mark.rule("decision-2")
@given(flow=flows(), data=st.data())
def test_every_move_keeps_the_rules_and_every_walk_ends(flow: Automation, data: st.DataObject) -> None:
    keys, state, transfers = [step.key for step in flow.steps], begin(flow), 0
    for _move in range(1000):  # 3 steps of 7 actions, 40 visits each: 840 at most
        if check_budget(flow, state) is not None:
            assert state.actions == MAX_ACTIONS_BETWEEN_PAUSES or state.sends == MAX_SENDS
            return
        action = action_at(flow, state)
        outcome = answer(action, data, keys)
        move = after(flow, state, outcome, now=NOW)
        assert move == after(flow, state, outcome, now=NOW)
        if isinstance(move, Halt):
            assert isinstance(outcome, GoTo)
            assert state.visits[outcome.step] == flow.max_step_visits
            assert move.state == state
            return
        transfers += isinstance(outcome, GoTo)
        check_move(flow, state, outcome, move)
        assert sum(move.state.visits.values()) == 1 + transfers
        if isinstance(move, Finish):
            assert isinstance(outcome, End)
            return
        state = move.state
    pytest.fail("the walk did not end")


def check_move(flow: Automation, state: State, outcome: Outcome, move: Proceed | Pause | Finish) -> None:
    """One move: within its step unless it transfers, counted, within every limit."""
    now = move.state
    assert (now.step != state.step or now.visits != state.visits) <= isinstance(outcome, GoTo)
    assert 0 <= now.action < len(flow.steps[now.step].actions)
    assert max(now.visits.values()) <= flow.max_step_visits
    assert now.sends == state.sends + action_at(flow, state).handler.prompts <= MAX_SENDS
    assert now.actions == (0 if isinstance(move, Pause) else state.actions + 1)
    if isinstance(outcome, GoTo):
        assert (now.step, now.action) == (flow.index[outcome.step], 0)
        assert now.visits[outcome.step] == state.visits.get(outcome.step, 0) + 1
    elif not isinstance(outcome, End):
        assert now.action == state.action + 1


@given(flow=flows())
def test_nothing_runs_for_ever_without_a_pause(flow: Automation) -> None:
    def restless(action: Action, _state: State) -> Outcome:
        if action.kind == "flow.goto_step":
            return GoTo(str(action.raw["step"]))
        return End() if action.handler.terminal else Continue()

    walked = walk_with(flow, restless)
    assert len(walked.ran) <= MAX_ACTIONS_BETWEEN_PAUSES
    assert isinstance(walked.end, Finish | Halt)
