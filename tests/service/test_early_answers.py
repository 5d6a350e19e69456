"""Answers that come before the wait, and what is gathered after the first (decisions 12, 34 and 36)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import Asked, refused, transient
from tests.service.world import World, action, ask, flow, says, send, wait
from workflows.models import Timer


def timer_due(world: World, execution_id: Any) -> Any:
    return Timer.objects.get(wait_id=world.wait(execution_id).pk).due_at


def answer_during(world: World, asked_text: str, *answers: str) -> list[Any]:
    """While that text is being sent, the contact writes; what became of each message."""
    decisions: list[Any] = []

    def meanwhile(asked: Asked) -> None:
        if asked.given.get("text") == asked_text:
            decisions.extend(world.message(answer) for answer in answers)

    world.crm.during = meanwhile
    return decisions


@pytest.mark.rule("decision-12")
@pytest.mark.rule("A11")
@pytest.mark.parametrize(
    "actions",
    [
        [ask("a")],
        [send("a"), wait()],
        [send("a"), send("c"), wait()],
        [send("c"), send("a"), wait()],
        [send("a"), action("vende", "crm.assign_seller", strategy="round_robin"), wait()],
    ],
    ids=["await", "send_wait", "send_send_wait", "send_send_wait_late", "between"],
)
def test_an_answer_before_the_wait_belongs_to_it(world: World, actions: list[dict[str, Any]]) -> None:
    decisions = answer_during(world, "a", "rápida")
    execution_id = world.start(*actions, send("z"), filters=says("Hola"))
    assert [(one.outcome, one.execution_id) for one in decisions] == [("kept", execution_id)]
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts()[-1] == "z"
    reply = world.context(execution_id)["reply"]
    assert (reply["text"], reply["timed_out"]) == ("rápida", False)
    assert [one["text"] for one in world.context(execution_id)["replies"]] == ["rápida"]
    assert "waiting" not in world.events(execution_id)
    assert {status for _key, status in world.runs(execution_id)} == {"done"}
    assert set(world.waits(execution_id)) == {"resolved"}


@pytest.mark.rule("decision-12")
@pytest.mark.parametrize(
    "between", [action("pausa", "flow.delay", duration="PT1H"), ask("c")], ids=["delay", "ask"]
)
def test_a_pause_between_send_and_wait_keeps_nothing(world: World, between: dict[str, Any]) -> None:
    decisions = answer_during(world, "a", "rápida")
    execution_id = world.start(send("a"), between, wait(), filters=says("Hola"))
    assert [one.outcome for one in decisions] == ["unmatched"]
    world.later(hours=2)
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert "reply" not in world.context(execution_id)


@pytest.mark.rule("decision-12")
def test_a_second_message_while_one_is_kept_goes_to_the_triggers(world: World) -> None:
    other = world.publish(flow(send("b"), name="otro", filters=says("segunda")))
    decisions = answer_during(world, "a", "primera", "segunda", "tercera")
    execution_id = world.start(ask("a"), filters=says("Hola"))
    assert [one.outcome for one in decisions] == ["kept", "started", "unmatched"]
    assert decisions[1].workflow_id == other.pk
    assert world.verdicts("segunda") == ["already_answered", "started"]
    assert world.context(execution_id)["reply"]["text"] == "primera"


@pytest.mark.rule("decision-12")
def test_a_turn_that_fails_frees_the_slot_and_routes_the_kept_message_on(world: World) -> None:
    other = world.publish(flow(send("b"), name="otro", filters=says("rápida")))
    decisions = answer_during(world, "a", "rápida")
    world.crm.fail(refused())
    execution_id = world.start(ask("a"), filters=says("Hola"))
    assert [one.outcome for one in decisions] == ["kept"]
    assert world.status(execution_id) == ("paused_error", "rejected")
    assert world.waits(execution_id) == ["resolved"]
    found = world.inbound("rápida")
    assert (found.outcome, found.workflow_id) == ("started", other.pk)
    assert world.verdicts("rápida")[:2] == ["kept", "none"]
    assert world.crm.texts() == ["a", "b"]
    assert not Timer.objects.exists()


@pytest.mark.rule("decision-12")
def test_an_unknown_outcome_keeps_the_reservation_until_its_time_is_over(world: World) -> None:
    world.crm.honours_keys = False
    world.crm.fail(transient("unknown", sent=True))
    execution_id = world.start(ask("a"), filters=says("Hola"))
    other = world.publish(flow(send("b"), name="otro", filters=says("respuesta")))
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.says("respuesta").outcome == "kept"
    assert world.waits(execution_id) == ["reserved"]
    world.later(hours=25)
    assert world.waits(execution_id) == ["cancelled"]
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.inbound("respuesta").workflow_id == other.pk


@pytest.mark.rule("decision-12")
def test_cancelling_routes_the_kept_message_on(world: World) -> None:
    other = world.publish(flow(send("b"), name="otro", filters=says("rápida")))

    def meanwhile(asked: Asked) -> None:
        if asked.given.get("text") == "a":
            world.message("rápida")
            world.cancel(world.executions()[0].pk)

    world.crm.during = meanwhile
    execution_id = world.start(ask("a"), send("z"), filters=says("Hola"))
    assert world.status(execution_id) == ("cancelled", "")
    assert world.inbound("rápida").workflow_id == other.pk
    assert world.crm.texts() == ["a", "b"]


@pytest.mark.rule("decision-34")
@pytest.mark.parametrize("make", [wait, ask])
def test_collect_gathers_what_follows_the_first_message(world: World, make: Any) -> None:
    execution_id = world.start(make("a", collect="PT10S"), send("b", "{{ reply.texts | join: '+' }}"))
    outcomes = [world.says(text).outcome for text in ("uno", "dos", "tres")]
    assert outcomes == ["resumed"] * 3
    assert world.status(execution_id) == ("waiting_for_reply", "")
    world.later(seconds=11)
    assert world.crm.texts()[-1] == "uno+dos+tres"
    reply = world.context(execution_id)["reply"]
    assert (reply["text"], reply["texts"]) == ("uno", ["uno", "dos", "tres"])
    assert len(world.context(execution_id)["replies"]) == 1
    assert len(world.executions()) == 1


@pytest.mark.rule("decision-34")
def test_collect_does_not_prolong_itself(world: World) -> None:
    execution_id = world.start(wait(collect="PT60S"))
    world.says("uno")
    due = timer_due(world, execution_id)
    world.later(seconds=50)
    world.says("dos")
    assert timer_due(world, execution_id) == due
    world.later(seconds=15)
    assert world.context(execution_id)["reply"]["texts"] == ["uno", "dos"]


@pytest.mark.rule("decision-34")
@pytest.mark.rule("decision-12")
def test_collect_gathers_before_the_wait_too(world: World) -> None:
    decisions = answer_during(world, "a", "uno", "dos")
    execution_id = world.start(ask("a", collect="PT10S"), filters=says("Hola"))
    assert [one.outcome for one in decisions] == ["kept", "kept"]
    world.later(seconds=11)
    assert world.context(execution_id)["reply"]["texts"] == ["uno", "dos"]
    assert world.status(execution_id) == ("completed", "")


@pytest.mark.rule("decision-36")
def test_a_failed_delivery_takes_the_time_out_path(world: World) -> None:
    execution_id = world.start(ask("a"), send("b"))
    receipt = {"kind": "receipt", "author": "system", "payload": {"status": "failed"}}
    assert world.says("", reply_to="out-9", **receipt).outcome == "ignored"
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert world.says("", reply_to="out-1", **receipt).outcome == "resumed"
    assert world.status(execution_id) == ("completed", "")
    reply = world.context(execution_id)["reply"]
    assert (reply["timed_out"], reply["delivery_failed"]) == (True, True)
