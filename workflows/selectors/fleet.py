"""The platform's readings for Prometheus: all entities together, nobody's data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection

from workflows import tenancy
from workflows.models import MessageOutcome

HOUR_MS = 3_600_000
PAUSED = ("waiting_for_reply", "delayed", "pending_approval", "queued_wait_conflict", "paused_error")

_RUNNING = """
select count(*), count(*) filter (where lease_until < clock_timestamp()) from workflows_frame where status = 'running'
"""
_BY_STATUS = """
select status, count(*) from workflows_execution where status not in ('running', 'completed') group by status
"""
_DUE = """
select count(*), coalesce(extract(epoch from boostflow_now() - min(due_at)), 0)::float8
from workflows_timer where due_at <= boostflow_now()
"""
_RECEIVED = "select outcome, count(*) from workflows_inboundmessage where id >= %s group by outcome"


@dataclass(frozen=True, slots=True)
class Gauge:
    """One reading."""

    name: str
    help: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


def fleet_gauges() -> list[Gauge]:
    """Executions that have not ended, frames that nobody works on, timers that are late, messages of the last hour."""
    return list(_read())


def _read() -> Iterator[Gauge]:
    with tenancy.fleet("metrics"), connection.cursor() as cursor:
        cursor.execute(_RUNNING)
        running, stuck = cursor.fetchone()
        cursor.execute(_BY_STATUS)
        paused = dict(cursor.fetchall())
        cursor.execute(_DUE)
        due, oldest = cursor.fetchone()
        cursor.execute(_RECEIVED, [_first_id_since(time.time_ns() // 1_000_000 - HOUR_MS)])
        received = dict(cursor.fetchall())
    for status, count in {"running": running, **{status: paused.get(status, 0) for status in PAUSED}}.items():
        yield Gauge(
            "boostflow_executions", "Executions that have not ended, by status.", count, {"status": status}
        )
    yield Gauge("boostflow_frames_stuck", "Running frames whose lease has passed.", stuck)
    yield Gauge("boostflow_timers_due", "Timers that are due and have not fired.", due)
    yield Gauge(
        "boostflow_timer_oldest_due_seconds", "Seconds by which the oldest due timer is late.", oldest
    )
    for outcome in MessageOutcome.values:
        yield Gauge(
            "boostflow_inbound_messages_last_hour",
            "Messages received within the last hour, by outcome.",
            received.get(outcome, 0),
            {"outcome": outcome},
        )


def _first_id_since(milliseconds: int) -> UUID:
    """The lowest id that a row of this instant can have: ids sort by time, so the primary key serves as index."""
    return UUID(int=milliseconds << 80)
