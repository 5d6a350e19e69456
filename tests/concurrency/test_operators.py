"""Operators against each other, and against what frees or moves what they decide on (decisions 10 and 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from tests.concurrency.conftest import (
    Race,
    action,
    deliver,
    event_kinds,
    execution_of,
    one_step,
    unexpected,
    waits_of,
)
from tests.concurrency.test_turns import Performer
from workflows.contracts import ActionType, Call, Outcome
from workflows.errors import IllegalTransition, PermanentFailure, StaleState
from workflows.integrity import check_integrity
from workflows.models import Entity, Workflow
from workflows.services import executions, resuming
from workflows.services.acts import cancel, resume
from workflows.services.advance import advance

ROUNDS = 50
Publish = Callable[..., Workflow]
Work = Callable[[], int]
Hints = list[Any]


@pytest.fixture(autouse=True)
def _no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SERVICES_FACTORY", "tests.concurrency.conftest.no_services")


def refuse(handler: ActionType[Any], call: Call, config: Any) -> Outcome:
    raise PermanentFailure("refused", kind="rejected")


def paused(entity: Entity, hints: Hints, contact: str) -> UUID:
    """An execution whose send was refused."""
    execution_id = deliver(entity, contact_id=contact).execution_id
    assert execution_id is not None
    entity_id, frame_id, state_version, _queue = hints.pop()
    advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=refuse)
    assert execution_of(entity, execution_id).status == "paused_error"
    return execution_id


def drain(hints: Hints, performer: Performer) -> None:
    while hints:
        entity_id, frame_id, state_version, _queue = hints.pop()
        advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=performer)


@pytest.mark.rule("decision-14")
@pytest.mark.parametrize("seen", ["state_version", None])
def test_two_operators_resume_an_execution_once(
    entity: Entity, publish: Publish, hints: Hints, race: Race, seen: str | None
) -> None:
    publish(one_step(action("envia", "comms.send_message", text="hola")))
    for number in range(ROUNDS):
        execution_id = paused(entity, hints, f"c-{number}")
        version = execution_of(entity, execution_id).state_version if seen else None
        act = partial(
            resume,
            entity=entity,
            execution_id=execution_id,
            how="retry",
            actor="test",
            reason="race",
            state_version=version,
        )
        results = race(act, act)
        assert results.count(None) == 1
        (late,) = unexpected(results)
        assert type(late) is (StaleState if seen else IllegalTransition)
        performer = Performer()
        drain(hints, performer)
        assert performer.calls == {"hola": 1, "flow.end": 1}
        assert event_kinds(entity, execution_id) == ["started", "paused", "resumed", "completed"]


@pytest.mark.rule("decision-14")
def test_resume_against_cancel(entity: Entity, publish: Publish, hints: Hints, race: Race) -> None:
    publish(one_step(action("envia", "comms.send_message", text="hola")))
    for number in range(ROUNDS):
        execution_id = paused(entity, hints, f"c-{number}")
        resumed, cancelled = race(
            partial(
                resume, entity=entity, execution_id=execution_id, how="retry", actor="test", reason="race"
            ),
            partial(cancel, entity=entity, execution_id=execution_id, actor="test", reason="race"),
        )
        assert cancelled is None
        assert resumed is None or isinstance(resumed, IllegalTransition)
        performer = Performer()
        drain(hints, performer)
        assert performer.calls == {}
        assert execution_of(entity, execution_id).status == "cancelled"
        assert event_kinds(entity, execution_id).count("resumed") == (resumed is None)
    assert [finding.check.code for finding in check_integrity() if finding.count] == []


@pytest.mark.rule("decision-10")
@pytest.mark.rule("A14")
def test_promotion_against_cancel_of_the_promoted(
    entity: Entity, publish: Publish, hints: Hints, work: Work, race: Race
) -> None:
    """The holder ends, which gives the slot to the queued one, while that one is cancelled."""
    wait = action("espera", "flow.wait_for_reply", timeout="PT24H")
    for word in ("uno", "dos"):
        filters = {"field": "message.text", "operator": "equals", "value": word}
        publish(one_step(wait, name=word, filters=filters))
    seen: Counter[bool] = Counter()
    for number in range(ROUNDS):
        contact = f"c-{number}"
        holder, queued = (
            deliver(entity, contact_id=contact, text=word).execution_id for word in ("uno", "dos")
        )
        assert holder is not None
        assert queued is not None
        work()
        assert execution_of(entity, queued).status == "queued_wait_conflict"
        results = race(
            *[
                partial(cancel, entity=entity, execution_id=pk, actor="test", reason="race")
                for pk in (holder, queued)
            ]
        )
        assert results == [None, None]
        kinds = event_kinds(entity, queued)
        assert kinds in (["started", "queued", "cancelled"], ["started", "queued", "promoted", "cancelled"])
        seen["promoted" in kinds] += 1
        assert {execution_of(entity, pk).status for pk in (holder, queued)} == {"cancelled"}
        assert {found.state for found in waits_of(entity, contact_id=contact)} == {"cancelled"}
    assert sum(seen.values()) == ROUNDS
    assert [finding.check.code for finding in check_integrity() if finding.count] == []


def test_without_the_compare_and_set_two_operators_resume_twice(
    entity: Entity, publish: Publish, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is passed, as by two operators one after the other; the state that was seen is all that is compared."""
    publish(one_step(action("envia", "comms.send_message", text="hola")))
    execution_id = paused(entity, hints, "c-1")
    stale = resuming._lock
    standing: list[Any] = []

    def remembered(*given: Any) -> Any:
        standing.append(stale(*given) if not standing else standing[0])
        return standing[0]

    real = executions.move_execution
    monkeypatch.setattr(resuming, "_lock", remembered)
    monkeypatch.setattr(
        executions,
        "move_execution",
        lambda **given: real(**{**given, "sources": ["paused_error", "running"]}),
    )
    for _ in range(2):
        resume(entity=entity, execution_id=execution_id, how="retry", actor="test", reason="race")
    assert event_kinds(entity, execution_id).count("resumed") == 2
