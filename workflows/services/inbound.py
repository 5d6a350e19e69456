"""The inbound pipeline (T6, A12): one message, one destination, decided under the lock of its contact and chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from workflows import clock, filters, tenancy
from workflows import context as contexts
from workflows.context import ContextTooLarge
from workflows.contracts import Refusal
from workflows.models import FINAL, Entity, Execution, Frame, InboundMessage, StepRun, Wait, Workflow
from workflows.models.base import uuid7
from workflows.replies import reply_of
from workflows.services import executions, slots
from workflows.services.versions import CompiledVersion, dumps, load_version

PERSON_KINDS = frozenset({"text", "media", "audio", "location", "button", "list", "template_reply"})
"""Kinds that a person writes (decision 7)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a message went, as it is answered and stored."""

    outcome: str
    execution_id: UUID | None = None
    workflow_id: UUID | None = None
    reason: str | None = None
    duplicate: bool = False


@dataclass(slots=True)
class _Route:
    """A message on its way: what it is, and the trace of what was looked at."""

    entity_id: int
    message_id: UUID
    event: Mapping[str, Any]
    contact_id: str
    chat_id: str
    now: datetime
    zone: ZoneInfo
    trace: list[dict[str, Any]]


def receive_message(*, entity: Entity, event: Mapping[str, Any]) -> Decision:
    """Record and route one message; a second delivery gets the first one's answer (decision 30).

    The insert comes first: a rival delivery of the same message waits on the unique key until this one has decided.
    Decision, resume or new execution, and timers commit together (decision 29).
    """
    with tenancy.entity(entity.pk):
        message_id = _insert(entity.pk, event)
        if message_id is None:
            return _first_answer(entity.pk, event)
        slots.lock_chat(entity_id=entity.pk, contact_id=event["contact"]["id"], chat_id=event["chat"]["id"])
        return _decide(entity, message_id, event)


def route_on(*, entity_id: int, message_ids: Sequence[UUID]) -> None:
    """Route messages that a reservation kept and can no longer use (decision 12); in the caller's transaction."""
    if not message_ids:
        return
    entity = Entity.objects.get(pk=entity_id)
    for message in InboundMessage.objects.filter(pk__in=list(message_ids), entity_id=entity_id).order_by(
        "id"
    ):
        _decide(entity, message.pk, message.event, trace=message.trace)


