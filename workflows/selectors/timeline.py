"""What happened in one execution, in the order of time: events, step runs, attempts, waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from workflows.errors import NotFound
from workflows.models import Attempt, Event, Execution, Frame, StepRun, Wait
from workflows.selectors.paging import Page, Row

Place = tuple[datetime, str, str]
"""Instant, kind and id of the last item that was seen: the position of a page."""


def _events(entity_id: int, execution_id: UUID, frames: list[UUID]) -> QuerySet[Any, Row]:
    return Event.objects.filter(entity_id=entity_id, execution_id=execution_id).values(
        "id", "at", "kind", "status", "reason", "actor", "data"
    )


def _step_runs(entity_id: int, execution_id: UUID, frames: list[UUID]) -> QuerySet[Any, Row]:
    return StepRun.objects.filter(entity_id=entity_id, frame_id__in=frames).values(
        "id", "seq", "step_key", "action_key", "visit", "type", "status", "retry", "attempts", "input", "output",
        "error", "started_at", "finished_at",
    )  # fmt: skip


def _attempts(entity_id: int, execution_id: UUID, frames: list[UUID]) -> QuerySet[Any, Row]:
    return Attempt.objects.filter(entity_id=entity_id, frame_id__in=frames).values(
        "id", "seq", "number", "idempotency_key", "error", "started_at", "finished_at"
    )


def _waits(entity_id: int, execution_id: UUID, frames: list[UUID]) -> QuerySet[Any, Row]:
    return Wait.objects.filter(entity_id=entity_id, frame_id__in=frames).values(
        "id", "seq", "kind", "state", "step_key", "action_key", "created_at", "armed_at", "deadline", "resolved_at",
        "resolution",
    )  # fmt: skip


Source = Callable[[int, UUID, list[UUID]], QuerySet[Any, Row]]
SOURCES: dict[str, tuple[Source, str, type]] = {
    "attempt": (_attempts, "started_at", int),
    "event": (_events, "at", int),
    "step_run": (_step_runs, "started_at", int),
    "wait": (_waits, "created_at", UUID),
}
"""By kind, in the order of items of one instant: the rows, the column of their time, the type of their id."""


def read_timeline(*, entity_id: int, execution_id: UUID, after: Place | None, limit: int) -> Page:
    """One page of items, oldest first, each `{item, at, ...}` with the columns of its kind; NotFound."""
    if not Execution.objects.filter(entity_id=entity_id, pk=execution_id).exists():
        raise NotFound
    frames = list(
        Frame.objects.filter(entity_id=entity_id, execution_id=execution_id).values_list("pk", flat=True)
    )
    items: list[Row] = []
    for kind, (source, column, id_type) in SOURCES.items():
        rows = source(entity_id, execution_id, frames)
        if after is not None:
            rows = rows.filter(_later(kind, column, id_type, after))
        items += [
            {"item": kind, **row, "at": row[column]} for row in rows.order_by(column, "id")[: limit + 1]
        ]
    items.sort(key=lambda item: (item["at"], item["item"], item["id"]))
    page = items[:limit]
    last = page[-1] if len(items) > limit else None
    return Page(page, None if last is None else (last["at"], last["item"], str(last["id"])))


def _later(kind: str, column: str, id_type: type, after: Place) -> Q:
    at, seen_kind, seen_id = after
    later = Q(**{f"{column}__gt": at})
    if kind > seen_kind:
        return later | Q(**{column: at})
    if kind == seen_kind:
        return later | Q(**{column: at, "id__gt": id_type(seen_id)})
    return later
