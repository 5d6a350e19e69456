"""The console's pages: what a member sees, and that nothing on them can be changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.builders import inbound_event
from workflows import tenancy
from workflows.models import Entity, Execution, InboundMessage, Workflow
from workflows.services.inbound import receive_message

LISTS = ("workflow", "execution", "inboundmessage")


def read(client: Client, path: str, status: int = 200) -> str:
    response = client.get(f"/admin/{path}")
    assert response.status_code == status, path
    return response.content.decode()


def message_id(entity: Entity) -> str:
    with tenancy.entity(entity.pk):
        return str(InboundMessage.objects.get().pk)


def test_a_viewer_sees_lists_and_details(story: dict[str, Any], login: Callable[..., Client]) -> None:
    client = login(story["entity"])
    assert "Saludo" in read(client, "workflows/workflow/")
    assert "Waiting for a reply" in read(client, "workflows/execution/")
    assert "wamid.1" in read(client, "workflows/inboundmessage/")
    workflow = read(client, f"workflows/workflow/{story['workflow']}/change/")
    assert "flow.wait_for_reply" in workflow
    assert "&quot;format&quot;: 1" in workflow
    message = read(client, f"workflows/inboundmessage/{message_id(story['entity'])}/change/")
    assert "1. Saludo: matches, and started an execution." in message


def test_an_execution_says_what_happens_and_what_to_do(
    story: dict[str, Any], login: Callable[..., Client]
) -> None:
    page = read(login(story["entity"]), f"workflows/execution/{story['execution']}/change/")
    assert (
        "The execution waits for the contact&#x27;s reply. It goes on when the contact answers or the time is over."
        in page
    )
    assert "Started with version 1." in page
    assert page.count("bf-row-wait") == 1
    assert page.count("bf-row-run") == 1


def test_texts_of_a_contact_are_never_markup(story: dict[str, Any], login: Callable[..., Client]) -> None:
    page = read(login(story["entity"]), f"workflows/execution/{story['execution']}/change/")
    assert "hola &lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page


def test_pages_speak_spanish(story: dict[str, Any], login: Callable[..., Client]) -> None:
    client = login(story["entity"])
    response = client.get(
        f"/admin/workflows/execution/{story['execution']}/change/", headers={"accept-language": "es"}
    )
    page = response.content.decode()
    assert "Línea de tiempo" in page
    assert "La ejecución espera la respuesta del contacto." in page


@pytest.mark.rule("G6")
@pytest.mark.parametrize("table", LISTS)
def test_another_entitys_object_is_not_found(
    table: str, story: dict[str, Any], other_entity: Entity, login: Callable[..., Client]
) -> None:
    ids = {**story, "inboundmessage": message_id(story["entity"])}
    path = f"workflows/{table}/{ids[table]}/change/"
    read(login(story["entity"]), path, 200)
    read(login(other_entity), path, 404)
    assert "Saludo" not in read(login(other_entity), f"workflows/{table}/")


@pytest.mark.parametrize("bad", ["not-a-uuid", "019a0000-0000-7000-8000-000000000000"])
def test_an_unknown_id_is_not_found(bad: str, entity: Entity, login: Callable[..., Client]) -> None:
    read(login(entity), f"workflows/execution/{bad}/change/", 404)


@pytest.mark.parametrize("table", LISTS)
def test_nothing_can_be_changed(table: str, story: dict[str, Any], login: Callable[..., Client]) -> None:
    ids = {**story, "inboundmessage": message_id(story["entity"])}
    for client in (login(story["entity"], role="admin"), login(superuser=True)):
        for path in (f"workflows/{table}/", f"workflows/{table}/{ids[table]}/change/"):
            assert (
                client.post(f"/admin/{path}", {"action": "delete_selected", "name": "x"}).status_code == 405
            )
        for act in ("delete", "history"):
            assert client.get(f"/admin/workflows/{table}/{ids[table]}/{act}/").status_code == 404
        assert client.get(f"/admin/workflows/{table}/add/").status_code == 404
    with tenancy.entity(story["entity"].pk):
        assert (Workflow.objects.count(), Execution.objects.count(), InboundMessage.objects.count()) == (
            1,
            1,
            1,
        )
        assert Workflow.objects.get().name == "Saludo"


@pytest.mark.parametrize("query", ["", "?_facets=True", "?p=2"])
@pytest.mark.parametrize("table", LISTS)
def test_lists_count_nothing(
    table: str, query: str, story: dict[str, Any], login: Callable[..., Client]
) -> None:
    client = login(story["entity"])
    with CaptureQueriesContext(connection) as queries:
        read(client, f"workflows/{table}/{query}")
    assert not [sent for sent in queries.captured_queries if "COUNT(" in sent["sql"].upper()]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=c-1", True),
        ("q=ch-1", True),
        ("q={execution}", True),
        ("q=c-2", False),
        ("status=waiting_for_reply", True),
        ("status=delayed", False),
        ("workflow={workflow}", True),
        ("workflow=nonsense", False),
        ("reason=unavailable", False),
    ],
)
def test_executions_are_searched_and_filtered(
    query: str, found: bool, story: dict[str, Any], login: Callable[..., Client]
) -> None:
    page = read(login(story["entity"]), f"workflows/execution/?{query.format(**story)}")
    assert (f"/admin/workflows/execution/{story['execution']}/change/" in page) is found


def test_a_message_shows_why_filters_did_not_match(
    entity: Entity, publish: Callable[..., Any], document: Callable[..., Any], login: Callable[..., Client]
) -> None:
    condition = {"field": "message.text", "operator": "contains", "value": "precio"}
    publish(document(filters={"all": [condition]}))
    receive_message(entity=entity, event=inbound_event(text="hola"))
    page = read(login(entity), f"workflows/inboundmessage/{message_id(entity)}/change/")
    assert "1. Saludo: its filters do not match." in page
    assert "message.text contains &quot;precio&quot; (seen: &quot;hola&quot;)" in page


@pytest.mark.parametrize("path", ["workflows/execution/", "workflows/workflow/", "entity/"])
def test_pages_name_no_other_host(path: str, story: dict[str, Any], login: Callable[..., Client]) -> None:
    page = read(login(story["entity"]), path)
    assert re.findall(r'(?:src|href|action)="(?:https?:)?//[^"]*"', page) == []
