"""What happens to an effect that fails, vanishes or returns late (decision 13), end to end."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.fakes import transient
from tests.service.world import World, action, ask, flow, says, send, wait
from workflows import tenancy
from workflows.models import Frame

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
    assert 0.0 < lease_seconds(world, execution_id) <= 3.0
    world.swept()
    assert len(world.crm.asked) == 1
    world.retried()
    assert 100.0 < lease_seconds(world, execution_id) <= 120.0
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
