"""`POST events/messages/` and the reads of its decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connections

from tests.builders import Api, body_of
from workflows import tenancy
from workflows.api import events
from workflows.models import Entity, Execution, InboundMessage, Workflow

Build = Callable[..., dict[str, Any]]
Publish = Callable[..., Workflow]
Clients = Callable[..., Api]


def stored(entity: Entity) -> list[InboundMessage]:
    with tenancy.entity(entity.pk):
        return list(InboundMessage.objects.filter(entity_id=entity.pk).order_by("id"))


def test_a_message_starts_a_workflow(entity: Entity, api: Clients, publish: Publish, event: Build) -> None:
    workflow = publish()
    response = api("events").post("events/messages/", event())
    assert response.status_code == 200
    answer = body_of(response)
    with tenancy.entity(entity.pk):
        execution = Execution.objects.get(entity_id=entity.pk)
    assert answer == {
        "outcome": "started",
        "execution_id": str(execution.pk),
        "workflow_id": str(workflow.pk),
        "reason": None,
        "duplicate": False,
    }


@pytest.mark.rule("decision-30")
def test_a_second_delivery_gets_the_first_answer(
    entity: Entity, api: Clients, publish: Publish, event: Build
) -> None:
    publish()
    client, message = api("events"), event()
    first = body_of(client.post("events/messages/", message))
    second = body_of(client.post("events/messages/", {**message, "text": "otra cosa"}))
    assert second == {**first, "duplicate": True}
    assert [row.event["text"] for row in stored(entity)] == ["Hola"]


@pytest.mark.rule("decision-30")
def test_twenty_deliveries_at_once_give_one_execution(
    entity: Entity, api: Clients, publish: Publish, event: Build
) -> None:
    publish()
    client, message = api("events"), event()

    def deliver(_number: int) -> Any:
        try:
            response = Api(None).client.generic(
                "POST",
                "/api/v1/events/messages/",
                json.dumps(message),
                content_type="application/json",
                headers=client.headers,
            )
            return response.status_code, json.loads(response.content)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(deliver, range(20)))
    assert [status for status, _ in answers] == [200] * 20
    assert sum(not answer.pop("duplicate") for _, answer in answers) == 1
    assert len({json.dumps(answer, sort_keys=True) for _, answer in answers}) == 1
    assert answers[0][1]["outcome"] == "started"
    with tenancy.entity(entity.pk):
        assert Execution.objects.filter(entity_id=entity.pk).count() == 1


def test_unknown_fields_are_kept_and_not_refused(entity: Entity, api: Clients, event: Build) -> None:
    message = event(campaign={"id": 7}, extra="mine")
    message["contact"]["loyalty"] = "gold"
    message["chat"]["pinned"] = True
    message["attachments"] = [{"type": "image", "url": "https://x.example/i", "size": 3}]
    assert api("events").post("events/messages/", message).status_code == 200
    kept = stored(entity)[0].event
    assert kept["extra"] == {
        "campaign": {"id": 7},
        "extra": "mine",
        "contact": {"loyalty": "gold"},
        "chat": {"pinned": True},
    }
    assert kept["attachments"] == [{"type": "image", "url": "https://x.example/i", "mime": None, "size": 3}]
    assert set(kept["contact"]) == {"id", "name", "phone", "email", "tags", "seller_id", "is_new", "fields"}
    assert kept["chat"] == {
        "id": "ch-1",
        "channel": "whatsapp",
        "window_open_until": None,
        "assigned_user_id": None,
    }


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"message_id": ""}, "message_id"),
        ({"message_id": "x" * 256}, "message_id"),
        ({"message_id": 7}, "message_id"),
        ({"channel": "x" * 65}, "channel"),
        ({"direction": "sideways"}, "direction"),
        ({"author": "bot"}, "author"),
        ({"kind": "hologram"}, "kind"),
        ({"text": 5}, "text"),
        ({"sent_at": "2026-11-30 14:03:05"}, "sent_at"),
        ({"sent_at": "2026-13-30T14:03:05Z"}, "sent_at"),
        ({"sent_at": "0001-01-01T00:00:00+10:00"}, "sent_at"),
        ({"contact": {"name": "Ana"}}, "contact.id"),
        ({"contact": {"id": "c-1", "tags": "vip"}}, "contact.tags"),
        ({"contact": None}, "contact"),
        ({"chat": {"id": ["ch"]}}, "chat.id"),
        ({"attachments": {}}, "attachments"),
    ],
)
def test_a_wrong_field_is_named(
    entity: Entity, api: Clients, event: Build, change: dict[str, Any], field: str
) -> None:
    response = api("events").post("events/messages/", event(**change))
    answer = body_of(response)
    assert (response.status_code, answer["code"]) == (422, "invalid")
    assert list(answer["fields"]) == [field]
    assert stored(entity) == []


@pytest.mark.parametrize("body", [[], "text", None, 5])
def test_a_body_that_is_no_object_is_refused(entity: Entity, api: Clients, body: Any) -> None:
    response = api("events").call("POST", "events/messages/", raw=json.dumps(body).encode())
    assert response.status_code == 422
    assert list(body_of(response)["fields"]) == ["body"]


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_what_cannot_be_stored_is_replaced(entity: Entity, api: Clients, event: Build, text: str) -> None:
    message = event(text=text, payload={text: [text]})
    assert api("events").post("events/messages/", message).status_code == 200
    kept = stored(entity)[0].event
    assert (kept["text"], kept["payload"]) == ("a\ufffdb", {"a\ufffdb": ["a\ufffdb"]})


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b"", 422, "invalid"),
        (b"{", 400, "parse_error"),
        (b"\xff{}", 400, "parse_error"),
        (b'{"text": NaN}', 400, "parse_error"),
        (b'{"text": 1e999}', 400, "parse_error"),
        (b"[" * 100_000, 400, "parse_error"),
        (b'{"payload": ' + b"[" * 80 + b"]" * 80 + b"}", 422, "invalid"),
        (b'{"text": "' + b"x" * 262_144 + b'"}', 413, "too_large"),
    ],
)
def test_hostile_bodies_get_a_plain_answer(
    entity: Entity, api: Clients, raw: bytes, status: int, code: str
) -> None:
    response = api("events").call("POST", "events/messages/", raw=raw)
    assert (response.status_code, body_of(response)["code"]) == (status, code)
    assert stored(entity) == []


def test_a_dry_run_is_refused_until_it_exists(entity: Entity, api: Clients, event: Build) -> None:
    response = api("operator").post("events/messages/?dry_run=true", event())
    assert (response.status_code, body_of(response)["code"]) == (422, "not_available_yet")
    assert stored(entity) == []


def test_a_database_that_is_busy_answers_503(
    entity: Entity, api: Clients, event: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise OperationalError("deadlock detected")

    monkeypatch.setattr(events, "receive_message", fail)
    response = api("events").post("events/messages/", event())
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert body_of(response)["code"] == "busy"
    assert b"deadlock" not in response.content


def test_a_fault_shows_an_incident_and_nothing_else(
    entity: Entity, api: Clients, event: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(events, "receive_message", fail)
    response = api("events").post("events/messages/", event())
    answer = body_of(response)
    assert (response.status_code, answer["code"], len(answer["incident"])) == (500, "unexpected", 32)
    assert b"inside" not in response.content.replace(b"our side", b"")


def test_messages_are_listed_and_shown_with_their_trace(
    entity: Entity, api: Clients, publish: Publish, event: Build
) -> None:
    publish()
    client = api()
    for change in ({}, {"contact_id": "c-2", "chat_id": "ch-2"}, {"author": "agent"}):
        assert client.post("events/messages/", event(**change)).status_code == 200
    rows = body_of(client.get("events/messages/"))["results"]
    assert [row["outcome"] for row in rows] == ["ignored", "started", "started"]
    assert "event" not in rows[0]
    assert [row["contact_id"] for row in body_of(client.get("events/messages/?contact=c-2"))["results"]] == [
        "c-2"
    ]
    assert [row["reason"] for row in body_of(client.get("events/messages/?outcome=ignored"))["results"]] == [
        "ignored_kind"
    ]
    assert body_of(client.get("events/messages/?received_to=2020-01-01T00:00:00Z"))["results"] == []
    assert len(body_of(client.get("events/messages/?received_from=2020-01-01T00:00:00Z"))["results"]) == 3
    detail = body_of(client.get(f"events/messages/{rows[0]['id']}/"))
    assert detail["event"]["author"] == "agent"
    assert detail["trace"][0]["verdict"] == "ignored_kind"


def test_an_events_key_looks_up_one_message_by_its_id(entity: Entity, api: Clients, event: Build) -> None:
    client, message = api("events"), event()
    client.post("events/messages/", message)
    assert client.get("events/messages/").status_code == 422
    found = body_of(client.get(f"events/messages/?channel=whatsapp&message_id={message['message_id']}"))[
        "results"
    ]
    assert [row["message_id"] for row in found] == [message["message_id"]]
    assert client.get(f"events/messages/{found[0]['id']}/").status_code == 403
