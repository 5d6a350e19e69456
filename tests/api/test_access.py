"""Keys, entities and roles, for every endpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.urls import URLPattern
from django.utils import timezone

from tests.builders import Api, automation, body_of, inbound_event
from workflows import tenancy
from workflows.api.schema import DocsView, NowhereView, SchemaView
from workflows.api.urls import urlpatterns
from workflows.models import ApiKey, Entity, Execution, InboundMessage, Incident, Version, Workflow
from workflows.services import entities
from workflows.services.inbound import receive_message
from workflows.services.incidents import raise_incident

Clients = Callable[..., Api]
Call = tuple[str, str, Any]

READS: list[Call] = [
    ("GET", "events/messages/", None),
    ("GET", "events/messages/{message}/", None),
    ("GET", "workflows/", None),
    ("GET", "workflows/{workflow}/", None),
    ("GET", "workflows/export/?id={workflow}", None),
    ("GET", "workflows/{workflow}/versions/", None),
    ("GET", "workflows/{workflow}/versions/1/", None),
    ("GET", "executions/", None),
    ("GET", "executions/{execution}/", None),
    ("GET", "executions/{execution}/timeline/", None),
    ("GET", "executions/{execution}/context/", None),
    ("GET", "incidents/", None),
    ("GET", "catalog/actions/", None),
    ("GET", "catalog/triggers/", None),
    ("GET", "catalog/operators/", None),
    ("GET", "catalog/reasons/", None),
]
OPERATES: list[Call] = [
    ("POST", "events/messages/", inbound_event()),
    ("POST", "executions/{execution}/cancel/", {"reason": "test", "state_version": 0}),
    ("POST", "executions/{execution}/resume/", {"reason": "test", "state_version": 0}),
    ("POST", "executions/{execution}/retry-wait/", {"reason": "test", "state_version": 0}),
    ("POST", "incidents/{incident}/close/", None),
]
EDITS: list[Call] = [
    ("POST", "workflows/", automation(name="Otro")),
    ("POST", "workflows/validate/", automation()),
    ("POST", "workflows/reorder/", {"workflows": ["{workflow}"]}),
    ("PUT", "workflows/{workflow}/draft/", automation()),
    ("POST", "workflows/{workflow}/publish/", None),
    ("POST", "workflows/{workflow}/pause/", None),
    ("POST", "workflows/{workflow}/activate/", None),
    ("DELETE", "workflows/{workflow}/", None),
]
ALL = [*READS, *OPERATES, *EDITS]
NEEDED: dict[str, list[Call]] = {
    "viewer": READS,
    "operator": [*READS, *OPERATES],
    "editor": ALL,
    "admin": ALL,
}
EVENTS = [("POST", "events/messages/"), ("GET", "events/messages/")]


@pytest.fixture
def ids(publish: Callable[..., Workflow], entity: Entity, other_entity: Entity) -> dict[str, dict[str, str]]:
    """Ids of a workflow, an execution and a message of each of two entities, by the entity's CRM id."""
    found = {}
    for of in (entity, other_entity):
        workflow = publish(None, of)
        decision = receive_message(entity=of, event={**inbound_event(), "extra": {}})
        with tenancy.entity(of.pk):
            message = InboundMessage.objects.get(entity_id=of.pk)
            raise_incident(entity_id=of.pk, cause="c", reason="unexpected", execution_id=None, data={})
            incident = Incident.objects.get(entity_id=of.pk)
        found[of.external_id] = {
            "workflow": str(workflow.pk),
            "execution": str(decision.execution_id),
            "message": str(message.pk),
            "incident": str(incident.pk),
        }
    return found


def send(client: Api, call: Call, ids: dict[str, str], **headers: Any) -> Any:
    method, path, body = call
    if isinstance(body, dict) and "workflows" in body:
        body = {"workflows": [ids["workflow"]]}
    return client.call(method, path.format(**ids), body, **headers)


def test_the_matrix_has_every_endpoint() -> None:
    public = {SchemaView, DocsView, NowhereView}
    served = set()
    for route in urlpatterns:
        assert isinstance(route, URLPattern)
        view = route.callback.view_class  # type: ignore[attr-defined]
        if view not in public:
            served |= {
                (method.upper(), str(route.pattern))
                for method in ("get", "post", "put", "delete", "patch")
                if hasattr(view, method)
            }
    plain = {
        "<uuid:message_id>": "{message}",
        "<uuid:workflow_id>": "{workflow}",
        "<uuid:execution_id>": "{execution}",
        "<int:number>": "1",
        "<int:incident_id>": "{incident}",
    }
    for converter, name in plain.items():
        served = {(method, path.replace(converter, name)) for method, path in served}
    assert served == {(method, path.partition("?")[0]) for method, path, _ in ALL}


