"""Hints are lost, late or repeated, workers die, calls return late: the rows alone are enough."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.fakes import FakeCrm, refused, transient
from tests.service.world import LONG_AGO, World, action, ask, flow, says, send, wait
from workflows import tenancy
from workflows.models import Frame, Incident
from workflows.services.advance import MAX_CLAIMS
from workflows.services.turn import claim


def test_a_frame_that_kills_its_workers_is_set_aside(world: World) -> None:
    world.publish(flow(wait(), name="otro"))
    execution_id = world.message().execution_id
    frame = world.frame(execution_id)
    for _ in range(MAX_CLAIMS):
        assert claim(
            entity_id=world.entity.pk,
            frame_id=frame.pk,
            state_version=world.frame(execution_id).state_version,
        )
    assert MAX_CLAIMS == 3
    world.hints.clear()
    world.retried()
    assert world.status(execution_id) == ("paused_error", "poisoned")
    assert world.runs(execution_id) == []
    with tenancy.entity(world.entity.pk):
        incident = Incident.objects.get()
    assert (incident.reason, incident.execution_id) == ("poisoned", execution_id)


def test_progress_starts_the_count_of_claims_again(world: World) -> None:
    world.publish(flow(wait("uno"), wait("dos")))
    execution_id = world.message().execution_id
    for _ in range(2):
        frame = world.frame(execution_id)
        assert claim(entity_id=world.entity.pk, frame_id=frame.pk, state_version=frame.state_version)
    world.hints.clear()
    world.retried()
    assert (world.status(execution_id)[0], world.frame(execution_id).claims) == ("waiting_for_reply", 0)


def late(world: World, failure: Exception | None, *actions: dict[str, Any]) -> UUID:
    """An execution that was cancelled while its first call was under way."""

    def cancel_meanwhile(_asked: Any) -> None:
        world.crm.during = None
        world.cancel(world.executions()[0].pk)

    world.crm.during = cancel_meanwhile
    world.crm.fail(failure)
    return world.start(*actions)


@pytest.mark.rule("decision-4")
@pytest.mark.parametrize("make", [send, ask])
def test_a_call_in_flight_at_cancel_is_recorded_and_moves_nothing(world: World, make: Any) -> None:
    execution_id = late(world, None, make("a"), send("b"))
    found = world.execution(execution_id)
    assert found.status == "cancelled"
    assert "comms" not in found.context
    run = world.run(execution_id, "a")
    assert (run.status, run.output["message_id"]) == ("done", "out-1")
    assert run.finished_at is not None
    assert world.attempts(execution_id) == [(1, None)]
    assert world.crm.texts() == ["a"]
    assert world.events(execution_id) == ["started", "cancelled"]
    assert world.hints == []


@pytest.mark.parametrize(
    "failure",
    [transient("not_sent"), transient("answered_retry"), refused()],
    ids=["not_sent", "busy", "refused"],
)
def test_a_call_that_fails_after_the_cancel_is_recorded_as_failed(world: World, failure: Exception) -> None:
    execution_id = late(world, failure, send("a"), send("b"))
    world.retried()
    assert world.status(execution_id) == ("cancelled", "")
    run = world.run(execution_id, "a")
    assert (run.status, run.error["detail"]) == ("failed", str(failure))
    assert world.crm.texts() == ["a"]


def test_a_call_without_an_answer_after_the_cancel_is_not_said_to_have_failed(world: World) -> None:
    """Whether the contact got the message is not known."""
    world.crm.honours_keys = False
    execution_id = late(world, transient("unknown", sent=True), send("a"), send("b"))
    assert world.status(execution_id) == ("cancelled", "")
    run = world.run(execution_id, "a")
    assert (run.status, run.error["kind"]) == ("cancelled", "unknown")


def test_a_stale_hint_does_nothing(world: World) -> None:
    world.publish(flow(wait("uno"), send("b")))
    execution_id = world.message().execution_id
    hint = world.hints[0]
    world.work()
    before = (world.frame(execution_id).state_version, world.events(execution_id))
    world.run_hint(hint)
    world.run_hint((hint[0], hint[1], 99, hint[3]))
    assert (world.frame(execution_id).state_version, world.events(execution_id)) == before
    assert world.crm.asked == []


def test_a_repeated_hint_runs_once(world: World) -> None:
    world.publish(flow(send("a")))
    execution_id = world.message().execution_id
    world.hints.extend([world.hints[0]] * 4)
    world.work()
    assert world.crm.texts() == ["a"]
    assert world.events(execution_id) == ["started", "completed"]


def test_the_sweep_alone_finishes_everything(world: World, crm: FakeCrm) -> None:
    """Every hint is thrown away: rows and the sweep are enough."""
    crm.fail(None, transient("not_sent"))
    actions = [
        send("a"),
        send("b"),
        action("pausa", "flow.delay", duration="PT1H"),
        ask("c"),
        send("d"),
        wait(),
        send("e"),
    ]
    world.publish(flow(*actions, filters=says("Hola")))
    execution_id = world.message().execution_id

    def lost() -> None:
        world.hints.clear()
        for _ in range(3):
            world.retried()

    lost()
    assert (world.crm.texts(), world.status(execution_id)[0]) == (["a", "b", "b"], "delayed")
    world.later(hours=2)
    lost()
    assert world.status(execution_id)[0] == "waiting_for_reply"
    assert world.message("respuesta").outcome == "resumed"
    lost()
    assert (world.crm.texts()[-1], world.status(execution_id)[0]) == ("d", "waiting_for_reply")
    world.later(days=2)
    lost()
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["a", "b", "b", "c", "d", "e"]


def test_a_sweep_leaves_a_fresh_lease_alone(world: World) -> None:
    world.publish(flow(send("a")))
    execution_id = world.message().execution_id
    world.hints.clear()
    world.swept()
    assert (world.hints, world.status(execution_id)) == ([], ("running", ""))
    with tenancy.entity(world.entity.pk):
        Frame.objects.update(lease_until=LONG_AGO)
    world.swept()
    assert world.status(execution_id) == ("completed", "")
