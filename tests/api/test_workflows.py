"""`workflows/`: drafts, versions, order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.builders import Api, automation, body_of
from workflows import tenancy
from workflows.models import Entity, Workflow

Clients = Callable[..., Api]
Make = Callable[..., Workflow]


def test_the_life_of_a_workflow(api: Clients, entity: Entity) -> None:
    client = api("editor")
    created = client.post("workflows/", automation())
    assert created.status_code == 201
    made = body_of(created)
    assert (made["status"], made["priority"], made["version"], made["warnings"]) == ("draft", 1, None, [])
    assert made["draft"] == automation()
    path = f"workflows/{made['id']}/"
    published = body_of(client.post(f"{path}publish/"))
    assert (published["status"], published["version"], published["trigger_type"]) == (
        "published",
        1,
        "message.inbound",
    )
    changed = body_of(client.put(f"{path}draft/", automation(name="Nuevo nombre")))
    assert (changed["name"], changed["version"]) == ("Nuevo nombre", 1)
    assert body_of(client.post(f"{path}publish/"))["version"] == 2
    assert body_of(client.post(f"{path}pause/"))["status"] == "paused"
    assert body_of(client.post(f"{path}activate/"))["status"] == "published"
    assert client.delete(path).status_code == 204
    archived = body_of(client.get(path))
    assert (archived["status"], archived["priority"]) == ("archived", None)
    refused = client.post(f"{path}publish/")
    assert (refused.status_code, body_of(refused)["present"]) == (409, "archived")


def test_versions_keep_their_definitions(api: Clients, entity: Entity) -> None:
    client = api("editor")
    workflow = body_of(client.post("workflows/", automation()))["id"]
    client.post(f"workflows/{workflow}/publish/")
    client.put(f"workflows/{workflow}/draft/", automation(name="Segundo"))
    client.post(f"workflows/{workflow}/publish/")
    rows = body_of(client.get(f"workflows/{workflow}/versions/"))["results"]
    assert [(row["number"], row["published_by"]) for row in rows] == [
        (2, "key:test editor"),
        (1, "key:test editor"),
    ]
    assert "definition" not in rows[0]
    assert body_of(client.get(f"workflows/{workflow}/versions/1/"))["definition"] == automation()
    assert client.get(f"workflows/{workflow}/versions/3/").status_code == 404
    assert client.get(f"workflows/{workflow}/versions/{10**30}/").status_code == 404
    assert body_of(client.get(f"workflows/export/?id={workflow}&version=1")) == automation()
    assert body_of(client.get(f"workflows/export/?id={workflow}")) == automation(name="Segundo")


@pytest.mark.rule("decision-19")
def test_a_broken_definition_lists_all_violations_and_stores_nothing(api: Clients, entity: Entity) -> None:
    client = api("editor")
    broken = automation(
        max_step_visits=0, steps=[{"key": "uno", "actions": [{"key": "fin", "type": "flow.nada"}]}]
    )
    response = client.post("workflows/", broken)
    answer = body_of(response)
    assert (response.status_code, answer["code"], answer["status"]) == (422, "invalid_definition", 422)
    assert [found["pointer"] for found in answer["violations"]] == [
        "/steps/0/actions/0/type",
        "/max_step_visits",
    ]
    assert {frozenset(found) for found in answer["violations"]} == {
        frozenset({"rule", "code", "pointer", "message"})
    }
    validated = body_of(client.post("workflows/validate/", broken))
    assert (validated["valid"], validated["violations"]) == (False, answer["violations"])
    assert body_of(client.get("workflows/"))["results"] == []


@pytest.mark.parametrize("body", [[], "x", None, {}, {"name": "a\x00b"}])
def test_documents_that_are_none_are_refused(api: Clients, entity: Entity, body: Any) -> None:
    response = api("editor").call("POST", "workflows/", body, raw=b"null" if body is None else None)
    assert (response.status_code, body_of(response)["code"]) == (422, "invalid_definition")


def test_a_draft_that_is_broken_leaves_the_old_one(api: Clients, make_workflow: Make) -> None:
    workflow = make_workflow()
    client = api("editor")
    assert client.put(f"workflows/{workflow.pk}/draft/", {"name": "x"}).status_code == 422
    assert body_of(client.get(f"workflows/{workflow.pk}/"))["draft"] == automation()


@pytest.mark.rule("decision-5")
def test_one_call_reorders_all(api: Clients, make_workflow: Make) -> None:
    first, second, third = (str(make_workflow(automation(name=name)).pk) for name in "abc")
    client = api("editor")
    wanted = [third, first, second]
    assert body_of(client.post("workflows/reorder/", {"workflows": wanted})) == {"workflows": wanted}
    assert [row["id"] for row in body_of(client.get("workflows/"))["results"]] == wanted
    for wrong in ([first, second], [first, first, second], [*wanted, str(uuid4())]):
        assert client.post("workflows/reorder/", {"workflows": wrong}).status_code == 422
    assert body_of(client.post("workflows/reorder/", {"workflows": "x"}))["fields"].keys() == {"workflows"}
    assert [row["id"] for row in body_of(client.get("workflows/"))["results"]] == wanted


def test_the_list_loads_no_definition(api: Clients, make_workflow: Make) -> None:
    make_workflow()
    client = api("viewer")
    with CaptureQueriesContext(connection) as queries:
        assert client.get("workflows/").status_code == 200
    assert not [query["sql"] for query in queries if "draft" in query["sql"] or "definition" in query["sql"]]


def test_pages_are_stable_while_rows_come_and_go(api: Clients, entity: Entity, make_workflow: Make) -> None:
    ids = [str(make_workflow(automation(name=f"w{number}")).pk) for number in range(5)]
    client = api("viewer")
    page = body_of(client.get("workflows/?limit=2"))
    assert [row["id"] for row in page["results"]] == ids[:2]
    with tenancy.entity(entity.pk):
        Workflow.objects.filter(pk=ids[0]).delete()
    seen = []
    while page["next_cursor"]:
        page = body_of(client.get(f"workflows/?limit=2&cursor={page['next_cursor']}"))
        seen += [row["id"] for row in page["results"]]
    assert seen == ids[2:]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=1&limit=2",
        "cursor=x",
        "cursor=W10",
        "cursor=WyJ4IiwieSJd",
        "cursor=%00",
        "status=new",
        "sort=name",
        "trigger=a%00b",
    ],
)
def test_wrong_parameters_are_named(api: Clients, entity: Entity, query: str) -> None:
    response = api("viewer").get(f"workflows/?{query}")
    answer = body_of(response)
    assert (response.status_code, list(answer["fields"])) == (422, [query.partition("=")[0]])


def test_rows_of_one_place_are_all_paged(api: Clients, make_workflow: Make) -> None:
    client = api("editor")
    ids = [str(make_workflow(automation(name=f"w{number}")).pk) for number in range(4)]
    for workflow in ids:
        client.delete(f"workflows/{workflow}/")
    page = body_of(client.get("workflows/?limit=1&status=archived"))
    seen = [row["id"] for row in page["results"]]
    while page["next_cursor"]:
        page = body_of(client.get(f"workflows/?limit=1&status=archived&cursor={page['next_cursor']}"))
        seen += [row["id"] for row in page["results"]]
    assert seen == ids
