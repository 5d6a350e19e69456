"""Problem details, the OpenAPI document, the catalogue, and what the platform measures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.builders import Api, body_of
from workflows.contracts import action_registry, trigger_registry
from workflows.errors import REASONS
from workflows.filters import operator_registry
from workflows.models import Entity, MessageOutcome, Status, Workflow
from workflows.selectors import fleet_gauges
from workflows.services.inbound import receive_message

Clients = Callable[..., Api]
SHAPE = {"type", "title", "status", "detail", "code", "instance"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "nowhere/", 404, "not_found"),
        ("GET", "workflows", 404, "not_found"),
        ("PATCH", "workflows/", 403, "permission_denied"),
        ("GET", "workflows/?x=1", 422, "invalid"),
        ("POST", "workflows/validate/", 403, "permission_denied"),
    ],
)
def test_every_error_has_one_shape(
    api: Clients, entity: Entity, method: str, path: str, status: int, code: str
) -> None:
    response = api("viewer").call(method, path)
    answer = body_of(response)
    assert (response.status_code, answer["status"], answer["code"]) == (status, status, code)
    assert response["Content-Type"] == "application/problem+json"
    assert set(answer) >= SHAPE
    assert answer["type"] == f"urn:boostflow:problem:{code}"
    assert answer["instance"] == f"/api/v1/{path.partition('?')[0]}"


def test_wrong_methods_and_media_types(api: Clients, entity: Entity) -> None:
    client = api("admin")
    assert body_of(client.call("PATCH", "workflows/"))["code"] == "method_not_allowed"
    sent = client.client.post("/api/v1/workflows/", b"a=1", content_type="text/plain", headers=client.headers)
    assert (sent.status_code, body_of(sent)["code"]) == (415, "unsupported_media_type")


def test_answers_are_in_the_language_asked_for(api: Clients, entity: Entity) -> None:
    assert api(language="en").get("workflows/")["Content-Language"] == "en"
    assert api(language="fr").get("workflows/")["Content-Language"] == "es"


def test_the_openapi_document_is_valid_and_without_warnings(tmp_path: Path, client: Client) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yaml"))
    document = client.get("/api/v1/schema/?format=json").json()
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["ApiKey"]["scheme"] == "bearer"
    assert document["paths"]["/api/v1/events/messages/"]["post"]["security"] == [{"ApiKey": []}]


def test_the_page_of_the_interface_needs_no_network(client: Client) -> None:
    response = client.get("/api/v1/docs/")
    page = response.content.decode()
    assert response.status_code == 200
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page)
    files = re.findall(r"""(?:src|href)=["']/static/([^"']+)""", page)
    assert len(files) >= 3
    assert [name for name in files if finders.find(name) is None] == []


@pytest.mark.rule("A8")
def test_the_catalogue_is_what_the_registries_hold(api: Clients, entity: Entity) -> None:
    client = api("viewer")
    expected: dict[str, tuple[str, list[str]]] = {
        "actions": ("type", list(action_registry)),
        "triggers": ("type", list(trigger_registry)),
        "operators": ("operator", list(operator_registry)),
        "reasons": ("code", list(REASONS)),
    }
    for path, (name, kinds) in expected.items():
        rows = body_of(client.get(f"catalog/{path}/"))["results"]
        assert [row[name] for row in rows] == kinds
        texts: list[Any] = [
            value for row in rows for value in row.values() if isinstance(value, dict) and "en" in value
        ]
        assert texts
        assert all(set(text) == {"es", "en"} for text in texts)
    actions = {row["type"]: row for row in body_of(client.get("catalog/actions/"))["results"]}
    assert actions["flow.wait_for_reply"]["config"]["properties"]["timeout"]["format"] == "duration"
    assert actions["flow.end"]["terminal"] is True


def test_every_status_has_its_sentences() -> None:
    assert [reason.code for reason in REASONS.values() if reason.family == "status"] == Status.values


def test_the_fleet_is_measured(
    entity: Entity,
    other_entity: Entity,
    publish: Callable[..., Workflow],
    event: Callable[..., dict[str, Any]],
    work: Callable[[], int],
) -> None:
    publish()
    publish(None, other_entity)
    receive_message(entity=entity, event={**event(), "extra": {}})
    work()
    receive_message(entity=other_entity, event={**event(), "extra": {}})
    receive_message(entity=entity, event={**event(author="agent"), "extra": {}})
    read = {(gauge.name, *gauge.labels.values()): gauge.value for gauge in fleet_gauges()}
    assert read["boostflow_executions", "running"] == 1
    assert read["boostflow_executions", "waiting_for_reply"] == 1
    assert (read["boostflow_frames_stuck",], read["boostflow_timers_due",]) == (0, 0)
    assert read["boostflow_timer_oldest_due_seconds",] == 0
    outcomes = {
        outcome: read["boostflow_inbound_messages_last_hour", outcome] for outcome in MessageOutcome.values
    }
    assert {name: count for name, count in outcomes.items() if count} == {"started": 2, "ignored": 1}


def test_health_metrics_and_the_root(client: Client, entity: Entity) -> None:
    assert client.get("/health/live").status_code == 200
    assert b"boostflow_executions" in client.get("/metrics").content
    assert client.get("/")["Location"] == "/admin/"