@pytest.mark.parametrize("call", ALL, ids=lambda call: f"{call[0]} {call[1]}")
def test_roles(call: Call, api: Clients, entity: Entity, ids: dict[str, dict[str, str]]) -> None:
    own = ids[entity.external_id]
    for role, may in NEEDED.items():
        response = send(api(role), call, own)
        if call not in may:
            assert (role, response.status_code) == (role, 403)
            assert body_of(response)["code"] == "permission_denied"
        else:
            assert (role, response.status_code) not in [(role, status) for status in (401, 403, 404, 500)]
    response = send(api("events"), call, own)
    assert (response.status_code == 403) is (call[:2] not in EVENTS)
    anonymous = send(Api(None), call, own)
    assert (anonymous.status_code, anonymous["WWW-Authenticate"]) == (401, 'Bearer realm="boostflow"')


@pytest.mark.rule("G6")
@pytest.mark.parametrize(
    "call", [call for call in ALL if "{" in call[1]], ids=lambda call: f"{call[0]} {call[1]}"
)
def test_ids_of_another_entity_are_404(
    call: Call, api: Clients, entity: Entity, other_entity: Entity, ids: dict[str, dict[str, str]]
) -> None:
    foreign = ids[other_entity.external_id]
    before = snapshot(other_entity)
    unknown = send(api(), call, {name: "999999" if name == "incident" else str(uuid4()) for name in foreign})
    response = send(api(), call, foreign)
    assert (response.status_code, unknown.status_code) == (404, 404)
    first, second = body_of(response), body_of(unknown)
    assert {**first, "instance": ""} == {**second, "instance": ""}
    assert snapshot(other_entity) == before


@pytest.mark.rule("G6")
def test_lists_show_one_entity_only(
    api: Clients, entity: Entity, other_entity: Entity, ids: dict[str, dict[str, str]]
) -> None:
    for path, name in (
        ("events/messages/", "message"),
        ("workflows/", "workflow"),
        ("executions/", "execution"),
    ):
        for of in (entity, other_entity):
            rows = body_of(api("viewer", of).get(path))["results"]
            assert [row["id"] for row in rows] == [ids[of.external_id][name]]


def test_reorder_refuses_another_entitys_workflow(
    api: Clients, entity: Entity, other_entity: Entity, ids: dict[str, dict[str, str]]
) -> None:
    both = [ids[entity.external_id]["workflow"], ids[other_entity.external_id]["workflow"]]
    assert api().post("workflows/reorder/", {"workflows": both}).status_code == 422


def test_a_key_of_an_entity_stays_with_it(api: Clients, entity: Entity, other_entity: Entity) -> None:
    client = api("viewer")
    assert client.get("workflows/", X_Entity_Id="acme").status_code == 200
    assert client.get("workflows/", X_Entity_Id="globex").status_code == 404
    assert client.get("workflows/", X_Entity_Id="nobody").status_code == 404


def test_a_platform_key_names_its_entity(
    api: Clients, entity: Entity, other_entity: Entity, ids: dict[str, dict[str, str]]
) -> None:
    client = api("viewer", None)
    missing = client.get("workflows/")
    assert (missing.status_code, body_of(missing)["code"]) == (400, "entity_required")
    assert client.get("workflows/", X_Entity_Id="nobody").status_code == 404
    rows = body_of(client.get("workflows/", X_Entity_Id="globex"))["results"]
    assert [row["id"] for row in rows] == [ids["globex"]["workflow"]]


def test_a_platform_key_of_some_entities_reaches_no_other(
    api: Clients, entity: Entity, other_entity: Entity
) -> None:
    key, secret = entities.create_api_key(entity=None, name="some", role="viewer", entities=[entity])
    client = Api(secret)
    assert client.get("workflows/", X_Entity_Id="acme").status_code == 200
    assert client.get("workflows/", X_Entity_Id="globex").status_code == 404
    key.entities.clear()
    assert client.get("workflows/", X_Entity_Id="acme").status_code == 404


@pytest.mark.parametrize(
    "header", ["Basic YTpi", "Bearer", "Bearer ", "Bearer wrong", "bearer bf_\u00f1", "Bearer a b"]
)
def test_a_wrong_header_is_401(entity: Entity, header: str) -> None:
    response = Api(None).get("workflows/", Authorization=header)
    assert (response.status_code, body_of(response)["code"]) == (401, "authentication_failed")
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_revoked_key_is_401(api: Clients, entity: Entity) -> None:
    client = api("admin")
    assert client.get("workflows/").status_code == 200
    ApiKey.objects.update(revoked_at=timezone.now())
    assert client.get("workflows/").status_code == 401


@pytest.mark.parametrize("junk", ["x", "1", "../../etc", "00000000-0000-0000-0000-00000000000g", "a\x00b"])
def test_ids_that_are_none_are_404(api: Clients, entity: Entity, junk: str) -> None:
    client = api()
    for path in ("events/messages/", "workflows/", "executions/"):
        response = client.get(f"{path}{junk}/")
        assert (response.status_code, body_of(response)["code"]) == (404, "not_found")


def snapshot(entity: Entity) -> list[Any]:
    """What an act could change."""
    with tenancy.entity(entity.pk):
        return [
            list(Workflow.objects.filter(entity_id=entity.pk).values()),
            Version.objects.filter(entity_id=entity.pk).count(),
            list(Execution.objects.filter(entity_id=entity.pk).values()),
            list(InboundMessage.objects.filter(entity_id=entity.pk).values()),
        ]
