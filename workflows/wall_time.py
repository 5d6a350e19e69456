"""Local wall time to instants: a time that does not exist or occurs twice has one answer (decision 18)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

LONGEST_SEARCH = 16
"""Days: a weekday may be missing once, where a zone skipped a whole day."""

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def instant_at(local: datetime, zone: ZoneInfo) -> datetime:
    """The UTC instant of a naive local time: in a gap the first valid instant after, of two the first.

    OverflowError outside the calendar.
    """
    before, after = (zone.utcoffset(local.replace(fold=fold)) or timedelta(0) for fold in (0, 1))
    if after <= before:
        return (local - before).replace(tzinfo=UTC)
    return _first_instant_with(
        after, (local - after).replace(tzinfo=UTC), (local - before).replace(tzinfo=UTC), zone
    )


def next_at(clock: time, zone: ZoneInfo, now: datetime, days: frozenset[str] = frozenset()) -> datetime:
    """The first instant strictly after `now` at a local time, on the named weekdays (none named: on any)."""
    today = now.astimezone(zone).date()
    for ahead in range(-1, LONGEST_SEARCH):
        day = today + timedelta(days=ahead)
        if days and WEEKDAYS[day.weekday()] not in days:
            continue
        instant = instant_at(datetime.combine(day, clock), zone)
        if instant > now and instant.astimezone(zone).date() == day:
            return instant
    raise ValueError(f"no {clock} within {LONGEST_SEARCH} days of {now}")


def _first_instant_with(offset: timedelta, low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The change to `offset`, found between an instant before it and one not before it, to the second."""
    seconds = int((high - low).total_seconds())
    lowest, highest = 0, seconds
    while highest - lowest > 1:
        middle = (lowest + highest) // 2
        if (low + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset:
            highest = middle
        else:
            lowest = middle
    return low + timedelta(seconds=highest)
