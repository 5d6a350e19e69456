"""Steps: where an execution begins, how it gets from one to another, and how often (F1 to F4, S3, S4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.walking import NOW, act, compiled, note, walk, walk_with
from workflows.contracts import Continue, End, GoTo
from workflows.engine.interpreter import Finish, Halt, Proceed, after, begin
from workflows.engine.state import State

NO_REPLY = {"field": "reply.text", "operator": "equals", "value": "nunca"}
BACK: dict[str, dict[str, Any]] = {
    "flow.goto_step": {"step": "uno"},
    "flow.condition": {"when": NO_REPLY, "on_true": "dos", "on_false": "uno"},
    "flow.evaluate_reply": {"branches": [{"when": NO_REPLY, "goto": "dos"}], "default": "uno"},
}


@pytest.mark.rule("F1")
@pytest.mark.rule("decision-1")
def test_it_begins_at_the_first_action_of_step_1_whose_visit_counts() -> None:
    flow = compiled({"uno": [act("fin", "flow.end")], "dos": [act("fin2", "flow.end")]})
    assert begin(flow) == State(step=0, action=0, visits={"uno": 1}, actions=0, sends=0)
    assert walk(flow).ran == [("uno", "fin", 1)]


@pytest.mark.rule("decision-1")
@pytest.mark.rule("decision-2")
@pytest.mark.rule("F2")
@pytest.mark.parametrize("kind", BACK)
def test_the_tenth_visit_runs_and_the_eleventh_is_not_made(kind: str) -> None:
    flow = compiled(
        {"uno": [note("aviso"), act("otra", kind, **BACK[kind])], "dos": [act("fin", "flow.end")]}
    )
    walked = walk(flow)
    expected = [("uno", key, visit) for visit in range(1, 11) for key in ("aviso", "otra")]
    assert walked.ran == expected[:-1]
    assert isinstance(walked.end, Halt)
    assert walked.end.reason == "max_step_visits_exceeded"
    assert walked.end.state == State(step=0, action=1, visits={"uno": 10}, actions=19, sends=0)


@pytest.mark.rule("F2")
@pytest.mark.parametrize("most", [1, 2, 25])
def test_the_limit_is_the_workflows_own(most: int) -> None:
    flow = compiled({"uno": [act("otra", "flow.goto_step", step="uno")]}, max_step_visits=most)
    end = walk(flow).end
    assert isinstance(end, Halt)
    assert end.state.visits == {"uno": most}


@pytest.mark.rule("F2")
def test_each_step_has_a_count_of_its_own() -> None:
    flow = compiled(
        {
            "uno": [act("a_dos", "flow.goto_step", step="dos")],
            "dos": [act("a_uno", "flow.goto_step", step="uno")],
        },
        max_step_visits=3,
    )
    walked = walk(flow)
    assert [(step, visit) for step, _key, visit in walked.ran] == [
        ("uno", 1), ("dos", 1), ("uno", 2), ("dos", 2), ("uno", 3),
    ]  # fmt: skip
    assert isinstance(walked.end, Halt)
    assert walked.end.state == State(step=1, action=0, visits={"uno": 3, "dos": 3}, actions=5)


@pytest.mark.rule("decision-33")
@pytest.mark.rule("F2")
def test_going_back_runs_the_step_again_from_its_first_action() -> None:
    flow = compiled(
        {
            "uno": [note("aviso"), act("a_dos", "flow.goto_step", step="dos")],
            "dos": [act("a_uno", "flow.goto_step", step="uno", skip_trigger=True)],
        }
    )
    there = State(step=1, action=0, visits={"uno": 1, "dos": 1}, actions=2)
    move = after(flow, there, GoTo("uno"), now=NOW)
    assert move == Proceed(State(step=0, action=0, visits={"uno": 2, "dos": 1}, actions=3))
    assert there.visits == {"uno": 1, "dos": 1}


@pytest.mark.rule("S3")
def test_steps_follow_transfers_and_never_the_order_they_are_written_in() -> None:
    flow = compiled(
        {
            "uno": [note("a"), act("salta", "flow.goto_step", step="tres")],
            "dos": [note("b"), act("fin2", "flow.end")],
            "tres": [note("c"), act("fin3", "flow.end")],
        }
    )
    walked = walk(flow)
    assert walked.keys == ["a", "salta", "c", "fin3"]
    assert isinstance(walked.end, Finish)
    assert walked.end.state.visits == {"uno": 1, "tres": 1}


@pytest.mark.rule("S4")
@pytest.mark.rule("F3")
def test_an_end_in_any_step_is_the_end() -> None:
    flow = compiled({"uno": [act("fin", "flow.end")], "dos": [act("fin2", "flow.end")]})
    assert after(flow, begin(flow), End(), now=NOW) == Finish(State(visits={"uno": 1}, actions=1))


@pytest.mark.rule("F4")
@pytest.mark.parametrize(("answer", "step"), [("sí", "si"), ("no", "no")])
@pytest.mark.parametrize("kind", ["flow.condition", "flow.evaluate_reply"])
def test_a_branch_leads_to_one_of_its_steps(kind: str, answer: str, step: str) -> None:
    yes = {"field": "reply.text", "operator": "equals", "value": "si"}
    config: dict[str, Any] = (
        {"when": yes, "on_true": "si", "on_false": "no"}
        if kind == "flow.condition"
        else {"branches": [{"when": yes, "goto": "si"}], "default": "no"}
    )
    flow = compiled(
        {
            "uno": [act("decide", kind, **config)],
            "si": [act("fin_si", "flow.end")],
            "no": [act("fin_no", "flow.end")],
        }
    )
    assert walk(flow, context={"reply": {"text": answer}}).keys == ["decide", f"fin_{step}"]


@pytest.mark.rule("S5")
@pytest.mark.rule("A4")
def test_actions_of_a_step_run_one_after_another_in_their_order() -> None:
    flow = compiled({"uno": [note("a"), note("b"), note("c"), act("fin", "flow.end")]})
    seen: list[State] = []

    def answer(action: Any, state: State) -> Continue | End:
        seen.append(state)
        return End() if action.handler.terminal else Continue()

    assert walk_with(flow, answer).keys == ["a", "b", "c", "fin"]
    assert [(state.step, state.action, state.actions) for state in seen] == [
        (0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3),
    ]  # fmt: skip
