"""The one module that changes an execution's status, by compare-and-set, with an event in the same transaction.

(The engine's own moves are the `SETTLE` statement of `services.statements`, with the same guards.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from workflows import clock, hints
from workflows.engine.interpreter import begin
from workflows.errors import IllegalTransition, NotFound, StaleState
from workflows.jsontext import dumps
from workflows.models import ACTIVE, FINAL, Event, Execution, Frame, StepRun, Timer, Wait
from workflows.models.base import uuid7
from workflows.services import slots
from workflows.services.statements import LEASE_SECONDS
from workflows.services.versions import CompiledVersion

_INSERT = """
insert into workflows_execution (id, entity_id, kind, workflow_id, version_id, contact_id, chat_id, trigger_type,
    trigger_message_id, status, reason, state_version, context, context_seq, created_at, status_at)
values (%s, %s, 'automation', %s, %s, %s, %s, %s, %s, 'running', '', 0, %s, 0, boostflow_now(), boostflow_now())
on conflict do nothing returning id
"""
_INSERT_FRAME = """
insert into workflows_frame (id, entity_id, execution_id, engine, status, step, action, visits, state_version, seq,
    actions, sends, claims, attempt, retry, open_effect, lease_until)
values (%s, %s, %s, 'automation', 'running', 0, 0, %s, 0, 0, 0, 0, 0, 0, 0, false,
    clock_timestamp() + make_interval(secs => %s))
"""
_INSERT_EVENT = """
insert into workflows_event (entity_id, execution_id, kind, status, reason, actor, data, at)
values (%s, %s, 'started', 'running', '', %s, %s, boostflow_now())
"""


def start_execution(
    *,
    entity_id: int,
    version: CompiledVersion,
    context: Mapping[str, Any],
    contact_id: str | None,
    chat_id: str | None,
    message_id: UUID | None,
    actor: str,
    queue: str = "interactive",
) -> UUID | None:
    """Create an execution with its root frame and tell a worker after commit. Only triggers come here (A10).

    None: the contact has an active execution of this workflow (G3); nothing was written.
    """
    execution_id, frame_id = uuid7(), uuid7()
    state = begin(version.automation)
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            [
                execution_id,
                entity_id,
                version.workflow_id,
                version.id,
                contact_id,
                chat_id,
                version.automation.trigger.kind,
                message_id,
                dumps(context),
            ],
        )
        if cursor.fetchone() is None:
            return None
        cursor.execute(_INSERT_FRAME, [frame_id, entity_id, execution_id, dumps(state.visits), LEASE_SECONDS])
        cursor.execute(_INSERT_EVENT, [entity_id, execution_id, actor, dumps({"version": version.number})])
    hints.hint(entity_id=entity_id, frame_id=frame_id, state_version=0, queue=queue)
    return execution_id


def move_execution(
    *,
    entity_id: int,
    execution_id: UUID,
    sources: Sequence[str],
    target: str,
    actor: str,
    event: str,
    reason: str = "",
    error: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    context_seq: int | None = None,
    now: datetime,
) -> bool:
    """Compare-and-set the status and write its event; False: the status was none of `sources`, nothing changed."""
    columns: dict[str, Any] = {} if context is None else {"context": context, "context_seq": context_seq}
    moved = Execution.objects.filter(pk=execution_id, entity_id=entity_id, status__in=list(sources)).update(
        status=target,
        reason=reason,
        error=error,
        state_version=F("state_version") + 1,
        status_at=now,
        finished_at=now if target in FINAL else None,
        **columns,
    )
    if moved:
        Event.objects.create(
            entity_id=entity_id,
            execution_id=execution_id,
            kind=event,
            status=target,
            reason=reason,
            actor=actor,
            data=dict(data or {}),
            at=now,
        )
    return bool(moved)


def wake_frame(*, entity_id: int, frame_id: UUID, queue: str = "interactive") -> None:
    """Make a waiting frame run again, and tell a worker after commit."""
    Frame.objects.filter(pk=frame_id, entity_id=entity_id, status="waiting").update(
        status="running",
        state_version=F("state_version") + 1,
        claims=0,
        lease_until=Now() + timedelta(seconds=LEASE_SECONDS),
    )
    state_version = Frame.objects.values_list("state_version", flat=True).get(
        pk=frame_id, entity_id=entity_id
    )
    hints.hint(entity_id=entity_id, frame_id=frame_id, state_version=state_version, queue=queue)


@dataclass(frozen=True, slots=True)
class Ended:
    """What an execution that was ended leaves to be done in the same transaction (`inbound.after_end`): its chat may
    be free for the next in the queue, and messages that it had kept go on."""

    contact_id: str | None
    chat_id: str | None
    kept: list[UUID]


def cancel_execution(
    *,
    entity_id: int,
    execution_id: UUID,
    actor: str,
    reason: str,
    code: str = "",
    state_version: int | None = None,
) -> Ended:
    """End an execution at once from every non-final status, whatever it waits for; runs in the caller's scope.

    A call in flight is still recorded on its step run and moves nothing. `code` is a reason's, where it was not a
    person's act.
    """
    found = (
        Execution.objects.filter(pk=execution_id, entity_id=entity_id).values("contact_id", "chat_id").first()
    )
    if found is None:
        raise NotFound
    slots.lock_chat(entity_id=entity_id, contact_id=found["contact_id"], chat_id=found["chat_id"])
    locked = Execution.objects.select_for_update(no_key=True).get(pk=execution_id, entity_id=entity_id)
    if state_version is not None and locked.state_version != state_version:
        raise StaleState(state_version=locked.state_version, present=locked.status)
    now = clock.now()
    if not move_execution(
        entity_id=entity_id,
        execution_id=execution_id,
        sources=ACTIVE,
        target="cancelled",
        actor=actor,
        event="cancelled",
        reason=code,
        data={"why": reason, "from": locked.status},
        now=now,
    ):
        raise IllegalTransition(state_version=locked.state_version, present=locked.status)
    kept = end_frames(entity_id=entity_id, execution_id=execution_id, now=now)
    return Ended(locked.contact_id, locked.chat_id, kept)


def end_frames(*, entity_id: int, execution_id: UUID, now: datetime) -> list[UUID]:
    """Stop all frames of an execution that is being ended and cancel what they wait for; the kept messages."""
    frames = list(
        Frame.objects.filter(entity_id=entity_id, execution_id=execution_id)
        .order_by("id")
        .values_list("pk", flat=True)
    )
    Frame.objects.filter(pk__in=frames, entity_id=entity_id).update(
        status="done", state_version=F("state_version") + 1
    )
    runs = StepRun.objects.filter(entity_id=entity_id, frame_id__in=frames)
    runs.filter(status="waiting").update(status="cancelled", finished_at=now)
    runs.filter(status="open").update(status="cancelled")  # a late answer is still recorded on it
    kept = [
        message
        for frame_id in frames
        for message in slots.free_slots(entity_id=entity_id, frame_id=frame_id, now=now, state="cancelled")
    ]
    delays = Wait.objects.filter(entity_id=entity_id, frame_id__in=frames, state="open")
    Timer.objects.filter(wait_id__in=list(delays.values_list("pk", flat=True))).delete()
    delays.update(state="cancelled", resolved_at=now, resolution="cancelled")
    return kept
