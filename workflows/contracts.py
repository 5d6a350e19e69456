"""All that a plug-in may see of the core: action and trigger types, outcomes, config markers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, LiteralString, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from workflows.errors import N_
from workflows.registry import Registry, import_submodules
from workflows.wall_time import WEEKDAYS, instant_at, next_at

if TYPE_CHECKING:
    from workflows.ports import Auth, Services

CATEGORIES = ("comms", "flow", "crm", "notification", "zauru")
"""The five categories of actions; there is no sixth (A1)."""


WRITTEN_KINDS = frozenset({"text", "media", "audio", "location", "button", "list", "template_reply"})
"""The kinds of message that a person writes (decision 7)."""


class Effect(StrEnum):
    """What a repeat of the action would do outside (decision 13)."""

    NONE = "none"
    READ = "read"
    IDEMPOTENT = "idempotent"
    AT_MOST_ONCE = "at_most_once"


class Queue(StrEnum):
    """Where a turn with this action may run."""

    MAIN = "main"
    ZAURU = "zauru"


class Config(BaseModel):
    """Base of config models: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Output(BaseModel):
    """Base of output models: what an action adds to the context (A8)."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def refusal(
    code: LiteralString, sentence: LiteralString, rule: str | None = None, **values: Any
) -> PydanticCustomError:
    """What a validator of a config model raises: `sentence` is a msgid with named places for `values`."""
    return PydanticCustomError(code, sentence, {**values, "rule": rule, "msgid": sentence})


@dataclass(frozen=True, slots=True)
class Templated:
    """Marks a config field whose text may hold Liquid; only these are rendered.

    While a definition is saved (validation context `{"templates": True}`) a text with a template is taken as it
    is, after its syntax was checked by the context's `check_template`; when the action runs, the rendered value is
    validated by the field's own type.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: Any, inner: Any, info: ValidationInfo) -> Any:
            context: Mapping[str, Any] = info.context if isinstance(info.context, Mapping) else {}
            texts = _texts_with_template(value) if context.get("templates") else []
            if not texts:
                return inner(value)
            for text in texts:
                problem = context["check_template"](text) if "check_template" in context else None
                if problem:
                    raise refusal("template_syntax", N_("The template is wrong: {problem}"), problem=problem)
            return value if isinstance(value, str) else inner(value)

        return core_schema.with_info_wrap_validator_function(check, handler(source))


def _texts_with_template(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if "{{" in value or "{%" in value else []
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts_with_template(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts_with_template(item)]
    return []


@dataclass(frozen=True, slots=True)
class StepRef:
    """Marks a config field that names a step of the same workflow (F2): an unknown one is refused on save."""


StepKey = Annotated[str, StepRef()]


@dataclass(frozen=True, slots=True)
class Rule:
    """Marks the rule that a field's errors break, a missing field included."""

    rule: str


OutputKey = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$"), Rule("A8")]
"""Where an action's output goes below its category; every `zauru.*` config has a required `output_key` (A8)."""

_DURATION = re.compile(
    r"P(?=.)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?"
)


def parse_duration(text: Any) -> timedelta:
    """ISO 8601 with weeks, days (24 h), hours, minutes, seconds; months and years have no fixed length."""
    if isinstance(text, timedelta):
        return text
    found = _DURATION.fullmatch(text) if isinstance(text, str) and len(text) <= 40 else None
    if found is None:
        raise refusal(
            "duration_format",
            N_("A duration is ISO 8601 with weeks, days, hours, minutes or seconds, as PT24H or P3D."),
        )
    try:
        return timedelta(**{unit: int(number) for unit, number in found.groupdict().items() if number})
    except OverflowError:
        raise refusal("duration_range", N_("The duration is too long.")) from None


@dataclass(frozen=True, slots=True)
class Duration:
    """Marks a timedelta given as an ISO 8601 text, inclusive bounds, and the rule that sets them."""

    minimum: timedelta = timedelta(0)
    maximum: timedelta = timedelta(days=3660)
    rule: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: Any) -> timedelta:
            length = parse_duration(value)
            if not self.minimum <= length <= self.maximum:
                raise refusal(
                    "duration_range",
                    N_("The duration must be at least {minimum} and at most {maximum}."),
                    self.rule,
                    minimum=format_duration(self.minimum),
                    maximum=format_duration(self.maximum),
                )
            return length

        return core_schema.no_info_plain_validator_function(
            check,
            json_schema_input_schema=core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(format_duration),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"type": "string", "format": "duration"}


def format_duration(length: timedelta) -> str:
    """The shortest exact form: P3D, PT24H stays P1D."""
    seconds = length.seconds
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    days = f"{length.days}D" if length.days else ""
    clock = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (rest, "S")) if n)
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"


