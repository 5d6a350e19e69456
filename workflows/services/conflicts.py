"""Who gets a reply slot that has gone free (A14, decision 10), in the transaction that frees it."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from workflows import clock
from workflows.errors import IllegalTransition, NotFound, StaleState
from workflows.models import SLOT_STATES, Execution, Frame, Timer, Wait
from workflows.services import executions, slots
from workflows.services.versions import load_version

LONGEST_QUEUE = timedelta(days=30)
"""Older than this, only an operator ends it (decision 10)."""


def promote_next(*, entity_id: int, contact_id: str | None, chat_id: str | None, now: datetime) -> bool:
    """Give a free slot to the oldest execution queued for it whose workflow says `automatic`; under the chat's lock."""
    if contact_id is None or chat_id is None:
        return False
    if _taken(entity_id, contact_id, chat_id):
        return False
    queued = Wait.objects.filter(
        entity_id=entity_id,
        contact_id=contact_id,
        chat_id=chat_id,
        state="queued",
        created_at__gt=now - LONGEST_QUEUE,
    ).order_by("created_at", "id")
    for wait in queued:
        frame = Frame.objects.get(pk=wait.frame_id, entity_id=entity_id)
        execution = Execution.objects.select_for_update(no_key=True).get(
            pk=frame.execution_id, entity_id=entity_id
        )
        version = load_version(entity_id=entity_id, version_id=execution.version_id)
        if version.automation.wait_conflict == "automatic":
            return _promote(wait, frame, execution, actor="engine", why="the slot went free", now=now)
    return False


def retry_wait(
    *, entity_id: int, execution_id: UUID, actor: str, reason: str, state_version: int | None = None
) -> None:
    """An operator gives the slot to one queued execution; IllegalTransition while another execution has it."""
    found = Execution.objects.filter(pk=execution_id, entity_id=entity_id).first()
    if found is None:
        raise NotFound
    slots.lock_chat(entity_id=entity_id, contact_id=found.contact_id, chat_id=found.chat_id)
    execution = Execution.objects.select_for_update(no_key=True).get(pk=execution_id, entity_id=entity_id)
    if state_version is not None and execution.state_version != state_version:
        raise StaleState(state_version=execution.state_version, present=execution.status)
    if execution.status != "queued_wait_conflict":
        raise IllegalTransition(state_version=execution.state_version, present=execution.status)
    frame = Frame.objects.get(execution_id=execution_id, parent__isnull=True, entity_id=entity_id)
    wait = Wait.objects.get(frame_id=frame.pk, entity_id=entity_id, state="queued")
    if _taken(entity_id, execution.contact_id, execution.chat_id):
        raise IllegalTransition("Another execution still has the chat.", present=execution.status)
    _promote(wait, frame, execution, actor=actor, why=reason, now=clock.now())


def _taken(entity_id: int, contact_id: str | None, chat_id: str | None) -> bool:
    return bool(
        Wait.objects.filter(
            entity_id=entity_id, contact_id=contact_id, chat_id=chat_id, kind="reply", state__in=SLOT_STATES
        ).exists()
    )


def _promote(wait: Wait, frame: Frame, execution: Execution, *, actor: str, why: str, now: datetime) -> bool:
    """Arm the queued wait, or let its unsent question be sent; its time starts now."""
    version = load_version(entity_id=wait.entity_id, version_id=execution.version_id)
    standing = version.automation.steps[frame.step].actions[frame.action].key
    unsent = standing == wait.action_key
    moved = executions.move_execution(
        entity_id=wait.entity_id,
        execution_id=execution.pk,
        sources=["queued_wait_conflict"],
        target="running" if unsent else "waiting_for_reply",
        actor=actor,
        event="promoted",
        data={"action": wait.action_key, "why": why},
        now=now,
    )
    if not moved:
        return False
    deadline = now + (wait.timeout or timedelta(0))
    Wait.objects.filter(pk=wait.pk, entity_id=wait.entity_id).update(
        state="reserved" if unsent else "open", armed_at=None if unsent else now, deadline=deadline
    )
    Timer.objects.create(entity_id=wait.entity_id, wait_id=wait.pk, due_at=deadline)
    if unsent:
        executions.wake_frame(entity_id=wait.entity_id, frame_id=frame.pk)
    return True
