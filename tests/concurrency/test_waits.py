"""One wait, one end; one slot, one holder (A11, A14, decisions 9 to 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.concurrency.conftest import (
    Race,
    action,
    deliver,
    event_kinds,
    execution_of,
    frame_of,
    one_step,
    unexpected,
    verdicts,
    waits_of,
)
from workflows import clock, tenancy
from workflows.errors import IllegalTransition
from workflows.integrity import check_integrity
from workflows.models import Entity, InboundMessage, Timer, Wait, Workflow
from workflows.services import timers
from workflows.services.acts import cancel
from workflows.services.advance import advance

ROUNDS = 50
Publish = Callable[..., Workflow]
Work = Callable[[], int]


def waiting(entity: Entity, work: Work, contact: str) -> tuple[UUID, Wait]:
    """A new execution of the contact that waits, its deadline a second ago."""
    started = deliver(entity, contact_id=contact).execution_id
    assert started is not None
    work()
    frame = frame_of(entity, started)
    with tenancy.entity(entity.pk):
        past = clock.now() - timedelta(seconds=1)
        Wait.objects.filter(frame_id=frame.pk).update(deadline=past)
        wait = Wait.objects.get(frame_id=frame.pk)
        assert Timer.objects.filter(wait_id=wait.pk).update(due_at=past) == 1
    return started, wait


@pytest.mark.rule("decision-9")
def test_reply_against_time_out_ends_the_wait_once(
    entity: Entity, publish: Publish, work: Work, hints: list[Any], race: Race
) -> None:
    publish()
    for number in range(ROUNDS):
        contact = f"c-{number}"
        execution_id, wait = waiting(entity, work, contact)
        decision, fired = race(
            lambda contact=contact: deliver(entity, contact_id=contact),
            lambda wait=wait: timers.fire(entity_id=entity.pk, wait_id=wait.pk),
        )
        assert unexpected([decision, fired]) == []
        replied = decision.outcome == "resumed"
        assert (replied, fired) in {(True, False), (False, True)}
        if fired:
            assert (decision.outcome, decision.execution_id) == ("unmatched", None)
        (after,) = waits_of(entity, pk=wait.pk)
        assert (after.state, after.resolution) == ("held", "reply" if replied else "timeout")
        assert event_kinds(entity, execution_id) == ["started", "waiting", "resumed"]
        assert len(hints) == 1
        work()
        ended = execution_of(entity, execution_id)
        assert ended.status == "completed"
        assert ended.context["reply"]["timed_out"] is fired
        assert len(ended.context["replies"]) == replied  # a time-out is no reply
    with tenancy.entity(entity.pk):
        assert not Timer.objects.exists()


@pytest.mark.rule("decision-9")
def test_two_sweepers_fire_a_timer_once(entity: Entity, publish: Publish, work: Work, race: Race) -> None:
    publish(one_step(action("pausa", "flow.delay", duration="PT1H")))
    for number in range(10):
        execution_id, wait = waiting(entity, work, f"c-{number}")
        fired = race(*[lambda wait=wait: timers.fire(entity_id=entity.pk, wait_id=wait.pk)] * 4)
        assert Counter(fired) == {True: 1, False: 3}
        assert event_kinds(entity, execution_id) == ["started", "delayed", "resumed"]
        work()
        assert execution_of(entity, execution_id).status == "completed"


@pytest.mark.parametrize("pause", ["delay", "reply"])
def test_cancel_against_a_due_timer(
    entity: Entity, publish: Publish, work: Work, race: Race, pause: str
) -> None:
    kinds = {
        "delay": action("pausa", "flow.delay", duration="PT1H"),
        "reply": action("espera", "flow.wait_for_reply", timeout="PT1H"),
    }
    publish(one_step(kinds[pause]))
    for number in range(ROUNDS):
        execution_id, wait = waiting(entity, work, f"c-{number}")
        cancelled, fired = race(
            lambda execution_id=execution_id: cancel(
                entity=entity, execution_id=execution_id, actor="test", reason="race"
            ),
            lambda wait=wait: timers.fire(entity_id=entity.pk, wait_id=wait.pk),
        )
        assert unexpected([cancelled, fired]) == []
        work()
        assert execution_of(entity, execution_id).status == "cancelled"
        assert event_kinds(entity, execution_id)[-1] == "cancelled"
        assert event_kinds(entity, execution_id).count("resumed") == fired
        (after,) = waits_of(entity, pk=wait.pk)
        assert after.state in ({"resolved", "held"} if fired else {"cancelled"})
    assert [finding.check.code for finding in check_integrity() if finding.count] == []


@pytest.mark.rule("decision-9")
def test_reply_against_cancel(entity: Entity, publish: Publish, work: Work, race: Race) -> None:
    publish()
    for number in range(ROUNDS):
        contact = f"c-{number}"
        execution_id, _wait = waiting(entity, work, contact)
        decision, cancelled = race(
            lambda contact=contact: deliver(entity, contact_id=contact),
            lambda execution_id=execution_id: cancel(
                entity=entity, execution_id=execution_id, actor="test", reason="race"
            ),
        )
        assert unexpected([decision, cancelled]) == []
        assert execution_of(entity, execution_id).status == "cancelled"
        if decision.outcome == "resumed":
            assert decision.execution_id == execution_id
        else:  # the cancelled one makes room for the next (G3)
            assert decision.outcome == "started"
            assert decision.execution_id != execution_id
        work()
    assert [finding.check.code for finding in check_integrity() if finding.count] == []


@pytest.mark.rule("A14")
@pytest.mark.rule("decision-10")
def test_two_waits_for_one_slot(
    entity: Entity, publish: Publish, hints: list[Any], work: Work, race: Race
) -> None:
    wait = action("espera", "flow.wait_for_reply", timeout="PT24H")
    for word in ("uno", "dos"):
        filters = {"field": "message.text", "operator": "equals", "value": word}
        publish(one_step(wait, name=word, filters=filters))
    for number in range(ROUNDS):
        contact = f"c-{number}"
        started = [deliver(entity, contact_id=contact, text=word).execution_id for word in ("uno", "dos")]
        assert len(set(started)) == 2
        turns = [
            lambda hint=hint: advance(entity_id=hint[0], frame_id=hint[1], state_version=hint[2])
            for hint in hints
        ]
        hints.clear()
        assert race(*turns) == [None, None]
        statuses = [execution_of(entity, execution_id).status for execution_id in started]
        assert sorted(statuses) == ["queued_wait_conflict", "waiting_for_reply"]
        states = [waiting.state for waiting in waits_of(entity, contact_id=contact)]
        assert sorted(states) == ["open", "queued"]
    assert [finding.check.code for finding in check_integrity() if finding.count] == []


@pytest.mark.rule("A12")
@pytest.mark.rule("decision-29")
def test_a_message_against_the_wait_that_is_being_armed(
    entity: Entity, publish: Publish, hints: list[Any], work: Work, race: Race
) -> None:
    """Either the wait is open and takes the message, or the message is decided before and finds it active."""
    publish()
    for number in range(ROUNDS):
        contact = f"c-{number}"
        execution_id = deliver(entity, contact_id=contact).execution_id
        hint = hints.pop()
        advanced, decision = race(
            lambda hint=hint: advance(entity_id=hint[0], frame_id=hint[1], state_version=hint[2]),
            lambda contact=contact: deliver(entity, contact_id=contact),
        )
        assert unexpected([advanced, decision]) == []
        with tenancy.entity(entity.pk):
            message = InboundMessage.objects.filter(contact_id=contact).latest("id")
        if decision.outcome == "resumed":
            assert verdicts(message) == ["resumed"]
        else:
            assert verdicts(message) == ["none", "already_active"]
            assert execution_of(entity, execution_id).status == "waiting_for_reply"
        hints.clear()


def test_the_second_cancel_is_refused(entity: Entity, publish: Publish, work: Work, race: Race) -> None:
    publish()
    execution_id, _wait = waiting(entity, work, "c-1")
    results = race(
        *[lambda: cancel(entity=entity, execution_id=execution_id, actor="test", reason="race")] * 4
    )
    assert results.count(None) == 1
    assert {type(problem) for problem in unexpected(results)} == {IllegalTransition}
    assert event_kinds(entity, execution_id).count("cancelled") == 1
