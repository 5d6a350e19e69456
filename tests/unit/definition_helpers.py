"""Short ways to write definitions, calls and services for tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from workflows.contracts import Call, action_registry
from workflows.definitions.automation import read_automation
from workflows.ports import Auth
from workflows.registry import import_submodules

import_submodules("actions")
import_submodules("triggers")

GUATEMALA = ZoneInfo("America/Guatemala")
NOW = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)
END = {"key": "fin", "type": "flow.end"}
WAIT = {"timeout": "PT24H"}


def action(kind: str, key: str = "accion", **config: Any) -> dict[str, Any]:
    """One action."""
    return {"key": key, "type": kind, "config": config}


def step(key: str, *actions: dict[str, Any]) -> dict[str, Any]:
    """One step."""
    return {"key": key, "actions": list(actions)}


def automation(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A definition with one step that ends, unless told otherwise."""
    document = {
        "format": 1,
        "kind": "automation",
        "name": "Prueba",
        "trigger": {"type": "message.inbound"},
        "steps": list(steps) or [step("uno", END)],
    }
    return document | changes


def found(document: Any, **clock: Any) -> list[tuple[str | None, str, str]]:
    """Rule, code and pointer of every violation."""
    return [(v.rule, v.code, v.pointer) for v in read_automation(document, **clock).violations]


def call(
    context: Mapping[str, Any], services: Any = None, zone: ZoneInfo = GUATEMALA, now: datetime = NOW
) -> Call:
    """One run of an action."""
    auth = Auth("e-1", "u-1") if services is not None else None
    return Call(context, now, zone, services, auth, "execution:uno:1:accion:1", 20.0)


def run(
    kind: str, raw: dict[str, Any], context: Mapping[str, Any], services: Any = None, **options: Any
) -> Any:
    """The outcome of an action with a literal config."""
    handler = action_registry[kind]
    return handler.run(call(context, services, **options), handler.config.model_validate(raw))


class Untouchable:
    """Services that no one may use."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"touched {name}")
