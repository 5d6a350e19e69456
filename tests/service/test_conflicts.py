"""One reply slot a contact and chat: who has it, who queues, who is next (A14, decisions 10 and 11)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError

from tests.fakes import Asked, refused
from tests.service.world import World, action, ask, flow, says, send, wait
from workflows import tenancy
from workflows.errors import IllegalTransition, StaleState
from workflows.models import Incident, Wait
from workflows.services import acts

LATER = action("antes", "flow.delay", duration="PT1H")


def queue(
    world: World, *actions: dict[str, Any], holder: list[dict[str, Any]] | None = None, **changes: Any
) -> tuple[UUID, UUID]:
    """An execution that has the slot, and one that came to its wait while the slot was taken."""
    queued = world.start(LATER, *actions, name="segundo", filters=says("segundo"), text="segundo", **changes)
    held = world.start(*(holder or [wait()]), name="primero", filters=says("Hola"))
    world.later(hours=2)
    assert world.status(held) == ("waiting_for_reply", "")
    assert world.status(queued) == ("queued_wait_conflict", "")
    return held, queued


@pytest.mark.rule("A14")
@pytest.mark.rule("decision-11")
def test_a_question_stands_unsent_while_the_slot_is_taken(world: World) -> None:
    held, queued = queue(world, ask("b"))
    assert world.crm.texts() == []
    assert world.waits(queued)[-1] == "queued"
    assert world.wait(queued).deadline is None
    assert world.frame(queued).action == 1
    assert world.runs(queued) == [("antes", "done")]
    world.says("respuesta")
    assert world.status(held) == ("completed", "")
    assert world.crm.texts() == ["b"]
    assert world.status(queued) == ("waiting_for_reply", "")
    assert world.events(queued)[-3:] == ["queued", "promoted", "waiting"]
    assert world.says("otra").execution_id == queued
    assert world.status(queued) == ("completed", "")


@pytest.mark.rule("A14")
@pytest.mark.rule("decision-10")
def test_a_wait_queues_and_its_time_starts_when_it_gets_the_slot(world: World) -> None:
    _held, queued = queue(world, wait("b", "PT2H"), send("z"), holder=[wait(timeout="P2D")])
    world.later(hours=5)
    assert world.status(queued) == ("queued_wait_conflict", "")
    world.says("respuesta")
    found = world.wait(queued)
    assert (world.status(queued)[0], found.state) == ("waiting_for_reply", "open")
    assert (found.deadline - found.armed_at).total_seconds() == 7200
    world.later(hours=1)
    assert world.status(queued) == ("waiting_for_reply", "")
    world.later(hours=1.1)
    assert world.status(queued) == ("completed", "")
    assert world.context(queued)["reply"]["timed_out"] is True


@pytest.mark.rule("A14")
def test_the_database_refuses_a_second_slot(world: World) -> None:
    _held, queued = queue(world, wait("b"))
    before = world.wait(queued)
    with pytest.raises(IntegrityError, match="wait_one_slot_per_chat"), tenancy.entity(world.entity.pk):
        Wait.objects.filter(pk=before.pk).update(
            state="open", armed_at=before.created_at, deadline=before.created_at
        )
    assert world.wait(queued).state == "queued"


@pytest.mark.rule("decision-10")
def test_the_holder_keeps_the_slot_from_wait_to_wait(world: World) -> None:
    held, queued = queue(world, wait("b"), holder=[wait("uno"), send("m"), wait("dos")])
    world.says("primera")
    assert world.status(held) == ("waiting_for_reply", "")
    assert world.status(queued) == ("queued_wait_conflict", "")
    assert world.says("segunda").execution_id == held
    assert world.status(queued) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-10")
@pytest.mark.parametrize(
    ("after", "status"),
    [
        ([], "completed"),
        ([action("pausa", "flow.delay", duration="P1D")], "delayed"),
        ([send("x", "{{ contact.email }}")], "paused_error"),
        ([send("falla")], "paused_error"),
    ],
    ids=["end", "delay", "template", "failure"],
)
def test_the_slot_goes_free_when_the_turn_ends_otherwise(
    world: World, after: list[dict[str, Any]], status: str
) -> None:
    held, queued = queue(world, wait("b"), holder=[wait(), *after])
    world.crm.fail(refused())
    world.says("respuesta")
    assert world.status(held)[0] == status
    assert world.status(queued) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-10")
@pytest.mark.parametrize("how", ["cancel", "time_out"])
def test_the_slot_goes_free_when_the_wait_ends_otherwise(world: World, how: str) -> None:
    held, queued = queue(world, wait("b", "P10D"))
    if how == "cancel":
        world.cancel(held)
    else:
        world.later(hours=25)
    assert world.status(queued) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-10")
def test_the_oldest_is_promoted_first_and_a_cancelled_one_never(world: World) -> None:
    names = ["uno", "dos", "tres"]
    for name in names:
        world.publish(flow(LATER, wait(), name=name, filters=says(name)))
    queued = [world.started(name) for name in names]
    held = world.start(wait(timeout="P2D"), name="primero", filters=says("Hola"))
    for execution_id in queued:
        world.later(minutes=61)
        assert world.status(execution_id) == ("queued_wait_conflict", "")
    world.cancel(queued[0])
    world.cancel(held)
    assert [world.status(one)[0] for one in queued] == [
        "cancelled",
        "waiting_for_reply",
        "queued_wait_conflict",
    ]
    world.says("ok")
    assert [world.status(one)[0] for one in queued] == ["cancelled", "completed", "waiting_for_reply"]


@pytest.mark.rule("decision-10")
def test_other_chats_do_not_queue(world: World) -> None:
    world.publish(flow(wait(), name="primero", filters=says("Hola")))
    world.publish(flow(wait(), name="segundo", filters=says("segundo")))
    first = world.started(chat_id="ch-1")
    second = world.started("segundo", chat_id="ch-2")
    assert world.status(first) == world.status(second) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-10")
def test_a_manual_workflow_waits_for_its_operator(world: World) -> None:
    held, queued = queue(world, ask("b"), wait_conflict="manual")
    entity, version = world.entity, world.execution(queued).state_version
    with pytest.raises(IllegalTransition):
        acts.retry_wait(entity=entity, execution_id=queued, actor="ana", reason="x")
    world.says("respuesta")
    assert world.status(held) == ("completed", "")
    assert world.status(queued) == ("queued_wait_conflict", "")
    with pytest.raises(StaleState):
        acts.retry_wait(
            entity=entity, execution_id=queued, actor="ana", reason="x", state_version=version - 1
        )
    assert world.crm.texts() == []
    acts.retry_wait(entity=entity, execution_id=queued, actor="ana", reason="x", state_version=version)
    world.work()
    assert world.crm.texts() == ["b"]
    assert world.status(queued) == ("waiting_for_reply", "")
    with pytest.raises(IllegalTransition):
        acts.retry_wait(entity=entity, execution_id=queued, actor="ana", reason="x")


@pytest.mark.rule("decision-10")
def test_a_queue_older_than_30_days_is_an_incident_and_an_operators(world: World) -> None:
    held, queued = queue(world, wait("b"), holder=[wait("uno", "P30D"), wait("dos", "P30D")])
    world.later(days=29)
    world.says("primera")
    with tenancy.entity(world.entity.pk):
        assert not Incident.objects.exists()
    world.later(days=2)
    world.swept()
    with tenancy.entity(world.entity.pk):
        assert [one.execution_id for one in Incident.objects.all()] == [queued]
    world.says("segunda")
    assert world.status(held) == ("completed", "")
    assert world.status(queued) == ("queued_wait_conflict", "")
    acts.retry_wait(entity=world.entity, execution_id=queued, actor="ana", reason="x")
    assert world.status(queued) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-34")
@pytest.mark.rule("decision-11")
def test_a_message_between_promotion_and_sending_follows_the_pipeline(world: World) -> None:
    """It is no answer to a question that the contact has not seen."""
    held, queued = queue(world, ask("b"), send("z"))
    world.cancel(held)  # promotes; nobody has worked yet
    hints, world.hints[:] = list(world.hints), []
    assert world.status(queued) == ("running", "")
    decision = world.message("rápida")
    assert (decision.outcome, decision.execution_id) == ("unmatched", None)
    assert world.verdicts("rápida")[0] == "not_waiting"
    world.hints.extend(hints)
    world.work()
    assert world.status(queued) == ("waiting_for_reply", "")
    assert world.crm.texts() == ["b"]
    assert world.says("sí").outcome == "resumed"
    assert world.context(queued)["reply"]["text"] == "sí"
    assert world.crm.texts() == ["b", "z"]


@pytest.mark.rule("decision-11")
def test_the_slot_is_reserved_before_the_message_is_sent(world: World) -> None:
    seen: list[list[str]] = []

    def look(_asked: Asked) -> None:
        seen.append(world.waits(world.executions()[0].pk))

    world.crm.during = look
    execution_id = world.start(ask("a"))
    assert seen == [["reserved"]]
    assert world.waits(execution_id) == ["open"]