ReplyTimeout = Annotated[timedelta, Duration(timedelta(hours=1), timedelta(days=30), "A5")]
DelayLength = Annotated[timedelta, Duration(timedelta(seconds=1), timedelta(days=30), "A6")]
Collect = Annotated[timedelta, Duration(timedelta(0), timedelta(seconds=60))]


class ReplyWait(Config):
    """How long to wait for the contact's answer (A5) and how long to gather further messages (decision 34)."""

    timeout: ReplyTimeout
    collect: Collect = timedelta(0)


class ResponsePolicy(Config):
    """What a send does after it was accepted."""

    await_reply: ReplyWait


# --- outcomes: what a handler returns; the interpreter knows these and never types ---


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the next action of the step. `output` is merged into the context."""

    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GoTo:
    """Transfer to a step by key; terminal (S3)."""

    step: str
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The execution is complete; terminal."""

    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class WaitForReply:
    """Pause until the contact answers or the time is over; then the next action of the same step (S6)."""

    wait: ReplyWait
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """Pause until an instant; one that has passed goes on at once."""

    until: datetime
    output: Mapping[str, Any] | None = None


Outcome = Continue | GoTo | End | WaitForReply | Delay


# --- actions ---

C = TypeVar("C", bound=Config)


@dataclass(frozen=True, slots=True)
class Call:
    """One run of one action: what it may read, and the services it may use (None for `flow.*`, A2)."""

    context: Mapping[str, Any]
    now: datetime
    zone: ZoneInfo
    services: Services | None
    auth: Auth | None
    idempotency_key: str
    deadline_s: float

    @property
    def crm(self) -> Services:
        """The services, for an action that has them; asking for them in a `flow.*` action is a bug (A2)."""
        if self.services is None:
            raise RuntimeError("this action has no services")
        return self.services


class ActionType(ABC, Generic[C]):
    """One kind of action: a file that registers a subclass; nothing else changes.

    `effect`, `limit_s` (seconds for one run), `attempts` (where nothing was done) and `queue` tell the engine how
    to run it; `prompts` says that it sends
    the contact a message, to which a reply may come before any wait is armed (decision 12).
    """

    kind: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str] = ""
    config: ClassVar[type[Config]]
    output: ClassVar[type[Output] | None] = None
    terminal: ClassVar[bool] = False
    effect: ClassVar[Effect] = Effect.NONE
    queue: ClassVar[Queue] = Queue.MAIN
    limit_s: ClassVar[float] = 20.0
    attempts: ClassVar[int] = 3
    prompts: ClassVar[bool] = False
    delays: ClassVar[bool] = False

    @property
    def category(self) -> str:
        """The part before the dot (A1)."""
        return self.kind.partition(".")[0]

    def reply_wait(self, config: C) -> ReplyWait | None:
        """The wait that this action will ask for, known before it runs; None for most."""
        policy = getattr(config, "response_policy", None)
        return policy.await_reply if isinstance(policy, ResponsePolicy) else None

    @abstractmethod
    def run(self, call: Call, config: C) -> Outcome:
        """Perform the action once. Only `TransientFailure` and `PermanentFailure` are raised on purpose."""


action_registry: Registry[ActionType[Any]] = Registry("action")


# --- triggers ---


@dataclass(frozen=True, slots=True)
class Refusal:
    """A trigger did not match; `reason` is a trace reason, `data` what was seen."""

    reason: str
    data: Mapping[str, Any] = field(default_factory=dict)


class TriggerType(ABC, Generic[C]):
    """One kind of trigger: a pure function of the event (T4), with no services and no database."""

    kind: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str] = ""
    config: ClassVar[type[Config]]
    has_filters: ClassVar[bool] = False
    publishable: ClassVar[bool] = True
    has_contact: ClassVar[bool] = False

    @abstractmethod
    def detect(self, event: Mapping[str, Any], config: C) -> Mapping[str, Any] | Refusal:
        """The initial context that this event gives, or why it is not meant (filters are applied by the router)."""

    def contactless(self, config: C) -> bool:
        """Whether executions may start without a contact (decision 32)."""
        return not self.has_contact


trigger_registry: Registry[TriggerType[Any]] = Registry("trigger")

__all__ = [
    "CATEGORIES",
    "N_",
    "WEEKDAYS",
    "WRITTEN_KINDS",
    "ActionType",
    "Call",
    "Config",
    "Continue",
    "Delay",
    "DelayLength",
    "Duration",
    "Effect",
    "End",
    "GoTo",
    "Outcome",
    "Output",
    "OutputKey",
    "Queue",
    "Refusal",
    "ReplyTimeout",
    "ReplyWait",
    "ResponsePolicy",
    "Rule",
    "StepKey",
    "StepRef",
    "Templated",
    "TriggerType",
    "WaitForReply",
    "action_registry",
    "format_duration",
    "import_submodules",
    "instant_at",
    "next_at",
    "parse_duration",
    "refusal",
    "trigger_registry",
]
