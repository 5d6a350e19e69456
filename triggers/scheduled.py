"""`scheduled`: at local times of the entity, one execution or one for each contact of an audience (T5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from cronsim import CronSim, CronSimError
from pydantic import Field, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema

from workflows.contracts import N_, Config, Duration, Refusal, TriggerType, refusal, trigger_registry

Scalar = str | int | float | bool | None
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CRON_FIELDS = 5
ZONE_FIELDS = ("timezone", "time_zone", "tz", "zone")


class Audience(Config):
    """The contacts that the CRM's contact search returns, at most `limit`.

    `filters` are names and values that it understands, such as `{"tags": ["vip"], "seller_id": "u-3"}`.
    """

    filters: Annotated[dict[str, Scalar | list[Scalar]], Field(min_length=1, max_length=20)]
    limit: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 10_000


class ScheduledConfig(Config):
    """`time` with optional `days` or `day_of_month`, or `cron`; in the entity's time zone (decision 17)."""

    cron: Annotated[str, Field(max_length=200)] | None = None
    days: Annotated[list[Weekday], Field(min_length=1, max_length=7)] | None = None
    day_of_month: Annotated[int, Field(strict=True, ge=1, le=31)] | Literal["last"] | None = None
    time: str | None = Field(default=None, validate_default=True)
    audience: Audience | None = None
    channel: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    grace: Annotated[timedelta, Duration(timedelta(0), timedelta(days=7))] = timedelta(hours=1)
    overlap: Literal["skip", "allow"] = "skip"
    timezone: SkipJsonSchema[Any] = None
    time_zone: SkipJsonSchema[Any] = None
    tz: SkipJsonSchema[Any] = None
    zone: SkipJsonSchema[Any] = None

    @field_validator(*ZONE_FIELDS)
    @classmethod
    def _no_zone(cls, value: Any, info: ValidationInfo) -> Any:
        raise refusal(
            "timezone_named",
            N_("A schedule always uses the entity's time zone: leave {name} out."),
            "T5",
            name=info.field_name,
        )

    @field_validator("cron")
    @classmethod
    def _check_cron(cls, value: str | None) -> str | None:
        if value is not None and not _cron_occurs(value):
            raise refusal(
                "cron", N_("The cron expression is wrong or never occurs: {cron}"), "T5", cron=value
            )
        return value

    @field_validator("day_of_month", mode="before")
    @classmethod
    def _check_day_of_month(cls, value: Any, info: ValidationInfo) -> Any:
        if value not in (None, "last") and not (type(value) is int and 1 <= value <= 31):
            raise refusal("day_of_month", N_("The day of the month is a number from 1 to 31, or last."))
        if value is not None and info.data.get("days") is not None:
            raise refusal("schedule_days", N_("A schedule has days or day_of_month, and not both."))
        return value

    @field_validator("time")
    @classmethod
    def _check_time(cls, value: str | None, info: ValidationInfo) -> str | None:
        timed = value is not None
        if not timed and info.data.get("cron", "") is None:
            raise refusal("time_missing", N_("A schedule names the local time at which it runs."), "T5")
        by_cron = info.data.get("cron") is not None
        if by_cron and (timed or info.data.get("days") or info.data.get("day_of_month")):
            raise refusal("schedule_form", N_("A schedule has time or cron, and not both."), "T5")
        if value is not None and not _is_clock(value):
            raise refusal("time_format", N_("A time is written as 08:00, from 00:00 to 23:59."), "T5")
        return value


def _is_clock(text: str) -> bool:
    hours, colon, minutes = text.partition(":")
    shaped = text.isascii() and colon and len(hours) == len(minutes) == 2 and (hours + minutes).isdigit()
    return bool(shaped) and int(hours) < 24 and int(minutes) < 60


def _cron_occurs(text: str) -> bool:
    if len(text.split()) != CRON_FIELDS:
        return False
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration):
        return False
    return True


@trigger_registry.register("scheduled")
class ScheduledTrigger(TriggerType[ScheduledConfig]):
    """Sees one occurrence: `{occurrence_at, contact?, chat?}`."""

    label = N_("Schedule")
    help = N_("Starts at local times of the entity, for each contact of an audience or once.")
    config = ScheduledConfig
    has_contact = True
    publishable = False

    def contactless(self, config: ScheduledConfig) -> bool:
        return config.audience is None

    def detect(self, event: Mapping[str, Any], config: ScheduledConfig) -> Mapping[str, Any] | Refusal:
        context: dict[str, Any] = {
            "trigger": {"type": self.kind, "occurrence_at": event.get("occurrence_at")}
        }
        return context | {name: event[name] for name in ("contact", "chat") if event.get(name)}
