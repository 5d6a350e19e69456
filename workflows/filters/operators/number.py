"""Ordering of numbers; `between` orders dates too."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from typing import Any

from workflows.errors import N_
from workflows.filters.base import Operator, Test, operator_registry
from workflows.filters.refusal import ValueRefused
from workflows.filters.values import Instant, Moment, instant, ordered_number

_SERVES = ("number", "numeric text")


def _wanted_number(value: Any) -> Decimal | int:
    wanted = ordered_number(value)
    if wanted is None:
        raise ValueRefused("value_type", N_("The value must be a number."))
    return wanted


class _Ordering(Operator):
    value_shape = "number"
    serves = _SERVES
    help = N_("Numbers are compared as decimals; a numeric text counts as a number.")

    @abstractmethod
    def holds(self, found: Decimal | int, wanted: Decimal | int) -> bool:
        """Verdict on two numbers."""

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = _wanted_number(value)

        def test(found: Any, moment: Moment) -> bool:
            known = ordered_number(found)
            return known is not None and self.holds(known, wanted)

        return test


@operator_registry.register("greater_than")
class GreaterThan(_Ordering):
    """Above the value."""

    label = N_("is greater than")

    def holds(self, found: Decimal | int, wanted: Decimal | int) -> bool:
        """`found > wanted`."""
        return found > wanted


@operator_registry.register("greater_or_equal")
class GreaterOrEqual(_Ordering):
    """The value or above."""

    label = N_("is greater than or equal to")

    def holds(self, found: Decimal | int, wanted: Decimal | int) -> bool:
        """`found >= wanted`."""
        return found >= wanted


@operator_registry.register("less_than")
class LessThan(_Ordering):
    """Below the value."""

    label = N_("is less than")

    def holds(self, found: Decimal | int, wanted: Decimal | int) -> bool:
        """`found < wanted`."""
        return found < wanted


@operator_registry.register("less_or_equal")
class LessOrEqual(_Ordering):
    """The value or below."""

    label = N_("is less than or equal to")

    def holds(self, found: Decimal | int, wanted: Decimal | int) -> bool:
        """`found <= wanted`."""
        return found <= wanted


@operator_registry.register("between")
class Between(Operator):
    """Two numbers or two dates, both ends included; a bare date is the whole local day."""

    label = N_("is between")
    help = N_("Two numbers or two dates; both ends are included, a date without time as a whole day.")
    value_shape = "pair"
    serves = (*_SERVES, "date")

    def prepare(self, value: Any, exact: bool) -> Test:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueRefused("value_type", N_("The value must be a list of two numbers or two dates."))
        numbers = [ordered_number(end) for end in value]
        low, high = numbers
        if low is not None and high is not None:
            return _between_numbers(low, high)
        first, last = instant(value[0]), instant(value[1])
        if first is not None and last is not None:
            return _between_dates(first, last)
        at = next((at for at, end in enumerate(value) if numbers[at] is None and instant(end) is None), 1)
        raise ValueRefused("value_type", N_("The two ends must be two numbers or two dates."), (at,))


def _between_numbers(low: Decimal | int, high: Decimal | int) -> Test:
    if low > high:
        raise ValueRefused("value_order", N_("The first end must not be after the second."))

    def test(found: Any, moment: Moment) -> bool:
        known = ordered_number(found)
        return known is not None and low <= known <= high

    return test


def _between_dates(first: Instant, last: Instant) -> Test:
    if _reversed(first, last):
        raise ValueRefused("value_order", N_("The first end must not be after the second."))

    def test(found: Any, moment: Moment) -> bool:
        known = instant(found)
        span = known.span(moment.zone) if known is not None else None
        low, high = first.span(moment.zone), last.span(moment.zone)
        return span is not None and low is not None and high is not None and low[0] <= span[0] <= high[1]

    return test


def _reversed(first: Instant, last: Instant) -> bool:
    """Certainly reversed; ends of which one is bare can only be told apart in the entity's zone."""
    if (first.written.tzinfo is None) != (last.written.tzinfo is None):
        return False
    if last.whole_day:
        return first.written.date() > last.written.date()
    return first.written > last.written