def _insert(entity_id: int, event: Mapping[str, Any]) -> UUID | None:
    with connection.cursor() as cursor:
        cursor.execute(
            """insert into workflows_inboundmessage (id, entity_id, channel, message_id, contact_id, chat_id, event,
                   outcome, reason, trace, received_at)
               values (%s, %s, %s, %s, %s, %s, %s, 'unmatched', '', '[]', boostflow_now())
               on conflict on constraint inbound_one_per_message_id do nothing returning id""",
            [
                uuid7(),
                entity_id,
                event["channel"],
                event["message_id"],
                event["contact"]["id"],
                event["chat"]["id"],
                dumps(event),
            ],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _first_answer(entity_id: int, event: Mapping[str, Any]) -> Decision:
    first = InboundMessage.objects.get(
        entity_id=entity_id, channel=event["channel"], message_id=event["message_id"]
    )
    return Decision(
        first.outcome, first.execution_id, first.workflow_id, first.reason or None, duplicate=True
    )


def _decide(
    entity: Entity, message_id: UUID, event: Mapping[str, Any], trace: Sequence[Mapping[str, Any]] = ()
) -> Decision:
    route = _Route(
        entity_id=entity.pk,
        message_id=message_id,
        event=event,
        contact_id=event["contact"]["id"],
        chat_id=event["chat"]["id"],
        now=clock.now(),
        zone=ZoneInfo(str(entity.timezone)),
        trace=[dict(item) for item in trace],
    )
    decision = _not_a_message(route) or _to_wait(route) or _to_trigger(route) or Decision("unmatched")
    InboundMessage.objects.filter(pk=message_id, entity_id=entity.pk).update(
        outcome=decision.outcome,
        reason=decision.reason or "",
        execution_id=decision.execution_id,
        workflow_id=decision.workflow_id,
        trace=route.trace,
    )
    return decision


def _not_a_message(route: _Route) -> Decision | None:
    """Echoes, reactions, receipts, edits and system messages go nowhere (decision 7)."""
    event = route.event
    if event["direction"] == "inbound" and event["author"] == "contact" and event["kind"] in PERSON_KINDS:
        return None
    seen = {key: event[key] for key in ("direction", "author", "kind")}
    route.trace.append({"look": "message", "verdict": "ignored_kind", **seen})
    return Decision("ignored", reason="ignored_kind")


def _to_wait(route: _Route) -> Decision | None:
    """A wait of this contact and chat comes before every trigger (A12)."""
    wait = Wait.objects.filter(
        entity_id=route.entity_id,
        contact_id=route.contact_id,
        chat_id=route.chat_id,
        kind="reply",
        state__in=["open", "reserved"],
    ).first()
    if wait is None:
        route.trace.append({"look": "wait", "verdict": "none"})
        return None
    frame = Frame.objects.get(pk=wait.frame_id, entity_id=route.entity_id)
    execution = Execution.objects.select_for_update().get(pk=frame.execution_id, entity_id=route.entity_id)
    found = {"look": "wait", "wait": str(wait.pk), "execution": str(execution.pk)}
    if wait.state == "reserved":
        return _keep(route, wait, execution, found)
    if execution.status != "waiting_for_reply":
        route.trace.append({**found, "verdict": "not_waiting", "status": execution.status})
        return None
    resume_with_reply(
        entity_id=route.entity_id,
        execution=execution,
        frame=frame,
        wait=wait,
        reply=reply_of(route.event, received_at=route.now),
        facts={key: route.event[key] for key in ("contact", "chat")},
        resolution="reply",
        actor=f"message:{route.event['message_id']}",
        now=route.now,
    )
    route.trace.append({**found, "verdict": "resumed"})
    return Decision("resumed", execution.pk, execution.workflow_id)


def _keep(route: _Route, wait: Wait, execution: Execution, found: dict[str, str]) -> Decision | None:
    """The contact was faster than the question's acceptance: the first message is the reply (decision 12)."""
    if wait.kept_message_id is not None:
        route.trace.append({**found, "verdict": "already_answered"})
        return None
    Wait.objects.filter(pk=wait.pk, entity_id=route.entity_id).update(kept_message_id=route.message_id)
    route.trace.append({**found, "verdict": "kept"})
    return Decision("kept", execution.pk, execution.workflow_id)


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
    StepRun.objects.filter(entity_id=entity_id, frame_id=frame.pk, seq=wait.seq, status="waiting").update(
        status="done", finished_at=now
    )
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
        slots.free_slots(entity_id=wait.entity_id, frame_id=wait.frame_id, now=now)
    return moved


def _to_trigger(route: _Route) -> Decision | None:
    """The first published workflow by the entity's priority whose trigger and filters match (T6)."""
    active: set[UUID] | None = None
    for workflow in _listening(route.entity_id):
        version = load_version(entity_id=route.entity_id, version_id=workflow["current_version_id"])
        seen: dict[str, Any] = {
            "look": "workflow",
            "workflow": str(workflow["id"]),
            "name": workflow["name"],
            "priority": workflow["priority"],
        }
        trigger = version.automation.trigger
        context = trigger.handler.detect(route.event, trigger.config)
        if isinstance(context, Refusal):
            route.trace.append({**seen, "verdict": context.reason, **context.data})
            continue
        if not _filters_match(route, version, context, seen):
            continue
        if active is None:
            active = _active_workflows(route)
        reason = "already_active" if workflow["id"] in active else _cooling(route, version)
        started = None if reason else _start(route, version, context)
        if started is None:
            route.trace.append({**seen, "verdict": reason or "already_active"})
            continue
        route.trace.append({**seen, "verdict": "started", "execution": str(started)})
        return Decision("started", started, version.workflow_id)
    return None


def _listening(entity_id: int) -> list[dict[str, Any]]:
    """Published workflows with a message trigger, highest priority (lowest number) first."""
    return list(
        Workflow.objects.filter(
            entity_id=entity_id, status="published", current_version__trigger_type="message.inbound"
        )
        .order_by("priority")
        .values("id", "name", "priority", "current_version_id")
    )


def _filters_match(
    route: _Route, version: CompiledVersion, context: Mapping[str, Any], seen: Mapping[str, Any]
) -> bool:
    chosen = version.automation.trigger.filters
    if chosen is None:
        return True
    explained = filters.explain(chosen, context, now=route.now, zone=route.zone)
    if not explained.verdict:
        route.trace.append({**seen, "verdict": "filter_false", "filters": explained.to_dict()})
    return explained.verdict


def _active_workflows(route: _Route) -> set[UUID]:
    """Workflows in which the contact has a non-final execution (G3, decisions 3 and 4)."""
    return set(
        Execution.objects.filter(entity_id=route.entity_id, contact_id=route.contact_id)
        .exclude(status__in=FINAL)
        .values_list("workflow_id", flat=True)
    )


def _cooling(route: _Route, version: CompiledVersion) -> str | None:
    """`cooldown` while the last execution for this contact ended too short a time ago (decision 37)."""
    cooldown: timedelta | None = getattr(version.automation.trigger.config, "cooldown", None)
    if not cooldown:
        return None
    recent = Execution.objects.filter(
        entity_id=route.entity_id,
        contact_id=route.contact_id,
        workflow_id=version.workflow_id,
        finished_at__gt=route.now - cooldown,
    )
    return "cooldown" if recent.exists() else None


def _start(route: _Route, version: CompiledVersion, context: Mapping[str, Any]) -> UUID | None:
    return executions.start_execution(
        entity_id=route.entity_id,
        version=version,
        context=context,
        contact_id=route.contact_id,
        chat_id=route.chat_id,
        message_id=route.message_id,
        actor=f"message:{route.event['message_id']}",
    )
