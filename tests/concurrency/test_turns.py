"""A hint moves a frame once; whoever comes second finds it moved and writes nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from tests.builders import automation
from tests.concurrency.conftest import (
    Race,
    action,
    deliver,
    event_kinds,
    execution_of,
    frame_of,
    one_step,
    unexpected,
)
from workflows import tenancy
from workflows.contracts import ActionType, Call, Config, Continue, Outcome
from workflows.errors import IllegalTransition
from workflows.models import Entity, Frame, StepRun, Workflow
from workflows.services import sweeps
from workflows.services.acts import cancel
from workflows.services.advance import advance
from workflows.services.calls import call_directly
from workflows.services.turn import claim

ROUNDS = 50
Publish = Callable[..., Workflow]
Hints = list[Any]
SENT = Continue({"message_id": "m-1", "status": "sent", "accepted_at": "2026-01-01T00:00:00Z"})


@pytest.fixture(autouse=True)
def _no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SERVICES_FACTORY", "tests.concurrency.conftest.no_services")


class Performer:
    """Counts what is performed, by action type and text; sends nothing."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, handler: ActionType[Any], call: Call, config: Config) -> Outcome:
        with self.lock:
            self.calls[getattr(config, "text", handler.kind)] += 1
        return SENT if handler.kind == "comms.send_message" else call_directly(handler, call, config)


def sends(*texts: str) -> dict[str, Any]:
    """An automation that sends texts and ends."""
    return one_step(*[action(f"envia{text}", "comms.send_message", text=text) for text in texts])


def step_runs(entity: Entity, execution_id: Any) -> list[tuple[int, str, str]]:
    with tenancy.entity(entity.pk):
        rows = StepRun.objects.filter(frame__execution_id=execution_id).order_by("seq")
        return list(rows.values_list("seq", "action_key", "status"))


def test_workers_with_the_same_hint_run_each_action_once(
    entity: Entity, publish: Publish, hints: Hints, race: Race
) -> None:
    publish(sends("1", "2", "3"))
    for number in range(ROUNDS):
        execution_id = deliver(entity, contact_id=f"c-{number}").execution_id
        performer = Performer()
        entity_id, frame_id, state_version, _queue = hints.pop()
        turn = partial(
            advance, entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=performer
        )
        assert race(turn, turn, turn) == [None, None, None]
        assert performer.calls == {"1": 1, "2": 1, "3": 1, "flow.end": 1}
        assert execution_of(entity, execution_id).status == "completed"
        assert event_kinds(entity, execution_id) == ["started", "completed"]
        assert step_runs(entity, execution_id) == [
            (0, "envia1", "done"),
            (1, "envia2", "done"),
            (2, "envia3", "done"),
            (3, "fin", "done"),
        ]


def test_sweepers_at_once_hint_an_expired_frame_once(
    entity: Entity, publish: Publish, hints: Hints, race: Race
) -> None:
    publish()
    deliver(entity)
    hints.clear()
    with tenancy.entity(entity.pk):
        Frame.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert sorted(race(*[sweeps.hint_expired] * 4)) == [0, 0, 0, 1]
    assert len(hints) == 1


@pytest.mark.parametrize("texts", [(), ("1", "2")], ids=["pure", "effects"])
def test_cancel_against_advance(
    entity: Entity, publish: Publish, hints: Hints, race: Race, texts: tuple[str, ...]
) -> None:
    publish(sends(*texts))
    seen: Counter[str] = Counter()
    for number in range(ROUNDS):
        execution_id = deliver(entity, contact_id=f"c-{number}").execution_id
        assert execution_id is not None
        performer = Performer()
        entity_id, frame_id, state_version, _queue = hints.pop()
        advanced, cancelled = race(
            partial(
                advance,
                entity_id=entity_id,
                frame_id=frame_id,
                state_version=state_version,
                perform=performer,
            ),
            lambda execution_id=execution_id: cancel(
                entity=entity, execution_id=execution_id, actor="test", reason="race"
            ),
        )
        assert advanced is None
        status = execution_of(entity, execution_id).status
        assert status == ("cancelled" if cancelled is None else "completed")
        assert cancelled is None or isinstance(cancelled, IllegalTransition)
        assert event_kinds(entity, execution_id) == ["started", status]
        assert frame_of(entity, execution_id).status == "done"
        assert max(performer.calls.values(), default=0) <= 1
        assert "open" not in {run for _seq, _key, run in step_runs(entity, execution_id)}
        seen[status] += 1
    assert sum(seen.values()) == ROUNDS


def test_a_turn_whose_frame_another_worker_claimed_ends_quietly(
    entity: Entity, publish: Publish, hints: Hints
) -> None:
    """Its lease had passed; the other one is still busy, so the execution runs and only the frame has moved."""
    publish()
    execution_id = deliver(entity).execution_id
    entity_id, frame_id, state_version, _queue = hints.pop()
    claimed = []

    def overtaken(handler: ActionType[Any], call: Call, config: Config) -> Outcome:
        claimed.append(claim(entity_id=entity_id, frame_id=frame_id, state_version=state_version + 1))
        return call_directly(handler, call, config)

    advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=overtaken)
    assert [turn is not None for turn in claimed] == [True]
    assert execution_of(entity, execution_id).status == "running"
    assert step_runs(entity, execution_id) == []
    assert event_kinds(entity, execution_id) == ["started"]


def test_a_call_that_returns_after_the_cancel_is_kept_and_moves_nothing(
    entity: Entity, publish: Publish, hints: Hints, race: Race
) -> None:
    publish(sends("1", "2"))
    for number in range(ROUNDS):
        execution_id = deliver(entity, contact_id=f"c-{number}").execution_id
        assert execution_id is not None
        performer = Performer()
        assert unexpected(race(*late_call(entity, execution_id, hints.pop(), performer))) == []
        assert performer.calls == {"1": 1}
        assert execution_of(entity, execution_id).status == "cancelled"
        assert step_runs(entity, execution_id) == [(0, "envia1", "done")]
        assert event_kinds(entity, execution_id) == ["started", "cancelled"]


def late_call(
    entity: Entity, execution_id: UUID, hint: Any, performer: Performer
) -> tuple[Callable[[], None], Callable[[], None]]:
    """A turn whose first call returns after its execution was cancelled, and the cancel."""
    called, ended = threading.Event(), threading.Event()

    def slow(handler: ActionType[Any], call: Call, config: Config) -> Outcome:
        called.set()
        assert ended.wait(20)
        return performer(handler, call, config)

    def cancel_meanwhile() -> None:
        assert called.wait(20)
        cancel(entity=entity, execution_id=execution_id, actor="test", reason="race")
        ended.set()

    turn = partial(advance, entity_id=hint[0], frame_id=hint[1], state_version=hint[2], perform=slow)
    return turn, cancel_meanwhile


def test_two_contacts_do_not_wait_for_each_other(
    entity: Entity, publish: Publish, hints: Hints, race: Race
) -> None:
    publish(automation())
    decisions = race(*[lambda n=n: deliver(entity, contact_id=f"c-{n}") for n in range(8)])
    assert Counter(decision.outcome for decision in decisions) == {"started": 8}
    assert len(hints) == 8
