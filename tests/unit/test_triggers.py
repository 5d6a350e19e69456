"""What each trigger sees in an event, and what its config may say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.definition_helpers import automation, found
from workflows.contracts import Refusal, trigger_registry

EVENT = {
    "message_id": "wamid.1",
    "channel": "whatsapp",
    "direction": "inbound",
    "author": "contact",
    "kind": "text",
    "text": "Precio?",
    "sent_at": "2026-11-30T14:03:05Z",
    "extra": {"campaign": "x"},
    "contact": {"id": "c-7", "name": "Ana"},
    "chat": {"id": "ch-9", "channel": "whatsapp"},
}


def detect(event: dict[str, Any], **config: Any) -> Any:
    """What the inbound trigger says."""
    handler = trigger_registry["message.inbound"]
    return handler.detect(event, handler.config.model_validate(config))


@pytest.mark.rule("T4")
def test_an_inbound_message_becomes_the_first_context() -> None:
    assert detect(EVENT) == {
        "trigger": {
            "type": "message.inbound",
            "message_id": "wamid.1",
            "channel": "whatsapp",
            "sent_at": "2026-11-30T14:03:05Z",
        },
        "message": {
            "message_id": "wamid.1",
            "channel": "whatsapp",
            "direction": "inbound",
            "author": "contact",
            "kind": "text",
            "text": "Precio?",
            "payload": None,
            "attachments": None,
            "reply_to": None,
            "sent_at": "2026-11-30T14:03:05Z",
            "extra": {"campaign": "x"},
        },
        "contact": {
            "id": "c-7",
            "name": "Ana",
            "phone": None,
            "email": None,
            "tags": None,
            "seller_id": None,
            "is_new": None,
            "fields": None,
        },
        "chat": {"id": "ch-9", "channel": "whatsapp", "window_open_until": None, "assigned_user_id": None},
    }


@pytest.mark.rule("decision-7")
@pytest.mark.parametrize(
    "change", [{"direction": "outbound"}, {"author": "agent"}, {"kind": "reaction"}, {"kind": "receipt"}]
)
def test_only_what_a_contact_writes_is_a_message(change: dict[str, str]) -> None:
    refused = detect(EVENT | change)
    assert isinstance(refused, Refusal)
    assert refused.reason == "ignored_kind"
    assert refused.data.items() >= change.items()


def test_other_channels_are_refused() -> None:
    assert detect(EVENT, channels=["telegram"]) == Refusal(
        "filter_false", {"field": "message.channel", "value": "whatsapp"}
    )
    assert detect(EVENT, channels=["telegram", "whatsapp"])["message"]["text"] == "Precio?"


def test_a_schedule_and_a_manual_start_give_their_context() -> None:
    scheduled, manual = trigger_registry["scheduled"], trigger_registry["manual"]
    contact = {"id": "c-7", "name": "Ana"}
    assert scheduled.detect(
        {"occurrence_at": "2026-12-01T14:00:00Z", "contact": contact},
        scheduled.config.model_validate({"time": "08:00"}),
    ) == {"trigger": {"type": "scheduled", "occurrence_at": "2026-12-01T14:00:00Z"}, "contact": contact}
    assert manual.detect({"started_by": "u-1", "contact": None}, manual.config.model_validate({})) == {
        "trigger": {"type": "manual", "started_by": "u-1"},
        "input": {},
    }


def schedule(**config: Any) -> list[tuple[str | None, str, str]]:
    """What is wrong with a schedule, pointers from its config."""
    violations = found(automation(trigger={"type": "scheduled", "config": config}))
    return [(rule, code, pointer.removeprefix("/trigger/config")) for rule, code, pointer in violations]


@pytest.mark.rule("T5")
@pytest.mark.rule("decision-18")
@pytest.mark.parametrize(
    "config",
    [
        {"time": "08:00"},
        {"time": "23:59", "days": ["mon", "sun"]},
        {"time": "00:00", "day_of_month": 31},
        {"time": "00:00", "day_of_month": "last"},
        {"cron": "*/15 8-17 * * MON-FRI"},
        {"time": "08:00", "grace": "PT0S", "overlap": "allow", "channel": "whatsapp"},
        {"time": "08:00", "audience": {"filters": {"tags": ["vip"], "seller_id": None}, "limit": 5}},
    ],
)
def test_schedules(config: dict[str, Any]) -> None:
    assert schedule(**config) == []


@pytest.mark.rule("T5")
@pytest.mark.rule("decision-17")
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, [("T5", "time_missing", "/time")]),
        ({"days": ["mon"]}, [("T5", "time_missing", "/time")]),
        ({"time": "8:00"}, [("T5", "time_format", "/time")]),
        ({"time": "24:00"}, [("T5", "time_format", "/time")]),
        ({"time": "08:00", "cron": "0 8 * * *"}, [("T5", "schedule_form", "/time")]),
        ({"cron": "0 8 * * *", "days": ["mon"]}, [("T5", "schedule_form", "/time")]),
        ({"cron": "0 8 30 2 *"}, [("T5", "cron", "/cron")]),
        ({"cron": "* * * * * *"}, [("T5", "cron", "/cron")]),
        ({"cron": "cada día"}, [("T5", "cron", "/cron")]),
        ({"timezone": "UTC"}, [("T5", "timezone_named", "/timezone"), ("T5", "time_missing", "/time")]),
        ({"time": "08:00", "tz": None}, [("T5", "timezone_named", "/tz")]),
        ({"time": "08:00", "day_of_month": 0}, [(None, "day_of_month", "/day_of_month")]),
        ({"time": "08:00", "day_of_month": True}, [(None, "day_of_month", "/day_of_month")]),
        ({"time": "08:00", "days": ["lunes"]}, [(None, "not_a_choice", "/days/0")]),
        ({"time": "08:00", "days": ["mon"], "day_of_month": 1}, [(None, "schedule_days", "/day_of_month")]),
        ({"time": "08:00", "grace": "P8D"}, [(None, "duration_range", "/grace")]),
        ({"time": "08:00", "audience": {}}, [(None, "field_missing", "/audience/filters")]),
    ],
)
def test_wrong_schedules(config: dict[str, Any], expected: list[Any]) -> None:
    assert schedule(**config) == expected


def test_zones_stay_out_of_the_schema_of_a_schedule() -> None:
    shown = trigger_registry["scheduled"].config.model_json_schema()["properties"]
    assert set(shown) == {"time", "days", "day_of_month", "cron", "audience", "channel", "grace", "overlap"}


def test_an_input_schema_describes_an_object() -> None:
    document = automation(trigger={"type": "manual", "config": {"input_schema": {"type": "array"}}})
    assert found(document) == [(None, "input_schema", "/trigger/config/input_schema")]
    document["trigger"]["config"]["input_schema"] = {"type": "object", "properties": {}}
    assert found(document) == []


@pytest.mark.rule("decision-37")
def test_a_cooldown_is_a_duration() -> None:
    document = automation(trigger={"type": "message.inbound", "config": {"cooldown": "1h"}})
    assert found(document) == [(None, "duration_format", "/trigger/config/cooldown")]


def test_only_inbound_messages_can_be_published_in_this_release() -> None:
    assert {kind: handler.publishable for kind, handler in trigger_registry.items()} == {
        "manual": False,
        "message.inbound": True,
        "scheduled": False,
    }
