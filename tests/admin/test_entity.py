"""In which entity a person acts, and who sees which pages at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from workflows.models import Entity, Membership

EXECUTIONS = "/admin/workflows/execution/"


def test_the_first_membership_is_chosen(
    story: dict[str, Any], other_entity: Entity, login: Callable[..., Client]
) -> None:
    page = login(other_entity, story["entity"]).get(EXECUTIONS).content.decode()
    assert "Globex" in page
    assert str(story["execution"]) not in page


def test_switching_shows_the_other_entity(
    story: dict[str, Any], other_entity: Entity, login: Callable[..., Client]
) -> None:
    client = login(other_entity, story["entity"])
    assert client.post("/admin/entity/", {"entity": "acme"}).status_code == 302
    page = client.get(EXECUTIONS).content.decode()
    assert "Acme" in page
    assert str(story["execution"]) in page


def test_an_entity_without_membership_cannot_be_chosen(
    entity: Entity, other_entity: Entity, login: Callable[..., Client]
) -> None:
    client = login(entity)
    response = client.post("/admin/entity/", {"entity": "globex"})
    assert response.status_code == 404
    assert "You cannot act in that entity." in response.content.decode()
    assert "Acme" in client.get(EXECUTIONS).content.decode()


def test_a_membership_that_ended_ends_the_choice(
    entity: Entity, other_entity: Entity, login: Callable[..., Client]
) -> None:
    client = login(entity, other_entity)
    client.post("/admin/entity/", {"entity": "globex"})
    Membership.objects.filter(entity=other_entity).delete()
    assert "Acme" in client.get(EXECUTIONS).content.decode()


def test_switching_needs_the_token(
    entity: Entity, other_entity: Entity, login: Callable[..., Client]
) -> None:
    login(entity, other_entity)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get())
    assert client.post("/admin/entity/", {"entity": "globex"}).status_code == 403


def test_a_superuser_acts_in_any_entity(
    entity: Entity, other_entity: Entity, login: Callable[..., Client]
) -> None:
    client = login(superuser=True)
    assert "Acme" in client.get(EXECUTIONS).content.decode()
    client.post("/admin/entity/", {"entity": "globex"})
    assert "Globex" in client.get(EXECUTIONS).content.decode()


@pytest.mark.parametrize("path", ["/admin/", EXECUTIONS, "/admin/workflows/workflow/", "/admin/entity/"])
def test_without_membership_a_page_says_so(path: str, entity: Entity, login: Callable[..., Client]) -> None:
    response = login().get(path)
    assert response.status_code == 403
    assert "You are a member of no entity" in response.content.decode()


def test_djangos_permissions_open_nothing(entity: Entity, login: Callable[..., Client]) -> None:
    client = login()
    User.objects.get().user_permissions.set(Permission.objects.all())
    assert client.get(EXECUTIONS).status_code == 403
    assert client.get("/admin/auth/user/").status_code == 403


def test_nobody_is_let_in_without_login(entity: Entity) -> None:
    response = Client().get(EXECUTIONS)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize(
    "table", ["workflows/entity", "workflows/apikey", "workflows/membership", "auth/user"]
)
def test_accounts_are_the_superusers(table: str, entity: Entity, login: Callable[..., Client]) -> None:
    assert login(superuser=True).get(f"/admin/{table}/").status_code == 200
    assert login(entity, role="admin").get(f"/admin/{table}/").status_code == 403


@pytest.mark.parametrize("table", ["workflows/entity", "workflows/apikey"])
def test_entities_and_keys_are_read_only(table: str, entity: Entity, login: Callable[..., Client]) -> None:
    client = login(superuser=True)
    assert client.get(f"/admin/{table}/add/").status_code == 403
    assert client.post(f"/admin/{table}/{entity.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Entity.objects.filter(pk=entity.pk).exists()


def test_a_superuser_gives_a_membership(entity: Entity, login: Callable[..., Client]) -> None:
    client = login(superuser=True)
    person = User.objects.create_user("nueva", is_staff=True)
    data = {"user": person.pk, "entity": entity.pk, "role": "viewer"}
    assert client.post("/admin/workflows/membership/add/", data).status_code == 302
    assert Membership.objects.get().role == "viewer"
