"""The clock of waits, delays, schedules and ages: PostgreSQL's, plus an offset that demo and tests may set.

Leases, back-off and permits use the database's real time instead (`clock_timestamp()`).
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def now() -> datetime:
    """The start of the present transaction, moved by the offset row."""
    with connection.cursor() as cursor:
        cursor.execute("select boostflow_now()")
        moment: datetime = cursor.fetchone()[0]
        return moment
