"""Reading numbers, instants and clock times out of JSON values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d(?P<time>[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_CLOCK = re.compile(r"\d\d:\d\d", re.ASCII)
_CLOCK_FOUND = re.compile(r"\d\d:\d\d(?::\d\d)?", re.ASCII)
_LONGEST_NUMBER = 64


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where a filter is evaluated: an aware instant and the entity's zone."""

    now: datetime
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Instant:
    """An ISO 8601 date or date-time as written; a bare one takes the entity's zone when it is compared."""

    written: datetime
    whole_day: bool

    def span(self, zone: ZoneInfo) -> tuple[datetime, datetime] | None:
        """First and last instant in UTC: one point, or a whole local day. None outside the calendar."""
        try:
            first = _utc(self.written, zone)
            if not self.whole_day:
                return first, first
            return first, _utc(self.written + timedelta(days=1), zone) - timedelta(microseconds=1)
        except (OverflowError, ValueError):
            return None

    def local(self, zone: ZoneInfo) -> datetime | None:
        """Wall time in the zone."""
        if self.written.tzinfo is None:
            return self.written
        try:
            return self.written.astimezone(zone)
        except (OverflowError, ValueError):
            return None


def number(value: Any) -> Decimal | int | None:
    """A JSON number, compared as a decimal; never a boolean, never text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        value = Decimal(repr(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None


def ordered_number(value: Any) -> Decimal | int | None:
    """Like `number`, and a numeric text counts too."""
    if isinstance(value, str):
        text = value.strip()
        return Decimal(text) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else None
    return number(value)


def instant(value: Any) -> Instant | None:
    """A date `2026-01-05` or a date-time `2026-01-05T10:00`, with or without an offset."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    try:
        return Instant(datetime.fromisoformat(text), whole_day=match["time"] is None)
    except ValueError:
        return None


def clock(value: Any) -> time | None:
    """A wall-clock time as a filter writes it, `HH:MM`."""
    return _time(value) if isinstance(value, str) and _CLOCK.fullmatch(value) else None


def clock_in(value: Any, zone: ZoneInfo) -> time | None:
    """The wall-clock time that a found value shows in the zone; a bare date shows none."""
    if isinstance(value, str) and _CLOCK_FOUND.fullmatch(value.strip()):
        return _time(value.strip())
    found = instant(value)
    if found is None or found.whole_day:
        return None
    local = found.local(zone)
    return None if local is None else local.time()


def _time(text: str) -> time | None:
    try:
        return time.fromisoformat(text)
    except ValueError:
        return None


def _utc(written: datetime, zone: ZoneInfo) -> datetime:
    aware = written if written.tzinfo is not None else written.replace(tzinfo=zone)
    return aware.astimezone(UTC)
