"""Messages that belong to a wait (A12): resume it, keep or gather for it, or end it as its question failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from workflows import context as contexts
from workflows.context import ContextTooLarge
from workflows.models import Execution, Frame, InboundMessage, StepRun, Wait
from workflows.replies import facts_of, gather, no_reply, reply_of
from workflows.services import conflicts, executions, slots
from workflows.services.route import Decision, Route


def delivery_failed(route: Route) -> Decision | None:
    """A failed receipt for the message whose answer is awaited takes the time-out path (decision 36)."""
    payload = route.event.get("payload")
    if not isinstance(payload, Mapping) or payload.get("status") != "failed":
        return None
    wait = _waiting(route).filter(state="open", gathered__isnull=True).first()
    if wait is None:
        return None
    asked = StepRun.objects.filter(
        entity_id=route.entity_id,
        frame_id=wait.frame_id,
        type__startswith="comms.",
        output__message_id=route.event.get("reply_to"),
    )
    if not asked.exists():
        return None
    frame = Frame.objects.get(pk=wait.frame_id, entity_id=route.entity_id)
    execution = Execution.objects.select_for_update(no_key=True).get(
        pk=frame.execution_id, entity_id=route.entity_id
    )
    resumed = resume_with_reply(
        entity_id=route.entity_id,
        execution=execution,
        frame=frame,
        wait=wait,
        reply=no_reply(delivery_failed=True),
        facts={},
        resolution="delivery_failed",
        actor=f"message:{route.event['message_id']}",
        now=route.now,
    )
    if not resumed:
        return None
    route.trace.append(
        {"look": "wait", "verdict": "resumed", "wait": str(wait.pk), "execution": str(execution.pk)}
    )
    return Decision("resumed", execution.pk, execution.workflow_id)


def latest_facts(*, entity_id: int, execution_id: UUID, contact_id: str | None) -> dict[str, Any]:
    """`facts_of` the last message that an execution kept or gathered."""
    event = (
        InboundMessage.objects.filter(
            entity_id=entity_id,
            contact_id=contact_id,
            execution_id=execution_id,
            outcome__in=("kept", "resumed"),
            event__author="contact",
        )
        .order_by("-received_at", "-id")
        .values_list("event", flat=True)
        .first()
    )
    return {} if event is None else facts_of(event)


def _waiting(route: Route) -> QuerySet[Wait]:
    """The reply waits of this contact and chat: one at most (A14)."""
    waits: QuerySet[Wait] = Wait.objects.filter(
        entity_id=route.entity_id,
        contact_id=route.contact_id,
        chat_id=route.chat_id,
        kind="reply",
        state__in=["open", "reserved"],
    )
    return waits


def to_wait(route: Route) -> Decision | None:
    """A wait of this contact and chat comes before every trigger (A12)."""
    wait = _waiting(route).first()
    if wait is None:
        route.trace.append({"look": "wait", "verdict": "none"})
        return None
    frame = Frame.objects.get(pk=wait.frame_id, entity_id=route.entity_id)
    execution = Execution.objects.select_for_update(no_key=True).get(
        pk=frame.execution_id, entity_id=route.entity_id
    )
    found = {"look": "wait", "wait": str(wait.pk), "execution": str(execution.pk)}
    asked = wait.seq < frame.seq  # a question that had to queue gets the slot before it is sent
    if wait.state == "reserved" and asked:
        return _keep(route, wait, execution, found)
    if execution.status != "waiting_for_reply":
        route.trace.append({**found, "verdict": "not_waiting", "status": execution.status})
        return None
    if wait.collect:
        return _collect(route, wait, execution, found)
    resume_with_reply(
        entity_id=route.entity_id,
        execution=execution,
        frame=frame,
        wait=wait,
        reply=reply_of(route.event, received_at=route.now),
        facts=facts_of(route.event),
        resolution="reply",
        actor=f"message:{route.event['message_id']}",
        now=route.now,
    )
    route.trace.append({**found, "verdict": "resumed"})
    return Decision("resumed", execution.pk, execution.workflow_id)


def _keep(route: Route, wait: Wait, execution: Execution, found: dict[str, str]) -> Decision | None:
    """The contact was faster than the question's acceptance: the first message is the reply (decision 12)."""
    if wait.kept_message_id is not None and wait.collect:
        return _collect(route, wait, execution, found)
    if wait.kept_message_id is not None:
        route.trace.append({**found, "verdict": "already_answered"})
        return None
    Wait.objects.filter(pk=wait.pk, entity_id=route.entity_id).update(
        kept_message_id=route.message_id, gathered=reply_of(route.event, received_at=route.now)
    )
    route.trace.append({**found, "verdict": "kept"})
    return Decision("kept", execution.pk, execution.workflow_id)


def _collect(route: Route, wait: Wait, execution: Execution, found: dict[str, str]) -> Decision:
    """Gather the messages of the window that the first one opened; the timer resumes with all (decision 34)."""
    if wait.gathered is None:
        wait.gathered = reply_of(route.event, received_at=route.now)
        slots.gather_until(wait=wait, over=route.now + wait.collect)
    else:
        Wait.objects.filter(pk=wait.pk, entity_id=route.entity_id).update(
            gathered=gather(wait.gathered, route.event)
        )
    route.trace.append({**found, "verdict": "gathered"})
    outcome = "kept" if wait.state == "reserved" else "resumed"
    return Decision(outcome, execution.pk, execution.workflow_id)


def resume_with_reply(
    *,
    entity_id: int,
    execution: Execution,
    frame: Frame,
    wait: Wait,
    reply: Mapping[str, Any],
    facts: Mapping[str, Any],
    resolution: str,
    actor: str,
    now: datetime,
) -> bool:
    """End an open reply wait with a reply or a time-out, and let the next action of the step run (S6, decision 8)."""
    try:
        context = contexts.merge_reply(contexts.open_context(execution.context), reply)
        context = contexts.merge_facts(context, facts)
    except ContextTooLarge as problem:
        return _too_large(execution, wait, problem, actor=actor, now=now)
    if not executions.move_execution(
        entity_id=entity_id,
        execution_id=execution.pk,
        sources=["waiting_for_reply"],
        target="running",
        actor=actor,
        event="resumed",
        data={"by": resolution, "action": wait.action_key},
        context=context.document,
        context_seq=frame.seq,
        now=now,
    ):
        return False
    slots.hold(wait=wait, now=now, resolution=resolution)
    _close_run(wait, now)
    executions.wake_frame(entity_id=entity_id, frame_id=frame.pk)
    return True


def _too_large(
    execution: Execution, wait: Wait, problem: ContextTooLarge, *, actor: str, now: datetime
) -> bool:
    """The answer came and does not fit: the message is recorded, and an operator decides (decision 20)."""
    moved = executions.move_execution(
        entity_id=wait.entity_id,
        execution_id=execution.pk,
        sources=["waiting_for_reply"],
        target="paused_error",
        actor=actor,
        event="paused",
        reason="context_too_large",
        error={"detail": problem.detail, **problem.extra},
        now=now,
    )
    if moved:
        _close_run(wait, now)
        slots.free_slots(entity_id=wait.entity_id, frame_id=wait.frame_id, now=now)
        conflicts.promote_next(
            entity_id=wait.entity_id, contact_id=wait.contact_id, chat_id=wait.chat_id, now=now
        )
    return moved


def _close_run(wait: Wait, now: datetime) -> None:
    """The action has waited long enough."""
    StepRun.objects.filter(
        entity_id=wait.entity_id, frame_id=wait.frame_id, seq=wait.seq, status="waiting"
    ).update(status="done", finished_at=now)
