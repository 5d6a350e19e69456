"""Proof that these races happen: each test takes one guard away and sees what the guard prevents.

They hold no rule. Where one of them fails, the race it needs did not come about, and its twin proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError

from tests.builders import automation
from tests.concurrency.conftest import Race, action, deliver, event_kinds, one_step, unexpected
from tests.concurrency.test_messages import Watch
from tests.concurrency.test_turns import Performer
from workflows.models import Entity, Workflow
from workflows.models.base import uuid7
from workflows.services import publishing, slots, turn
from workflows.services.advance import advance
from workflows.services.statements import CLAIM

ROUNDS = 10
Publish = Callable[..., Workflow]


def no_lock(**_chat: Any) -> None:
    """In place of `slots.lock_chat`."""


def slow_id() -> UUID:
    """A new id after a moment, in which the other thread may look at the same rows."""
    time.sleep(0.02)
    return uuid7()


def test_without_the_lock_two_messages_of_a_chat_are_decided_at_once(
    entity: Entity, publish: Publish, race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish()
    watch = Watch(monkeypatch)
    monkeypatch.setattr(slots, "lock_chat", no_lock)
    overlapped = 0
    for number in range(ROUNDS):
        watch.spans.clear()
        race(*[lambda number=number: deliver(entity, contact_id=f"c-{number}")] * 2)
        overlapped += watch.overlaps()
    assert overlapped > 0


def test_without_the_lock_two_waits_collide_on_the_slot(
    entity: Entity, publish: Publish, hints: list[Any], race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = action("espera", "flow.wait_for_reply", timeout="PT24H")
    for word in ("uno", "dos"):
        filters = {"field": "message.text", "operator": "equals", "value": word}
        publish(one_step(wait, name=word, filters=filters))
    monkeypatch.setattr(slots, "lock_chat", no_lock)
    monkeypatch.setattr(slots, "uuid7", slow_id)
    problems = []
    for number in range(ROUNDS):
        for word in ("uno", "dos"):
            deliver(entity, contact_id=f"c-{number}", text=word)
        turns = [
            lambda hint=hint: advance(entity_id=hint[0], frame_id=hint[1], state_version=hint[2])
            for hint in hints
        ]
        hints.clear()
        problems += unexpected(race(*turns))
    assert problems
    assert {type(problem) for problem in problems} == {IntegrityError}
    assert "wait_one_slot_per_chat" in str(problems[0])


def test_without_the_state_version_two_workers_run_one_action(
    entity: Entity, publish: Publish, hints: list[Any], race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim's guard is gone; the flush has its own, so that even then one of the two writes nothing."""
    unguarded = CLAIM.replace("and state_version = %s", "and state_version >= %s")
    assert unguarded != CLAIM
    monkeypatch.setattr(turn, "CLAIM", unguarded)
    publish(one_step())
    twice = 0
    for number in range(ROUNDS):
        execution_id = deliver(entity, contact_id=f"c-{number}").execution_id
        entity_id, frame_id, state_version, _queue = hints.pop()
        performer = Performer()

        def slow(*given: Any, performer: Performer = performer) -> Any:
            time.sleep(0.01)
            return performer(*given)

        runner = partial(
            advance, entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=slow
        )
        assert race(runner, runner) == [None, None]
        twice += performer.calls["flow.end"] == 2
        assert event_kinds(entity, execution_id) == ["started", "completed"]
    assert twice > 0


def test_without_the_entity_lock_two_creators_take_one_priority(
    entity: Entity, race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_lock_order", lambda entity: None)
    monkeypatch.setattr(publishing, "uuid7", slow_id)
    results = race(*[lambda: publishing.create_workflow(entity=entity, document=automation())] * 4)
    problems = unexpected(results)
    assert problems
    assert {type(problem) for problem in problems} == {IntegrityError}
    assert "workflow_one_per_priority" in str(problems[0])
