"""Operators on ISO 8601 dates; bare ones are whole days, or wall time, in the entity's zone."""

from __future__ import annotations

from abc import abstractmethod
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import PydanticCustomError

from workflows.contracts import parse_duration
from workflows.errors import N_
from workflows.filters.base import Operator, Test, operator_registry, wanted_list
from workflows.filters.refusal import ValueRefused
from workflows.filters.values import Instant, Moment, clock, clock_in, instant

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Span = tuple[datetime, datetime]


def _wanted_instant(value: Any) -> Instant:
    wanted = instant(value)
    if wanted is None:
        raise ValueRefused("value_type", N_("The value must be an ISO 8601 date, with or without a time."))
    return wanted


def _span(found: Any, moment: Moment) -> Span | None:
    known = instant(found)
    return None if known is None else known.span(moment.zone)


@operator_registry.register("before")
class Before(Operator):
    """Begins earlier than the value does."""

    label = N_("is before")
    help = N_("A date without time is the whole day, in the entity's time zone.")
    value_shape = "instant"
    serves = ("date",)

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = _wanted_instant(value)

        def test(found: Any, moment: Moment) -> bool:
            span, limit = _span(found, moment), wanted.span(moment.zone)
            return span is not None and limit is not None and span[0] < limit[0]

        return test


@operator_registry.register("after")
class After(Operator):
    """Begins later than the value ends: after a bare date is from the next day on."""

    label = N_("is after")
    help = N_("After a date without time means from the next day on, in the entity's time zone.")
    value_shape = "instant"
    serves = ("date",)

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = _wanted_instant(value)

        def test(found: Any, moment: Moment) -> bool:
            span, limit = _span(found, moment), wanted.span(moment.zone)
            return span is not None and limit is not None and span[0] > limit[1]

        return test


class _Within(Operator):
    value_shape = "duration"
    serves = ("date",)

    @abstractmethod
    def window(self, now: datetime, length: timedelta) -> Span:
        """First and last instant that count."""

    def prepare(self, value: Any, exact: bool) -> Test:
        length = _wanted_duration(value)

        def test(found: Any, moment: Moment) -> bool:
            span = _span(found, moment)
            if span is None:
                return False
            first, last = self.window(moment.now.astimezone(UTC), length)
            return span[0] <= last and span[1] >= first

        return test


@operator_registry.register("within_last")
class WithinLast(_Within):
    """Between now and so long ago."""

    label = N_("is within the last")
    help = N_("An ISO 8601 duration such as P7D or PT2H, back from now; both ends are included.")

    def window(self, now: datetime, length: timedelta) -> Span:
        return now - length, now


@operator_registry.register("within_next")
class WithinNext(_Within):
    """Between now and so far ahead."""

    label = N_("is within the next")
    help = N_("An ISO 8601 duration such as P7D or PT2H, ahead of now; both ends are included.")

    def window(self, now: datetime, length: timedelta) -> Span:
        return now, now + length


def _wanted_duration(value: Any) -> timedelta:
    try:
        length = parse_duration(value) if isinstance(value, str) else None
    except PydanticCustomError:
        length = None
    if length is None or not timedelta(0) < length <= timedelta(days=36525):
        raise ValueRefused("value_type", N_("The value must be an ISO 8601 duration, such as P7D or PT2H."))
    return length


@operator_registry.register("time_between")
class TimeBetween(Operator):
    """Wall-clock time in the entity's zone; the end is exclusive and may lie past midnight."""

    label = N_("is at a time between")
    help = N_("Two times HH:MM in the entity's time zone; the end is not included and may be past midnight.")
    value_shape = "times"
    serves = ("date", "time")

    def prepare(self, value: Any, exact: bool) -> Test:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueRefused("value_type", N_("The value must be a list of two times HH:MM."))
        start, end = clock(value[0]), clock(value[1])
        if start is None or end is None:
            at = 0 if start is None else 1
            raise ValueRefused("value_type", N_("The value must be a time HH:MM."), (at,))
        if start == end:
            raise ValueRefused("value_order", N_("The two times must differ."))

        def test(found: Any, moment: Moment) -> bool:
            at = clock_in(found, moment.zone)
            if at is None:
                return False
            return start <= at < end if start < end else at >= start or at < end

        return test


@operator_registry.register("weekday_in")
class WeekdayIn(Operator):
    """Day of the week in the entity's zone."""

    label = N_("is on one of the days")
    help = N_("Days of the week in the entity's time zone: mon, tue, wed, thu, fri, sat, sun.")
    value_shape = "weekdays"
    serves = ("date",)

    def prepare(self, value: Any, exact: bool) -> Test:
        days = wanted_list(value)
        for at, day in enumerate(days):
            if day not in WEEKDAYS:
                raise ValueRefused(
                    "value_type", N_("The day must be one of mon, tue, wed, thu, fri, sat, sun."), (at,)
                )
        wanted = frozenset(WEEKDAYS.index(day) for day in days)

        def test(found: Any, moment: Moment) -> bool:
            known = instant(found)
            local = known.local(moment.zone) if known is not None else None
            return local is not None and local.weekday() in wanted

        return test
