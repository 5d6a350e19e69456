"""What happens to an effect that fails, vanishes or returns late (decision 13), end to end."""

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

WORKER_DIES = SystemExit("the process was killed")


def killed(world: World, *actions: dict[str, Any], honours_keys: bool) -> UUID:
    """An execution whose first effect was announced and whose worker died in the call."""
    world.crm.honours_keys = honours_keys
    world.crm.fail(WORKER_DIES)
    world.publish(flow(*actions, filters=says("Hola")))
    execution_id = world.message().execution_id
    assert execution_id is not None
    with pytest.raises(SystemExit):
        world.run_hint(world.hints.pop())
    frame = world.frame(execution_id)
    assert (frame.open_effect, frame.attempt, frame.status) == (True, 1, "running")
    assert world.runs(execution_id) == [("a", "open")]
    return execution_id


@pytest.mark.rule("decision-13")
def test_a_call_that_was_not_sent_is_made_three_times(world: World) -> None:
    world.crm.fail(*[transient("not_sent")] * 3)
    execution_id = world.start(send("a"), send("b"))
    assert world.status(execution_id) == ("running", "")
    world.retried()
    world.retried()
    assert world.status(execution_id) == ("paused_error", "unavailable")
    assert world.crm.keys() == [f"{execution_id}:inicio:1:a:0"] * 3
    assert world.attempts(execution_id) == [(1, "not_sent"), (2, "not_sent"), (3, "not_sent")]
    assert world.runs(execution_id) == [("a", "failed")]
    assert world.run(execution_id, "a").attempts == 3
    world.retried()
    assert len(world.crm.asked) == 3


@pytest.mark.rule("decision-13")
@pytest.mark.rule("A4")
def test_a_retry_that_works_goes_on_as_if_nothing_had_been(world: World) -> None:
    world.crm.fail(transient("answered_retry"))
    execution_id = world.start(send("a"), send("b"))
    assert world.crm.texts() == ["a"]
    world.retried()
    assert world.crm.texts() == ["a", "a", "b"]
    assert world.status(execution_id) == ("completed", "")
    assert world.runs(execution_id) == [("a", "done"), ("b", "done"), ("fin_inicio", "done")]
    assert world.attempts(execution_id) == [(1, "answered_retry"), (2, None), (1, None)]
    assert world.context(execution_id)["comms"]["a"]["message_id"] == "out-2"


@pytest.mark.rule("decision-13")
@pytest.mark.rule("decision-23")
def test_a_retry_waits_for_its_delay_and_for_retry_after(world: World) -> None:
    world.crm.fail(transient("not_sent"), transient("answered_retry", retry_after=120.0))
    execution_id = world.start(send("a"))
    assert 1.0 < lease_seconds(world, execution_id) <= 3.0
    world.swept()
    assert len(world.crm.asked) == 1
    world.retried()
    assert 115.0 < lease_seconds(world, execution_id) <= 120.0
    world.swept()
    assert len(world.crm.asked) == 2


def lease_seconds(world: World, execution_id: UUID) -> float:
    """How long the frame is left alone from now on, in seconds."""
    with tenancy.entity(world.entity.pk):
        (left,) = Frame.objects.raw(
            "select id, extract(epoch from lease_until - clock_timestamp())::float8 as seconds"
            " from workflows_frame where execution_id = %s",
            [execution_id],
        )
    return float(left.seconds)


