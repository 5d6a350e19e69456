"""Reads of executions; lists never load contexts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet

from workflows import context as contexts
from workflows.errors import NotFound
from workflows.models import Action, Execution, Frame, StepRun, Wait
from workflows.selectors.paging import Page, Position, Row, read_page

COLUMNS = (
    "id",
    "kind",
    "workflow_id",
    "contact_id",
    "chat_id",
    "trigger_type",
    "status",
    "reason",
    "state_version",
    "created_at",
    "status_at",
    "finished_at",
)
WAIT_COLUMNS = ("kind", "state", "step_key", "action_key", "created_at", "armed_at", "deadline")
ALIVE = ("queued", "reserved", "open")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """What a list of executions is narrowed to; None: not by this. The range includes its start and not its end."""

    status: str | None = None
    workflow_id: UUID | None = None
    contact_id: str | None = None
    reason: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


def list_executions(*, entity_id: int, wanted: ExecutionFilter, after: Position | None, limit: int) -> Page:
    """Executions, newest first."""
    lookups = {
        "status": wanted.status,
        "workflow_id": wanted.workflow_id,
        "contact_id": wanted.contact_id,
        "reason": wanted.reason,
        "created_at__gte": wanted.created_from,
        "created_at__lt": wanted.created_to,
    }
    chosen = {name: value for name, value in lookups.items() if value is not None}
    rows = _rows(entity_id).filter(**chosen)
    return read_page(rows, by="created_at", tie="id", descending=True, after=after, limit=limit)


def find_execution(*, entity_id: int, execution_id: UUID) -> Row:
    """One execution with `error`, `trigger_message_id`, its `position` and its `wait`; NotFound."""
    found = _rows(entity_id, "error", "trigger_message_id", "version_id").filter(pk=execution_id).first()
    if found is None:
        raise NotFound
    frame = _root(entity_id, execution_id)
    found["position"] = _position(entity_id, found["version_id"], frame)
    found["wait"] = (
        Wait.objects.filter(entity_id=entity_id, frame_id=frame["id"], state__in=ALIVE)
        .values(*WAIT_COLUMNS)
        .first()
        if frame
        else None
    )
    return found


def read_context(*, entity_id: int, execution_id: UUID) -> dict[str, Any]:
    """The context as it stands: what was written at the last pause and the outputs since (G4); NotFound."""
    row = (
        Execution.objects.filter(entity_id=entity_id, pk=execution_id)
        .values("context", "context_seq", "version_id", "workflow_id", number=F("version__number"))
        .first()
    )
    if row is None:
        raise NotFound
    frame = _root(entity_id, execution_id)
    if frame is None:
        return dict(row["context"])
    context = contexts.open_context(row["context"])
    runs = (
        StepRun.objects.filter(
            entity_id=entity_id,
            frame_id=frame["id"],
            seq__gte=row["context_seq"],
            status__in=["done", "waiting"],
            output__isnull=False,
        )
        .order_by("seq")
        .values_list("step_key", "action_key", "type", "output")
    )
    keys = _output_keys(entity_id, row["version_id"]) if runs else {}
    for step, action, kind, output in runs:
        key = keys.get((step, action), action)
        context = contexts.add_output(context, kind.partition(".")[0], key, output)
    workflow = {"id": str(row["workflow_id"]), "version": row["number"], "step_visits": frame["visits"]}
    return {**context.document, "workflow": workflow}


def _rows(entity_id: int, *more: str) -> QuerySet[Any, Row]:
    return Execution.objects.filter(entity_id=entity_id).values(
        *COLUMNS, *more, workflow_name=F("workflow__name"), version_number=F("version__number")
    )


def _root(entity_id: int, execution_id: UUID) -> Row | None:
    found: Row | None = (
        Frame.objects.filter(entity_id=entity_id, execution_id=execution_id, parent__isnull=True)
        .values("id", "step", "action", "visits", "status", "lease_until")
        .first()
    )
    return found


def _position(entity_id: int, version_id: int, frame: Row | None) -> Row | None:
    """Keys of the action that the frame points at; its pointers count from 0, the rows from 1."""
    if frame is None:
        return None
    found: Row | None = (
        Action.objects.filter(
            entity_id=entity_id,
            step__version_id=version_id,
            step__position=frame["step"] + 1,
            position=frame["action"] + 1,
        )
        .values("type", step_key=F("step__key"), action_key=F("key"))
        .first()
    )
    return found and {**found, "visits": frame["visits"]}


def _output_keys(entity_id: int, version_id: int) -> dict[tuple[str, str], str]:
    """Where an action's output goes under its category, for actions that name it (decision 20)."""
    actions = Action.objects.filter(
        entity_id=entity_id, step__version_id=version_id, config__has_key="output_key"
    ).values_list("step__key", "key", "config__output_key")
    return {(step, key): name for step, key, name in actions}
