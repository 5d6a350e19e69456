"""`manual`: a person or a program starts it, through the API, the console or a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from workflows.contracts import N_, Config, Refusal, TriggerType, refusal, trigger_registry


class ManualConfig(Config):
    """The text of the button, the JSON Schema of the input, and the channel whose chat is used."""

    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    input_schema: dict[str, Any] | None = None
    channel: Annotated[str, Field(min_length=1, max_length=64)] | None = None

    @field_validator("input_schema")
    @classmethod
    def _object_schema(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is not None and value.get("type") != "object":
            raise refusal("input_schema", N_("The input schema is a JSON Schema whose type is object."))
        return value


@trigger_registry.register("manual")
class ManualTrigger(TriggerType[ManualConfig]):
    """Sees one start: `{started_by, input, contact?, chat?}`.

    A start names the contact where the workflow acts on one (decision 32), so saving needs no audience.
    """

    label = N_("Manual start")
    help = N_("Starts when a person or a program asks for it.")
    config = ManualConfig
    has_contact = True
    publishable = False

    def detect(self, event: Mapping[str, Any], config: ManualConfig) -> Mapping[str, Any] | Refusal:
        context: dict[str, Any] = {
            "trigger": {"type": self.kind, "started_by": event.get("started_by")},
            "input": event.get("input") or {},
        }
        return context | {name: event[name] for name in ("contact", "chat") if event.get(name)}
