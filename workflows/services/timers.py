"""Fire due timers. Each names the wait that made it; where that wait has ended otherwise, nothing happens."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from workflows import clock, tenancy
from workflows.models import Execution, Frame, StepRun, Timer, Wait
from workflows.replies import no_reply
from workflows.services import conflicts, executions, inbound, replying, slots

log = structlog.get_logger(__name__)

BATCH = 200
TAKEN_SECONDS = 30

_TAKE = """
update workflows_timer set taken_until = clock_timestamp() + make_interval(secs => %s)
where id in (select id from workflows_timer
             where due_at <= boostflow_now() and (taken_until is null or taken_until < clock_timestamp())
             order by due_at limit %s for update skip locked)
returning entity_id, wait_id
"""


def fire_due(*, limit: int = BATCH) -> int:
    """Take up to `limit` due timers for this sweeper and fire each in a transaction of its own; how many were taken."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [TAKEN_SECONDS, limit])
        taken: list[tuple[int, UUID]] = cursor.fetchall()
    for entity_id, wait_id in taken:
        try:
            fire(entity_id=entity_id, wait_id=wait_id)
        except Exception:  # one bad row must not stop the others; it stays due and is tried again
            log.exception("timer_failed", wait_id=str(wait_id))
    return len(taken)


def fire(*, entity_id: int, wait_id: UUID) -> bool:
    """End the wait whose time has come; False: it had ended already.

    The execution is locked before the timer, as whoever cancels it does: a delay has no chat to be serialised by.
    """
    with tenancy.entity(entity_id):
        wait = Wait.objects.filter(pk=wait_id, entity_id=entity_id).first()
        if wait is None:
            Timer.objects.filter(wait_id=wait_id).delete()
            return False
        slots.lock_chat(entity_id=entity_id, contact_id=wait.contact_id, chat_id=wait.chat_id)
        owner = Frame.objects.values_list("execution_id", flat=True).get(
            pk=wait.frame_id, entity_id=entity_id
        )
        execution = Execution.objects.select_for_update(no_key=True).get(pk=owner, entity_id=entity_id)
        if not Timer.objects.filter(wait_id=wait_id, due_at__lte=clock.now()).delete()[0]:
            return False
        wait = Wait.objects.get(pk=wait_id, entity_id=entity_id)
        frame = Frame.objects.get(pk=wait.frame_id, entity_id=entity_id)
        if wait.state == "reserved":
            return _expire_reservation(wait)
        if wait.state != "open":
            return False
        return (
            _delay_over(execution, frame, wait)
            if wait.kind == "delay"
            else _timed_out(execution, frame, wait)
        )


def _timed_out(execution: Execution, frame: Frame, wait: Wait) -> bool:
    gathered = wait.gathered
    facts: dict[str, Any] = {}
    if gathered is not None:
        facts = replying.latest_facts(
            entity_id=wait.entity_id, execution_id=execution.pk, contact_id=wait.contact_id
        )
    return replying.resume_with_reply(
        entity_id=wait.entity_id,
        execution=execution,
        frame=frame,
        wait=wait,
        reply=no_reply() if gathered is None else gathered,
        facts=facts,
        resolution="timeout" if gathered is None else "reply",
        actor="timer",
        now=clock.now(),
    )


def _delay_over(execution: Execution, frame: Frame, wait: Wait) -> bool:
    now = clock.now()
    moved = executions.move_execution(
        entity_id=wait.entity_id,
        execution_id=execution.pk,
        sources=["delayed"],
        target="running",
        actor="timer",
        event="resumed",
        data={"by": "delay", "action": wait.action_key},
        now=now,
    )
    if moved:
        Wait.objects.filter(pk=wait.pk, entity_id=wait.entity_id).update(
            state="resolved", resolved_at=now, resolution="due"
        )
        StepRun.objects.filter(
            entity_id=wait.entity_id, frame_id=frame.pk, seq=wait.seq, status="waiting"
        ).update(status="done", finished_at=now)
        executions.wake_frame(entity_id=wait.entity_id, frame_id=frame.pk)
    return moved


def _expire_reservation(wait: Wait) -> bool:
    """The question's outcome is unknown and its time is over: the slot goes free (decision 12)."""
    kept = slots.free_slots(
        entity_id=wait.entity_id, frame_id=wait.frame_id, now=clock.now(), state="cancelled"
    )
    inbound.route_on(entity_id=wait.entity_id, message_ids=kept)
    conflicts.promote_next(
        entity_id=wait.entity_id, contact_id=wait.contact_id, chat_id=wait.chat_id, now=clock.now()
    )
    return True
