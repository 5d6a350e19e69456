"""The inbound pipeline (T6, A12): one message, one destination, decided under the lock of its contact and chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from workflows import clock, tenancy
from workflows.contracts import WRITTEN_KINDS
from workflows.jsontext import dumps
from workflows.models import FINAL, Entity, Execution, InboundMessage
from workflows.models.base import uuid7
from workflows.services import conflicts, executions, slots
from workflows.services.replying import delivery_failed, to_wait
from workflows.services.route import Decision, Route
from workflows.services.triggering import to_trigger
from workflows.services.versions import load_version


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
        decision = _decide(entity, message_id, event)
        InboundMessage.objects.filter(pk=message_id, entity_id=entity.pk).update(answer=decision.as_answer())
        return decision


def route_on(*, entity_id: int, message_ids: Sequence[UUID]) -> None:
    """Route messages that a reservation kept and can no longer use (decision 12); in the caller's transaction."""
    if not message_ids:
        return
    entity = Entity.objects.get(pk=entity_id)
    for message in InboundMessage.objects.filter(pk__in=list(message_ids), entity_id=entity_id).order_by(
        "id"
    ):
        _decide(entity, message.pk, message.event, trace=message.trace)


def after_end(*, entity_id: int, ended: executions.Ended) -> None:
    """Route on what an ended execution had kept, and give its slot to the next in the queue (decision 10)."""
    route_on(entity_id=entity_id, message_ids=ended.kept)
    conflicts.promote_next(
        entity_id=entity_id, contact_id=ended.contact_id, chat_id=ended.chat_id, now=clock.now()
    )


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
    """What the first delivery was answered, even where a kept message has gone on since (decision 30)."""
    first = InboundMessage.objects.get(
        entity_id=entity_id, channel=event["channel"], message_id=event["message_id"]
    )
    return Decision.of_answer(first.answer)


def _decide(
    entity: Entity, message_id: UUID, event: Mapping[str, Any], trace: Sequence[Mapping[str, Any]] = ()
) -> Decision:
    route = Route(
        entity_id=entity.pk,
        message_id=message_id,
        event=event,
        contact_id=event["contact"]["id"],
        chat_id=event["chat"]["id"],
        now=clock.now(),
        zone=ZoneInfo(str(entity.timezone)),
        trace=[dict(item) for item in trace],
    )
    decision = _not_a_message(route) or to_wait(route) or to_trigger(route) or Decision("unmatched")
    InboundMessage.objects.filter(pk=message_id, entity_id=entity.pk).update(
        outcome=decision.outcome,
        reason=decision.reason or "",
        execution_id=decision.execution_id,
        workflow_id=decision.workflow_id,
        trace=route.trace,
    )
    return decision


def _not_a_message(route: Route) -> Decision | None:
    """Echoes, reactions, receipts, edits and system messages start nothing (decision 7)."""
    event = route.event
    if event["kind"] in WRITTEN_KINDS:
        if event["direction"] == "inbound" and event["author"] == "contact":
            return None
        if event["author"] == "agent" and _take_over(route):
            return Decision("ignored", reason="human_takeover")
    if event["kind"] == "receipt" and (failed := delivery_failed(route)):
        return failed
    seen = {key: event[key] for key in ("direction", "author", "kind")}
    route.trace.append({"look": "message", "verdict": "ignored_kind", **seen})
    return Decision("ignored", reason="ignored_kind")


def _take_over(route: Route) -> bool:
    """An agent writes in the chat: executions whose workflow says so end (decision 35)."""
    active = list(
        Execution.objects.filter(
            entity_id=route.entity_id, contact_id=route.contact_id, chat_id=route.chat_id
        )
        .exclude(status__in=FINAL)
        .order_by("id")
        .values_list("pk", "version_id")
    )
    for execution_id, version_id in active:
        version = load_version(entity_id=route.entity_id, version_id=version_id)
        if version.automation.on_agent_message != "cancel":
            continue
        route.trace.append({"look": "agent", "verdict": "cancelled", "execution": str(execution_id)})
        ended = executions.cancel_execution(
            entity_id=route.entity_id,
            execution_id=execution_id,
            actor=f"message:{route.event['message_id']}",
            reason="an agent wrote to the contact",
            code="human_takeover",
        )
        after_end(entity_id=route.entity_id, ended=ended)
    return any(item["look"] == "agent" for item in route.trace)
