"""Operators at the console: what a page offers, what a POST does, and what a stale one is told (decision 14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from devtools.sandbox.client import Sandbox
from tests.failures.conftest import SEND, definition
from workflows import tenancy
from workflows.models import Entity, Event, Execution, Incident, Membership
from workflows.services.incidents import raise_incident

Settle = Callable[[], None]
Standing = Callable[[UUID], Execution]


@pytest.fixture
def person(entity: Entity) -> Callable[..., Client]:
    """A client of a member with this role, reading English."""

    def make(role: str = "operator", of: Entity = entity) -> Client:
        user = User.objects.create_user(f"{role}-{User.objects.count()}", is_staff=True)
        Membership.objects.create(user=user, entity=of, role=role)
        client = Client(headers={"accept-language": "en"})
        client.force_login(user)
        return client

    return make


@pytest.fixture
def refused(sandbox: Sandbox, start: Callable[..., UUID], settle: Settle) -> UUID:
    """An execution whose message the CRM refused."""
    sandbox.fault("send_text", status=422)
    execution = start(definition(SEND))
    settle()
    return execution


def page(execution: UUID, verb: str = "change") -> str:
    return f"/admin/workflows/execution/{execution}/{verb}/"


@pytest.mark.rule("decision-14")
def test_an_operator_resumes_from_the_page(
    person: Callable[..., Client], refused: UUID, standing: Standing, settle: Settle, entity: Entity
) -> None:
    client = person()
    shown = client.get(page(refused)).content.decode()
    assert page(refused, "resume") in shown
    form = client.get(page(refused, "resume")).content.decode()
    assert "goes on from the action" in form
    assert standing(refused).status == "paused_error"

    seen = standing(refused).state_version
    answer = client.post(page(refused, "resume"), {"as": "retry", "reason": "mended", "state_version": seen})
    settle()

    assert (answer.status_code, answer["Location"]) == (302, page(refused))
    assert standing(refused).status == "completed"
    with tenancy.entity(entity.pk):
        event = Event.objects.get(execution_id=refused, kind="resumed")
    assert (event.actor, event.data["why"]) == ("user:operator-0", "mended")


@pytest.mark.rule("decision-14")
@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"reason": " ", "state_version": "1"}, 422, "Say why"),
        ({"reason": "x", "state_version": "0"}, 409, "The state has changed since you looked"),
        ({"reason": "x", "state_version": "soon"}, 422, "This is no number."),
        ({"reason": "x", "state_version": "1", "as": "done", "output": "[1]"}, 422, "is a JSON object"),
        ({"reason": "x", "state_version": "1", "as": "done", "output": "{}"}, 422, "output.message_id"),
        ({"reason": "x", "state_version": "1", "version": "9"}, 422, "no such published version"),
    ],
)
def test_a_refused_act_says_why_and_changes_nothing(
    person: Callable[..., Client],
    refused: UUID,
    standing: Standing,
    given: dict[str, str],
    status: int,
    said: str,
) -> None:
    answer = person().post(page(refused, "resume"), {"as": "retry", **given})

    assert answer.status_code == status
    assert said in answer.content.decode()
    assert (standing(refused).status, standing(refused).state_version) == ("paused_error", 1)


@pytest.mark.rule("decision-14")
def test_cancel_asks_first(person: Callable[..., Client], refused: UUID, standing: Standing) -> None:
    client = person()
    assert client.get(page(refused, "cancel")).status_code == 200
    assert standing(refused).status == "paused_error"
    client.post(page(refused, "cancel"), {"reason": "withdrawn", "state_version": 1})
    assert standing(refused).status == "cancelled"
    assert "does not allow this act" in client.get(page(refused, "cancel")).content.decode()


def test_a_viewer_sees_no_act_and_may_do_none(
    person: Callable[..., Client], refused: UUID, standing: Standing
) -> None:
    client = person("viewer")
    assert page(refused, "resume") not in client.get(page(refused)).content.decode()
    assert client.get(page(refused, "resume")).status_code == 404
    assert client.post(page(refused, "cancel"), {"reason": "x", "state_version": 1}).status_code == 404
    assert standing(refused).status == "paused_error"


@pytest.mark.rule("G6")
def test_an_operator_of_another_entity_finds_nothing(
    person: Callable[..., Client], refused: UUID, standing: Standing, other_entity: Entity
) -> None:
    client = person("admin", other_entity)
    for verb in ("change", "resume", "cancel"):
        assert client.get(page(refused, verb)).status_code == 404
    assert client.post(page(refused, "cancel"), {"reason": "x", "state_version": 1}).status_code == 404
    assert standing(refused).status == "paused_error"


def test_a_post_needs_its_token(person: Callable[..., Client], refused: UUID, standing: Standing) -> None:
    user = User.objects.create_superuser("root")
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post(page(refused, "cancel"), {"reason": "x", "state_version": 1}).status_code == 403
    assert standing(refused).status == "paused_error"


def test_incidents_are_shown_and_closed_by_an_operator(person: Callable[..., Client], entity: Entity) -> None:
    with tenancy.entity(entity.pk):
        for _ in range(2):
            raise_incident(
                entity_id=entity.pk,
                cause="unexpected:x",
                reason="unexpected",
                execution_id=None,
                data={"detail": "d"},
            )
        incident: Any = Incident.objects.get()
    assert incident.count == 2
    client = person()
    assert "unexpected:x" in client.get("/admin/workflows/incident/").content.decode()
    assert (
        "Close the incident"
        in client.get(f"/admin/workflows/incident/{incident.pk}/change/").content.decode()
    )
    close = f"/admin/workflows/incident/{incident.pk}/close/"
    assert client.get(close).status_code == 405
    assert person("viewer").post(close).status_code == 404

    assert client.post(close).status_code == 302

    with tenancy.entity(entity.pk):
        assert Incident.objects.get().closed_by == "user:operator-0"
