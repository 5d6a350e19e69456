"""`flow.delay`: pause for a duration or until an instant, at most 30 days (A6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationInfo, field_validator, model_validator

from workflows.contracts import (
    N_,
    ActionType,
    Call,
    Config,
    Delay,
    DelayLength,
    Outcome,
    Templated,
    action_registry,
    instant_at,
    next_at,
    refusal,
)
from workflows.errors import PermanentFailure

LONGEST = timedelta(days=30)
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def parse_until(text: str) -> time | datetime:
    """`08:00`, a local `2026-12-24T08:00` (naive) or an RFC 3339 instant (aware); ValueError otherwise."""
    if _CLOCK.fullmatch(text):
        return time.fromisoformat(text)
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text.upper())


def resolve_until(text: str, days: frozenset[str], now: datetime, zone: ZoneInfo) -> datetime:
    """The instant that `until` means: a clock time is the next such instant after `now` on one of `days`.

    OverflowError outside the calendar.
    """
    parsed = parse_until(text)
    if isinstance(parsed, time):
        return next_at(parsed, zone, now, days)
    return instant_at(parsed, zone) if parsed.tzinfo is None else parsed.astimezone(UTC)


class DelayConfig(Config):
    """Exactly one of `duration` and `until`; `days` belong to an `until` that is a clock time."""

    duration: DelayLength | None = None
    days: Annotated[frozenset[Weekday], Field(min_length=1)] | None = None
    until: Annotated[str | None, Templated()] = None

    @field_validator("until")
    @classmethod
    def _check_until(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None or "{{" in value or "{%" in value:
            return value
        try:
            parsed = parse_until(value)
        except ValueError:
            raise refusal(
                "until_format",
                N_("until is 08:00, a local time such as 2026-12-24T08:00 or an RFC 3339 instant."),
            ) from None
        if isinstance(parsed, datetime) and info.data.get("days"):
            raise refusal("days_without_clock", N_("days belong to an until that is a time such as 08:00."))
        if _too_far(value, info.context):
            raise refusal("delay_too_long", N_("The delay is longer than 30 days."), "A6")
        return value

    @model_validator(mode="after")
    def _exactly_one(self) -> DelayConfig:
        if (self.duration is None) == (self.until is None):
            raise refusal("delay_form", N_("A delay has either duration or until, and not both."))
        if self.days is not None and self.until is None:
            raise refusal("days_without_clock", N_("days belong to an until that is a time such as 08:00."))
        return self


def _too_far(text: str, context: Any) -> bool:
    """Whether a literal lies more than 30 days ahead; only a save that brings `now` and `zone` can tell."""
    if not isinstance(context, Mapping) or not context.get("now") or not context.get("zone"):
        return False
    now: datetime = context["now"]
    try:
        return resolve_until(text, frozenset(), now, context["zone"]) - now > LONGEST
    except OverflowError:
        return True


@action_registry.register("flow.delay")
class DelayAction(ActionType[DelayConfig]):
    """A pause inside the step (S6)."""

    label = N_("Delay")
    help = N_("Pauses for a time or until a moment, at most 30 days.")
    config = DelayConfig
    delays = True

    def run(self, call: Call, config: DelayConfig) -> Outcome:
        if config.until is None:
            return Delay(call.now + (config.duration or timedelta(0)))
        try:
            until = resolve_until(config.until, config.days or frozenset(), call.now, call.zone)
        except OverflowError:
            until = None
        if until is None or until - call.now > LONGEST:
            raise PermanentFailure(
                N_("The delay is longer than 30 days."), reason="delay_too_long", until=config.until
            )
        return Delay(until)
