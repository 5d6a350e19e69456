"""Pauses, their ends, and answers that come before the wait (A5, A6, A10, A11, decisions 8, 9, 12 and 34)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from tests.builders import automation
from tests.fakes import Asked, refused, transient
from tests.service.world import World, action, ask, flow, says, send, step, wait
from workflows import tenancy
from workflows.errors import InvalidDefinition
from workflows.models import Timer, Wait
from workflows.services import sweeps, timers
from workflows.services.entities import set_clock_offset


def timer_due(world: World, execution_id: Any) -> Any:
    return Timer.objects.get(wait_id=world.wait(execution_id).pk).due_at


@pytest.mark.rule("A5")
@pytest.mark.parametrize("timeout", ["PT59M59S", "P30DT1S"])
@pytest.mark.parametrize("make", [wait, ask])
def test_a_wait_outside_its_bounds_is_refused_on_save(world: World, make: Any, timeout: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        world.publish(flow(make("a", timeout)))
    assert [violation.rule for violation in caught.value.extra["violations"]] == ["A5"]


@pytest.mark.rule("A5")
@pytest.mark.parametrize("make", [wait, ask])
@pytest.mark.parametrize(("timeout", "length"), [("PT1H", timedelta(hours=1)), ("P30D", timedelta(days=30))])
def test_a_wait_ends_at_its_time_out_and_not_before(
    world: World, make: Any, timeout: str, length: timedelta
) -> None:
    execution_id = world.start(make("a", timeout), send("b"))
    found = world.wait(execution_id)
    assert found.deadline - found.armed_at == length
    world.later(seconds=length.total_seconds() - 30)
    assert world.status(execution_id) == ("waiting_for_reply", "")
    world.later(seconds=60)
    assert world.status(execution_id) == ("completed", "")
    assert world.context(execution_id)["reply"]["timed_out"] is True


@pytest.mark.rule("A6")
def test_a_delay_is_at_most_30_days(world: World) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        world.publish(flow(action("pausa", "flow.delay", duration="P30DT1S")))
    assert [violation.rule for violation in caught.value.extra["violations"]] == ["A6"]
    execution_id = world.start(action("pausa", "flow.delay", duration="P30D"), send("b"))
    assert world.status(execution_id) == ("delayed", "")
    world.later(days=29, hours=23)
    assert world.crm.texts() == []
    world.later(hours=2)
    assert world.crm.texts() == ["b"]


@pytest.mark.rule("A6")
def test_a_rendered_delay_that_is_too_long_pauses(world: World) -> None:
    execution_id = world.start(
        action("pausa", "flow.delay", until="{{ message.text }}"), text="2099-01-01T08:00"
    )
    assert world.status(execution_id) == ("paused_error", "delay_too_long")
    assert world.waits(execution_id) == []


@pytest.mark.rule("A5")
@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ({"timeout": timedelta(minutes=59)}, "wait_reply_has_timeout"),
        ({"timeout": timedelta(days=30, seconds=1)}, "wait_reply_has_timeout"),
        ({"timeout": None}, "wait_reply_has_timeout"),
        ({"deadline": None}, "wait_open_has_deadline"),
        ({"armed_at": None}, "wait_open_has_deadline"),
    ],
)
def test_the_database_refuses_a_wait_without_a_proper_end(
    world: World, change: dict[str, Any], constraint: str
) -> None:
    execution_id = world.start(wait())
    before = world.wait(execution_id)
    with pytest.raises(IntegrityError, match=constraint), tenancy.entity(world.entity.pk):
        Wait.objects.filter(pk=before.pk).update(**change)
    after = world.wait(execution_id)
    assert (after.timeout, after.deadline, after.armed_at) == (
        before.timeout,
        before.deadline,
        before.armed_at,
    )


@pytest.mark.rule("A6")
def test_the_database_refuses_a_longer_delay(world: World) -> None:
    execution_id = world.start(action("pausa", "flow.delay", duration="P1D"))
    before = world.wait(execution_id)
    too_late = before.created_at + timedelta(days=30, seconds=1)
    with pytest.raises(IntegrityError, match="wait_delay_within_30_days"), tenancy.entity(world.entity.pk):
        Wait.objects.filter(pk=before.pk).update(deadline=too_late)
    assert world.wait(execution_id).deadline == before.deadline


@pytest.mark.rule("decision-8")
@pytest.mark.parametrize(("on_timeout", "sent"), [({"on_timeout": "tarde"}, "tarde"), ({}, "otro")])
def test_a_time_out_takes_its_own_way_before_any_branch(
    world: World, on_timeout: dict[str, str], sent: str
) -> None:
    always = {"when": {"field": "contact.id", "operator": "exists"}, "goto": "rama"}
    decide = action("decide", "flow.evaluate_reply", branches=[always], default="otro", **on_timeout)
    ways = [step(key, send(f"m_{key}", key)) for key in ("rama", "otro", "tarde")]
    world.publish(automation(steps=[step("inicio", ask("pregunta"), decide), *ways]))
    late, quick = world.started(), world.started(contact_id="c-2", chat_id="ch-2")
    world.says("ok", contact_id="c-2", chat_id="ch-2")
    world.later(hours=25)
    assert world.crm.texts() == ["pregunta", "pregunta", "rama", sent]
    reply = world.context(late)["reply"]
    assert (reply["timed_out"], reply["delivery_failed"], reply["text"]) == (True, False, None)
    assert world.context(late)["replies"] == []
    assert world.context(quick)["reply"]["timed_out"] is False


@pytest.mark.rule("decision-8")
@pytest.mark.rule("S6")
def test_after_a_time_out_the_next_action_of_the_step_runs(world: World) -> None:
    execution_id = world.start(wait(), send("b", "t: {{ reply.timed_out }}"))
    world.later(hours=25)
    assert world.crm.texts() == ["t: true"]
    assert world.runs(execution_id) == [("espera", "done"), ("b", "done"), ("fin_inicio", "done")]


@pytest.mark.rule("decision-9")
def test_a_reply_past_the_deadline_that_finds_the_wait_open_resumes_it(world: World) -> None:
    execution_id = world.start(wait(), wait("otra"))
    set_clock_offset(offset=timedelta(hours=30))  # and no sweep has run
    decision = world.says("tarde")
    assert (decision.outcome, decision.execution_id) == ("resumed", execution_id)
    assert world.context(execution_id)["reply"]["text"] == "tarde"
    assert world.context(execution_id)["reply"]["timed_out"] is False


@pytest.mark.rule("decision-9")
def test_after_the_time_out_a_message_follows_the_pipeline(world: World) -> None:
    execution_id = world.start(wait(), action("pausa", "flow.delay", duration="P2D"), filters=says("Hola"))
    other = world.publish(flow(send("a"), name="otro", filters=says("tarde")))
    world.later(hours=25)
    assert world.status(execution_id) == ("delayed", "")
    assert world.says("tarde").workflow_id == other.pk
    assert world.context(execution_id)["reply"]["timed_out"] is True


@pytest.mark.rule("decision-9")
def test_the_time_of_a_question_runs_from_its_acceptance(world: World) -> None:
    seen: list[Any] = []

    def slow(_asked: Asked) -> None:
        with tenancy.entity(world.entity.pk):
            reserved = Wait.objects.get(state="reserved")
        seen.append((reserved.deadline - reserved.created_at, reserved.armed_at))
        set_clock_offset(offset=timedelta(minutes=10))

    world.crm.during = slow
    execution_id = world.start(ask("a", "PT1H"))
    assert seen == [(timedelta(hours=1), None)]
    found = world.wait(execution_id)
    assert found.deadline - found.armed_at == timedelta(hours=1)
    assert found.armed_at - found.created_at >= timedelta(minutes=10)
    assert timer_due(world, execution_id) == found.deadline


def test_a_stale_timer_does_nothing(world: World) -> None:
    execution_id = world.start(wait("uno"), wait("dos"))
    old = world.wait(execution_id)
    world.says("ok")
    Timer.objects.create(entity_id=world.entity.pk, wait_id=old.pk, due_at=old.created_at)
    events = world.events(execution_id)
    assert timers.fire(entity_id=world.entity.pk, wait_id=old.pk) is False
    assert not Timer.objects.filter(wait_id=old.pk).exists()
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert (world.frame(execution_id).action, world.events(execution_id)) == (2, events)
    assert world.hints == []


def test_a_timer_that_is_not_due_does_nothing(world: World) -> None:
    execution_id = world.start(wait())
    assert timers.fire(entity_id=world.entity.pk, wait_id=world.wait(execution_id).pk) is False
    assert sweeps.sweep()["timers"] == 0
    assert Timer.objects.count() == 1
    assert world.status(execution_id) == ("waiting_for_reply", "")


@pytest.mark.rule("A10")
@pytest.mark.rule("A11")
def test_pauses_go_on_with_the_same_execution_and_context(world: World) -> None:
    execution_id = world.start(ask("a"), action("pausa", "flow.delay", duration="PT1H"), wait(), send("b"))
    started = world.context(execution_id)
    assert world.says("uno").execution_id == execution_id
    world.later(hours=2)
    assert world.says("dos").execution_id == execution_id
    assert [found.pk for found in world.executions()] == [execution_id]
    assert world.status(execution_id) == ("completed", "")
    context = world.context(execution_id)
    assert {key: context[key] for key in ("trigger", "message")} == {
        key: started[key] for key in ("trigger", "message")
    }
    assert [reply["text"] for reply in context["replies"]] == ["uno", "dos"]
    assert context["comms"].keys() == {"a", "b"}
    assert world.events(execution_id) == [
        "started", "waiting", "resumed", "delayed", "resumed", "waiting", "resumed", "completed"
    ]  # fmt: skip


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
