"""An execution's history as rows: step runs, waits as spans, and events, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workflows.admin import badges
from workflows.admin.tree import tree
from workflows.admin.wording import actor_text, duration, event_text
from workflows.models import Event, Execution, StepRun, StepRunStatus, Wait, WaitKind, WaitState

SHOWN = 500
"""Rows of each kind, the latest ones: a page must stay readable, whatever an execution did."""

NARROWEST = 0.3
"""Percent: what took no time is drawn all the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the timeline; `left` and `width` are percentages of the whole execution."""

    kind: str
    order: tuple[datetime, int, int]
    at: datetime
    until: datetime | None
    title: str
    subtitle: str
    badge: str
    colour: str
    took: str
    parts: tuple[tuple[str, Any], ...]
    left: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Span:
    """The whole execution, on which rows are drawn."""

    start: datetime
    end: datetime

    def place(self, at: datetime, until: datetime) -> tuple[float, float]:
        """Where a piece begins and how wide it is, in percent, inside 0 to 100."""
        whole = (self.end - self.start).total_seconds()
        if whole <= 0:
            return 0.0, 100.0
        left = min(max((at - self.start).total_seconds() / whole * 100, 0.0), 100.0)
        right = min(max((until - self.start).total_seconds() / whole * 100, left), 100.0)
        width = max(right - left, NARROWEST)
        return round(min(left, 100.0 - width), 2), round(width, 2)


def timeline(execution: Execution, *, now: datetime) -> list[Row]:
    """All rows in order."""
    scope = {"entity_id": execution.entity_id}
    runs = StepRun.objects.filter(**scope, frame__execution_id=execution.pk).order_by("-id")[:SHOWN]
    waits = Wait.objects.filter(**scope, frame__execution_id=execution.pk).order_by("-created_at")[:SHOWN]
    events = Event.objects.filter(**scope, execution_id=execution.pk).order_by("-id")[:SHOWN]
    span = Span(execution.created_at, execution.finished_at or max(now, execution.created_at))
    rows = [
        *(_run(run, span, now) for run in runs),
        *(_wait(wait, span, now) for wait in waits),
        *(_event(event, span) for event in events),
    ]
    return sorted(rows, key=lambda row: row.order)


def _run(run: StepRun, span: Span, now: datetime) -> Row:
    until = run.finished_at or now
    left, width = span.place(run.started_at, until)
    parts = [
        (name, value)
        for name, value in (("input", run.input), ("output", run.output), ("error", run.error))
        if value
    ]
    return Row(
        kind="run",
        order=(run.started_at, 1, run.seq),
        at=run.started_at,
        until=run.finished_at,
        title=f"{run.step_key} · {run.action_key}",
        subtitle=run.type,
        badge=str(StepRunStatus(run.status).label),
        colour=badges.RUN[run.status],
        took=duration((until - run.started_at).total_seconds()) if run.status != "waiting" else "",
        parts=tuple((name, tree(value, opened=2)) for name, value in parts),
        left=left,
        width=width,
    )


def _wait(wait: Wait, span: Span, now: datetime) -> Row:
    ended = wait.resolved_at or (
        now if wait.state in ("queued", "reserved", "open") else wait.deadline or now
    )
    left, width = span.place(wait.created_at, ended)
    return Row(
        kind="wait",
        order=(wait.created_at, 2, wait.seq),
        at=wait.created_at,
        until=wait.deadline,
        title=str(WaitKind(wait.kind).label),
        subtitle=f"{wait.step_key} · {wait.action_key}",
        badge=str(WaitState(wait.state).label),
        colour=badges.WAIT[wait.state],
        took=duration(max((ended - wait.created_at).total_seconds(), 0.0)),
        parts=(),
        left=left,
        width=width,
    )


def _event(event: Event, span: Span) -> Row:
    left, _width = span.place(event.at, event.at)
    return Row(
        kind="event",
        order=(event.at, 0 if event.kind in ("started", "resumed") else 3, event.pk),
        at=event.at,
        until=None,
        title=event_text(event.kind, event.data),
        subtitle=actor_text(event.actor),
        badge="",
        colour=badges.STATUS.get(event.status, "default"),
        took="",
        parts=(),
        left=left,
        width=0.0,
    )