@pytest.mark.rule("decision-13")
def test_a_retry_sends_what_the_first_attempt_sent(world: World) -> None:
    world.crm.fail(transient("not_sent"))
    world.start(send("a", "{{ entity.now }}"))
    world.retried()
    first, second = world.crm.texts()
    assert first == second


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize("honours_keys", [True, False])
def test_an_answer_that_got_lost(world: World, honours_keys: bool) -> None:
    world.crm.honours_keys = honours_keys
    world.crm.fail(*[transient("unknown", sent=True)] * 2)
    execution_id = world.start(send("a"), send("b"))
    world.retried()
    world.retried()
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.crm.keys() == [f"{execution_id}:inicio:1:a:0"] * (2 if honours_keys else 1)
    assert world.runs(execution_id) == [("a", "open")]


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize(
    ("kind", "honours_keys", "reason", "calls"),
    [
        ("bad_response", True, "outcome_unknown", 1),
        ("bad_response", False, "outcome_unknown", 1),
        ("in_flight", True, "outcome_unknown", 4),
        ("in_flight", False, "rejected", 1),
    ],
)
def test_answers_that_do_not_say_what_happened(
    world: World, kind: str, honours_keys: bool, reason: str, calls: int
) -> None:
    world.crm.honours_keys = honours_keys
    world.crm.fail(*[transient(kind, reason=kind, body="?")] * 5)
    execution_id = world.start(send("a"), send("b"))
    for _ in range(5):
        world.retried()
    assert world.status(execution_id) == ("paused_error", reason)
    assert len(world.crm.asked) == calls
    assert world.run(execution_id, "a").error["body"] == "?"


@pytest.mark.rule("decision-13")
def test_a_worker_that_died_in_a_call_without_keys_leaves_it_to_a_person(world: World) -> None:
    execution_id = killed(world, send("a"), send("b"), honours_keys=False)
    world.retried()
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.crm.texts() == ["a"]
    assert world.runs(execution_id) == [("a", "open")]
    assert world.events(execution_id) == ["started", "paused"]
    assert (world.frame(execution_id).status, world.frame(execution_id).action) == ("waiting", 0)


@pytest.mark.rule("decision-13")
def test_a_worker_that_died_in_a_call_with_keys_is_followed_by_one_retry(world: World) -> None:
    execution_id = killed(world, send("a"), send("b"), honours_keys=True)
    world.retried()
    assert world.status(execution_id) == ("completed", "")
    first, second, _third = world.crm.keys()
    assert first == second == f"{execution_id}:inicio:1:a:0"
    assert world.attempts(execution_id) == [(1, "unknown"), (2, None), (1, None)]


@pytest.mark.rule("decision-13")
def test_workers_that_die_twice_in_a_call_with_keys_leave_it_to_a_person(world: World) -> None:
    execution_id = killed(world, send("a"), send("b"), honours_keys=True)
    world.crm.fail(WORKER_DIES)
    with pytest.raises(SystemExit):
        world.retried()
    world.retried()
    world.retried()
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.crm.texts() == ["a", "a"]


@pytest.mark.rule("decision-13")
@pytest.mark.rule("decision-12")
def test_a_question_whose_worker_died_is_asked_again_and_keeps_its_early_answer(world: World) -> None:
    execution_id = killed(world, ask("a"), send("b"), honours_keys=True)
    assert world.message("rápida").outcome == "kept"
    world.retried()
    assert world.status(execution_id) == ("completed", "")
    assert world.context(execution_id)["reply"]["text"] == "rápida"
    assert world.crm.texts() == ["a", "a", "b"]


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


@pytest.mark.rule("decision-10")
@pytest.mark.rule("decision-12")
def test_an_unknown_outcome_frees_a_slot_that_its_turn_only_held(world: World) -> None:
    """The reply that was awaited came; what is unknown is a later message, whose answer nobody awaits."""
    world.crm.honours_keys = False
    pause = action("pausa", "flow.delay", duration="PT1H")
    queued = world.start(pause, wait(), name="segundo", filters=says("segundo"), text="segundo")
    held = world.start(wait(), send("a"), name="primero", filters=says("Hola"))
    world.later(hours=2)
    assert world.status(queued) == ("queued_wait_conflict", "")
    world.crm.fail(transient("unknown", sent=True))
    world.says("respuesta")
    assert world.status(held) == ("paused_error", "outcome_unknown")
    assert world.waits(held) == ["resolved"]
    assert world.status(queued) == ("waiting_for_reply", "")
    assert world.run(held, "a").status == "open"


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
