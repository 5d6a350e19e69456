"""What a rival that read too early would do: stopped by the compare-and-set, and not stopped once that is taken away.

Each test plays the losing side of a race with what it had read before the other side committed, as it would without
the chat's lock. `guarded` shows the guard; without it the end state is one that the races of this folder never see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.concurrency.conftest import action, deliver, event_kinds, execution_of, one_step
from tests.concurrency.test_waits import waiting
from workflows import clock, tenancy
from workflows.models import Entity, Execution, Frame, Status, Wait, Workflow
from workflows.replies import no_reply
from workflows.services import conflicts, executions, pauses, replying, timers, turn
from workflows.services.acts import cancel
from workflows.services.statements import SETTLE
from workflows.services.turn import Stale, claim

Publish = Callable[..., Workflow]
Work = Callable[[], int]


@pytest.fixture(params=[True, False], ids=["guarded", "guard removed"])
def guarded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether `move_execution` compares the status, and the engine's statements the state."""
    if not request.param:
        real = executions.move_execution
        monkeypatch.setattr(
            executions, "move_execution", lambda **given: real(**{**given, "sources": Status.values})
        )
        settle = {
            close: sql.replace("and entity_id = %s and status = 'running'", "and entity_id = %s").replace(
                "f.state_version = %s and f.status = 'running'", "f.state_version >= %s"
            )
            for close, sql in SETTLE.items()
        }
        assert settle != SETTLE
        monkeypatch.setattr(turn, "SETTLE", settle)
    return bool(request.param)


def rows(entity: Entity, execution_id: UUID) -> tuple[Execution, Frame, Wait]:
    """What a rival reads."""
    with tenancy.entity(entity.pk):
        frame = Frame.objects.get(execution_id=execution_id)
        return (
            Execution.objects.get(pk=execution_id),
            frame,
            Wait.objects.filter(frame_id=frame.pk).latest("created_at"),
        )


@pytest.mark.rule("decision-9")
def test_a_reply_that_read_before_the_time_out(
    entity: Entity, publish: Publish, work: Work, guarded: bool
) -> None:
    publish()
    execution_id, wait = waiting(entity, work, "c-1")
    execution, frame, stale = rows(entity, execution_id)
    assert timers.fire(entity_id=entity.pk, wait_id=wait.pk)
    with tenancy.entity(entity.pk):
        resumed = replying.resume_with_reply(
            entity_id=entity.pk,
            execution=execution,
            frame=frame,
            wait=stale,
            reply=no_reply(),
            facts={},
            resolution="reply",
            actor="rival",
            now=clock.now(),
        )
    assert resumed is not guarded
    assert event_kinds(entity, execution_id).count("resumed") == (1 if guarded else 2)


@pytest.mark.rule("decision-10")
def test_a_promotion_that_read_before_the_cancel(
    entity: Entity, publish: Publish, work: Work, guarded: bool
) -> None:
    wait = action("espera", "flow.wait_for_reply", timeout="PT24H")
    for word in ("uno", "dos"):
        publish(
            one_step(wait, name=word, filters={"field": "message.text", "operator": "equals", "value": word})
        )
    queued = [deliver(entity, text=word).execution_id for word in ("uno", "dos")][1]
    assert queued is not None
    work()
    execution, frame, stale = rows(entity, queued)
    assert execution.status == "queued_wait_conflict"
    with tenancy.entity(entity.pk):
        holder = Frame.objects.get(waits__state="open").execution_id
    for pk in (queued, holder):
        cancel(entity=entity, execution_id=pk, actor="test", reason="race")
    with tenancy.entity(entity.pk):
        promoted = conflicts._promote(stale, frame, execution, actor="rival", why="race", now=clock.now())
    assert promoted is not guarded
    assert execution_of(entity, queued).status == ("cancelled" if guarded else "waiting_for_reply")


@pytest.mark.rule("G5")
def test_a_turn_whose_execution_was_cancelled_meanwhile(
    entity: Entity, publish: Publish, hints: list[Any], guarded: bool
) -> None:
    """Also what a late answer of a call would do: it is recorded and moves nothing."""
    publish(one_step())
    execution_id = deliver(entity).execution_id
    assert execution_id is not None
    entity_id, frame_id, state_version, _queue = hints.pop()
    late = claim(entity_id=entity_id, frame_id=frame_id, state_version=state_version)
    assert late is not None
    cancel(entity=entity, execution_id=execution_id, actor="test", reason="race")
    if guarded:
        with pytest.raises(Stale):
            pauses.finish(late)
    else:
        late.state_version = 0
        pauses.finish(late)
    kinds = event_kinds(entity, execution_id)
    assert kinds == (["started", "cancelled"] if guarded else ["started", "cancelled", "completed"])
    assert execution_of(entity, execution_id).status == ("cancelled" if guarded else "completed")
