"""One action after another, a context that grows, guards that pause (S5, A4, A8, G4, G5, F2)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.builders import automation
from tests.fakes import Asked, refused
from tests.service.world import World, action, ask, flow, says, send, step, wait
from workflows import tenancy
from workflows.context import MAX_CONTEXT_BYTES
from workflows.models import Incident, StepRun
from workflows.services import advance as advancing


@pytest.mark.rule("S5")
@pytest.mark.rule("A4")
def test_actions_run_one_after_another(world: World) -> None:
    execution_id = world.start(send("a"), send("b"), send("c"))
    assert world.crm.texts() == ["a", "b", "c"]
    assert world.status(execution_id) == ("completed", "")
    assert world.runs(execution_id) == [("a", "done"), ("b", "done"), ("c", "done"), ("fin_inicio", "done")]
    with tenancy.entity(world.entity.pk):
        runs = list(StepRun.objects.order_by("seq"))
    for earlier, later in itertools.pairwise(runs):
        assert earlier.finished_at is not None
        assert earlier.started_at <= earlier.finished_at <= later.started_at


@pytest.mark.rule("A4")
@pytest.mark.rule("G5")
def test_after_a_failing_action_nothing_runs(world: World) -> None:
    world.crm.fail(None, refused("window_closed"))
    execution_id = world.start(send("a"), send("b"), send("c"))
    assert world.crm.texts() == ["a", "b"]
    found = world.execution(execution_id)
    assert (found.status, found.reason, found.finished_at) == ("paused_error", "window_closed", None)
    assert found.error["detail"] == "refused"
    assert world.runs(execution_id) == [("a", "done"), ("b", "failed")]
    assert world.events(execution_id) == ["started", "paused"]
    frame = world.frame(execution_id)
    assert (frame.status, frame.step, frame.action, frame.open_effect) == ("waiting", 0, 1, False)
    assert world.context(execution_id)["comms"].keys() == {"a"}
    world.retried()
    assert world.crm.texts() == ["a", "b"]


@pytest.mark.rule("A4")
@pytest.mark.rule("G5")
def test_a_template_without_a_value_pauses_before_anything_is_sent(world: World) -> None:
    execution_id = world.start(send("a"), send("b", "{{ contact.email }}"), send("c"))
    assert world.status(execution_id) == ("paused_error", "template_error")
    assert world.crm.texts() == ["a"]
    assert world.runs(execution_id) == [("a", "done"), ("b", "failed")]
    assert world.run(execution_id, "b").error["action"] == "b"


@pytest.mark.rule("G4")
@pytest.mark.rule("A8")
@pytest.mark.rule("decision-20")
def test_the_context_grows_from_step_to_step(world: World) -> None:
    world.publish(
        automation(
            steps=[
                step("uno", action("vende", "crm.assign_seller", strategy="round_robin"),
                     action("sigue", "flow.goto_step", step="dos")),
                step("dos", ask("pregunta", text="{{ contact.name }}: {{ crm.vende.user_id }}"),
                     action("avisa", "notification.notify_user", user_id="{{ crm.vende.user_id }}",
                            text="{{ reply.text }}, {{ message.text }}, {{ comms.pregunta.message_id }}")),
            ]
        )
    )  # fmt: skip
    execution_id = world.started("Hola")
    assert world.says("Claro").execution_id == execution_id
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["Ana: u-7"]
    assert world.crm.asked[-1].given["text"] == "Claro, Hola, out-2"
    context = world.context(execution_id)
    assert context["crm"] == {"vende": {"employee_id": "e-7", "user_id": "u-7"}}
    assert context["comms"]["pregunta"]["message_id"] == "out-2"
    assert context["notification"] == {"avisa": {"notification_id": "n-3"}}
    assert context["message"]["text"] == "Hola"
    assert context["trigger"]["type"] == "message.inbound"
    assert context["workflow"]["step_visits"] == {"uno": 1, "dos": 1}
    assert "flow" not in context


def rounds(*before: dict[str, Any], length: int = 2, **changes: Any) -> dict[str, Any]:
    """A ring of steps, `s0` being the one that does something."""
    steps = [
        step(
            f"s{n}",
            *(before if n == 0 else ()),
            action(f"va{n}", "flow.goto_step", step=f"s{(n + 1) % length}"),
        )
        for n in range(length)
    ]
    return automation(steps=steps, **changes)


@pytest.mark.rule("decision-20")
@pytest.mark.rule("G4")
def test_a_later_visit_overwrites_and_step_runs_keep_the_earlier(world: World) -> None:
    again = action(
        "otra", "flow.condition", when={"field": "workflow.step_visits.uno", "operator": "less_than", "value": 3},
        on_true="uno", on_false="fin",
    )  # fmt: skip
    world.publish(automation(steps=[step("uno", send("a"), again), step("fin")]))
    execution_id = world.started()
    assert world.status(execution_id) == ("completed", "")
    assert world.context(execution_id)["comms"]["a"]["message_id"] == "out-3"
    with tenancy.entity(world.entity.pk):
        runs = (
            StepRun.objects.filter(action_key="a").order_by("seq").values_list("visit", "output__message_id")
        )
        assert list(runs) == [(1, "out-1"), (2, "out-2"), (3, "out-3")]


@pytest.mark.rule("G4")
@pytest.mark.rule("decision-20")
def test_an_action_that_is_called_like_a_root_replaces_none(world: World) -> None:
    execution_id = world.start(send("contact"), send("message"), send("replies"), send("workflow"))
    context = world.context(execution_id)
    assert context["contact"]["name"] == "Ana"
    assert context["message"]["text"] == "Hola"
    assert context["workflow"]["version"] == 1
    assert context["comms"].keys() == {"contact", "message", "replies", "workflow"}


@pytest.mark.rule("decision-20")
def test_replies_are_the_history_and_reply_is_the_latest(world: World) -> None:
    execution_id = world.start(wait("uno"), wait("dos"))
    world.says("primera")
    world.says("segunda")
    context = world.context(execution_id)
    assert context["reply"]["text"] == "segunda"
    assert [reply["text"] for reply in context["replies"]] == ["primera", "segunda"]
    assert (context["reply"]["timed_out"], context["reply"]["delivery_failed"]) == (False, False)


def large(share: float) -> str:
    return "x" * int(MAX_CONTEXT_BYTES * share)


@pytest.mark.rule("decision-20")
def test_an_output_that_does_not_fit_pauses_behind_the_action_that_happened(world: World) -> None:
    world.crm.user_id = large(1)
    execution_id = world.start(action("vende", "crm.assign_seller", strategy="round_robin"), send("b"))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.crm.texts() == []
    assert world.runs(execution_id) == [("vende", "done")]
    assert "crm" not in world.context(execution_id)


@pytest.mark.rule("decision-20")
def test_a_reply_that_does_not_fit_pauses_and_is_not_lost(world: World) -> None:
    execution_id = world.start(wait(), send("b"))
    before = world.context(execution_id)
    decision = world.says(large(0.9))
    assert (decision.outcome, decision.execution_id) == ("resumed", execution_id)
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.context(execution_id) == before
    assert world.inbound(large(0.9)).execution_id == execution_id
    assert world.waits(execution_id) == ["resolved"]
    assert world.runs(execution_id) == [("espera", "done")]
    assert world.crm.texts() == []


@pytest.mark.rule("decision-20")
@pytest.mark.rule("decision-12")
def test_a_kept_reply_that_does_not_fit_pauses_and_is_not_lost(world: World) -> None:
    def meanwhile(_asked: Asked) -> None:
        world.crm.during = None
        world.message(large(0.9))

    world.crm.during = meanwhile
    execution_id = world.start(ask("a"), send("b"), filters=says("Hola"))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.crm.texts() == ["a"]
    assert world.runs(execution_id) == [("a", "done")]
    assert world.waits(execution_id) == ["resolved"]
    assert "replies" not in world.context(execution_id)


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-1")
@pytest.mark.rule("decision-2")
def test_the_eleventh_visit_pauses_and_the_tenth_ran(world: World) -> None:
    world.publish(rounds(send("a")))
    execution_id = world.started()
    assert world.crm.texts() == ["a"] * 10
    found = world.execution(execution_id)
    assert (found.status, found.reason) == ("paused_error", "max_step_visits_exceeded")
    assert found.error["step"] == "s0"
    assert world.frame(execution_id).visits == {"s0": 10, "s1": 10}
    assert found.context["workflow"]["step_visits"] == {"s0": 10, "s1": 10}


@pytest.mark.rule("decision-2")
def test_more_than_200_actions_without_a_pause_are_a_loop(world: World) -> None:
    world.publish(rounds(length=25))
    execution_id = world.started()
    assert world.status(execution_id) == ("paused_error", "action_budget_exceeded")
    assert len(world.runs(execution_id)) == 200


@pytest.mark.rule("decision-2")
def test_one_execution_sends_at_most_a_hundred_messages(world: World) -> None:
    pause = action("pausa", "flow.delay", duration="PT1H")
    world.publish(rounds(send("a"), send("b"), pause, max_step_visits=60))
    execution_id = world.started()
    for _ in range(50):
        world.later(hours=1, seconds=1)
    assert world.status(execution_id) == ("paused_error", "send_budget_exceeded")
    assert len(world.crm.texts()) == 100


def test_the_turn_gives_way_after_50_actions(world: World) -> None:
    world.publish(rounds(length=25))
    execution_id = world.message().execution_id
    seen = []
    while world.hints:
        world.run_hint(world.hints.pop())
        seen.append(len(world.runs(execution_id)))
    assert advancing.TURN_ACTIONS == 50
    assert seen == [50, 100, 150, 200]
    assert world.status(execution_id) == ("paused_error", "action_budget_exceeded")


@pytest.mark.rule("G5")
def test_a_bug_pauses_with_an_incident_and_no_locals(world: World) -> None:
    secret = "the-password-of-somebody"

    def broken(_asked: Any) -> None:
        raise KeyError(secret)

    world.crm.during = broken
    execution_id = world.start(send("a"), send("b"))
    found = world.execution(execution_id)
    assert (found.status, found.reason) == ("paused_error", "unexpected")
    assert found.error["detail"] == "KeyError in comms.send_message"
    assert len(found.error["incident"]) == 36
    run = world.run(execution_id, "a")
    assert (run.status, run.error["incident"]) == ("failed", found.error["incident"])
    assert secret not in str([found.error, found.context, run.error, run.input, run.output])
    with tenancy.entity(world.entity.pk):
        assert Incident.objects.get().reason == "unexpected"


@pytest.mark.rule("S6")
def test_pauses_stay_in_their_step(world: World) -> None:
    execution_id = world.start(
        wait("uno"), action("dos", "flow.delay", duration="PT1H"), ask("tres"), send("d")
    )
    assert (world.status(execution_id)[0], world.frame(execution_id).action) == ("waiting_for_reply", 1)
    world.says("a")
    assert (world.status(execution_id)[0], world.frame(execution_id).action) == ("delayed", 2)
    world.later(hours=2)
    assert (world.status(execution_id)[0], world.frame(execution_id).action) == ("waiting_for_reply", 3)
    world.says("b")
    assert world.status(execution_id) == ("completed", "")
    frame = world.frame(execution_id)
    assert (frame.step, frame.visits) == (0, {"inicio": 1})


@pytest.mark.rule("F1")
def test_an_execution_starts_at_step_1(world: World) -> None:
    world.publish(automation(steps=[step("uno", send("a")), step("dos", send("b"))]))
    execution_id = world.started()
    assert world.crm.texts() == ["a"]
    assert world.frame(execution_id).visits == {"uno": 1}


def test_the_key_names_execution_step_visit_action_and_try(world: World) -> None:
    world.publish(rounds(send("a"), max_step_visits=2))
    execution_id = world.started()
    assert world.crm.keys() == [f"{execution_id}:s0:1:a:0", f"{execution_id}:s0:2:a:0"]


@pytest.mark.rule("G2")
def test_a_workflow_has_an_entity_and_acts_for_no_other(world: World, other_entity: Any) -> None:
    world.publish(flow(send("a")), of=other_entity)
    assert world.says().outcome == "unmatched"
    assert world.crm.asked == []
    world.start(send("b"))
    assert [(asked.auth.entity_id, asked.auth.user_id) for asked in world.crm.asked] == [("acme", "u-1")]
