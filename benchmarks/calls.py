"""Executions with an outside call over HTTP to the sandbox CRM, and the way from a reply to the next message."""

from __future__ import annotations

import time
from typing import Any

from django.db import connection

from benchmarks.documents import context
from devtools.sandbox.client import Sandbox
from workflows import tenancy
from workflows.models import Entity, Execution
from workflows.services import entities, executions, inbound, publishing
from workflows.services.versions import load_version

SEND: dict[str, Any] = {"type": "comms.send_message", "config": {"text": "Hola {{ contact.name }}"}}
ASK: dict[str, Any] = {
    "key": "pregunta",
    "type": "comms.send_message",
    "config": {"text": "¿Sí?", "response_policy": {"await_reply": {"timeout": "PT2H"}}},
}
END: dict[str, Any] = {"key": "fin", "type": "flow.end", "config": {}}
LIMIT_SECONDS = 180


def _document(name: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": 1,
        "kind": "automation",
        "name": name,
        "trigger": {"type": "message.inbound", "config": {}},
        "steps": [{"key": "uno", "actions": [*actions, END]}],
    }


def _entity(sandbox: Sandbox, name: str, document: dict[str, Any], contacts: int) -> tuple[Entity, int]:
    entity, _ = entities.create_entity(
        external_id=name, name=name, timezone="America/Guatemala", system_user_id="u-1"
    )
    sandbox.seed(
        name,
        contacts=[{"id": f"c{number}"} for number in range(contacts)],
        chats=[{"id": f"ch{number}", "contact_id": f"c{number}"} for number in range(contacts)],
        users=[{"id": "u-1"}],
    )
    saved = publishing.create_workflow(entity=entity, document=document)
    published = publishing.publish_workflow(entity=entity, workflow_id=saved.workflow.pk, actor="benchmark")
    version_id: Any = published.workflow.current_version_id
    return entity, version_id


def run_calls(sandbox: Sandbox, *, milliseconds: int, count: int) -> str:
    """`count` executions of one call each, of a CRM that takes `milliseconds`; executions/s and calls in flight."""
    name = f"bench-calls-{milliseconds}"
    entity, version_id = _entity(sandbox, name, _document("Llamada", {"key": "saluda", **SEND}), count)
    sandbox.fault("send_text", entity=name, delay_s=milliseconds / 1000, times=None)
    for start in range(0, count, 20):
        with tenancy.entity(entity.pk):
            version = load_version(entity_id=entity.pk, version_id=version_id)
            for number in range(start, min(start + 20, count)):
                executions.start_execution(
                    entity_id=entity.pk,
                    version=version,
                    context=context(number),
                    contact_id=f"c{number}",
                    chat_id=f"ch{number}",
                    message_id=None,
                    actor="benchmark",
                )
    _wait(entity, "completed", count)
    rows = _rows(
        entity,
        """select extract(epoch from max(e.finished_at) - min(e.created_at)) from workflows_execution e
           where e.entity_id = %s""",
    )
    busy = _rows(
        entity,
        "select sum(extract(epoch from a.finished_at - a.started_at)) from workflows_attempt a where a.entity_id = %s",
    )
    seconds, in_calls = float(rows[0][0]), float(busy[0][0])
    return (
        f"calls of {milliseconds} ms: {count} executions in {seconds:.2f} s: {count / seconds:,.0f} executions/s, "
        f"{in_calls / seconds:.1f} calls in flight"
    )


def run_replies(sandbox: Sandbox, *, count: int) -> str:
    """Milliseconds from the reply's arrival to the announcement of the next message, one reply at a time."""
    name = "bench-replies"
    entity, _ = _entity(sandbox, name, _document("Respuesta", ASK, {"key": "gracias", **SEND}), count)
    for number in range(count):
        inbound.receive_message(entity=entity, event=_event(number, "hola"))
    _wait(entity, "waiting_for_reply", count)
    for number in range(count):
        inbound.receive_message(entity=entity, event=_event(number, "si"))
        time.sleep(0.02)
    _wait(entity, "completed", count)
    rows = _rows(
        entity,
        """select percentile_cont(array[0.5, 0.99])
               within group (order by extract(epoch from a.started_at - m.received_at))
           from workflows_attempt a join workflows_frame f on f.id = a.frame_id and f.entity_id = a.entity_id
           join workflows_inboundmessage m on m.execution_id = f.execution_id and m.outcome = 'resumed'
           where a.entity_id = %s and a.seq > 0""",
    )
    half, most = (1000 * float(value) for value in rows[0][0])
    return f"reply to next message, {count} one by one: p50 {half:.1f} ms, p99 {most:.1f} ms"


def _event(number: int, text: str) -> dict[str, Any]:
    found = context(number)
    return {
        **found["message"],
        "message_id": f"{text}-{number}",
        "text": text,
        "sent_at": None,
        "reply_to": None,
        "extra": {},
        "contact": {**found["contact"], "id": f"c{number}"},
        "chat": {**found["chat"], "id": f"ch{number}"},
    }


def _wait(entity: Entity, status: str, count: int) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    found = 0
    while time.monotonic() < until:
        with tenancy.entity(entity.pk):
            found = Execution.objects.filter(entity_id=entity.pk, status=status).count()
        if found >= count:
            return
        time.sleep(0.1)
    raise SystemExit(f"only {found} of {count} executions are {status} after {LIMIT_SECONDS} s")


def _rows(entity: Entity, sql: str) -> list[tuple[Any, ...]]:
    with tenancy.entity(entity.pk), connection.cursor() as cursor:
        cursor.execute(sql, [entity.pk])
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found
