"""Fixtures of every test that needs PostgreSQL: a database of this run, entities, workflows, API clients.

Nothing here is automatic: a test that asks for none of them stays without a database.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from boostflow.env import environment
from devtools import services as servers
from tests.builders import Api, automation, inbound_event
from workflows import hints as hints_module
from workflows.models import Entity, Workflow
from workflows.services import entities, publishing
from workflows.services.advance import advance

KEPT_TABLES = {"django_migrations", "django_content_type", "auth_permission"}
Hint = tuple[int, UUID, int, str]


@pytest.fixture(scope="session")
def database(django_db_blocker: DjangoDbBlocker) -> Iterator[list[str]]:
    """A migrated database of this run, reached as the application role; the tables that tests fill.

    Where DATABASE_URL is set, its name with `_test` behind it must exist and is used instead.
    """
    aliases = [connections.settings[alias] for alias in ("default", "owner")]
    name = f"{aliases[0]['NAME']}_test"
    with ExitStack() as stack:
        if not environment().database_url:
            name = f"{name}_{os.getpid()}"
            stack.enter_context(servers.running())
            servers.create_database(name)
            stack.callback(servers.drop_database, name)
        stack.enter_context(django_db_blocker.unblock())
        for alias in aliases:
            alias["NAME"] = name
        settings.ENV = "test"
        settings.WHITENOISE_AUTOREFRESH = (
            True  # looks for a static file when asked: listing all per client is slow
        )
        call_command("migrate", database="owner", verbosity=0, interactive=False)
        with connections["owner"].cursor() as cursor:
            cursor.execute(f'alter database "{name}" set synchronous_commit = off')
            cursor.execute("set lock_timeout = '20s'")
            tables = connections["owner"].introspection.table_names(cursor)
        connections["default"].close()
        stack.callback(connections.close_all)
        yield sorted(set(tables) - KEPT_TABLES)


@pytest.fixture
def clean(
    database: list[str], django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Hint]]:
    """Empty tables; yields the hints that the test's commits send, which reach no broker.

    Identities are not restarted: compiled versions are cached by id for the life of the process.
    """
    sent: list[Hint] = []
    monkeypatch.setattr(hints_module, "send", lambda *hint: sent.append(hint))
    with django_db_blocker.unblock():
        with connections["owner"].cursor() as cursor:
            cursor.execute("truncate {}".format(", ".join(f'"{table}"' for table in database)))
        yield sent


@pytest.fixture
def hints(clean: list[Hint]) -> list[Hint]:
    """The hints sent so far: entity, frame, state version, queue."""
    return clean


@pytest.fixture
def work(hints: list[Hint]) -> Callable[[], int]:
    """Do what the workers would: advance every hinted frame until none is left; how many hints that were."""

    def run(limit: int = 200) -> int:
        for done in itertools.count():
            if not hints or done == limit:
                return done
            entity_id, frame_id, state_version, queue = hints.pop(0)
            advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, queue=queue)
        raise AssertionError

    return run


@pytest.fixture
def make_entity(clean: list[Hint]) -> Callable[..., Entity]:
    """Create a further entity."""
    numbers = itertools.count(1)

    def make(external_id: str | None = None, timezone: str = "America/Guatemala") -> Entity:
        chosen = external_id or f"entity-{next(numbers)}"
        return entities.create_entity(
            external_id=chosen,
            name=chosen.title(),
            timezone=timezone,
            system_user_id="u-1",
            system_employee_id="e-1",
        )[0]

    return make


@pytest.fixture
def entity(make_entity: Callable[..., Entity]) -> Entity:
    """The entity of the test."""
    return make_entity("acme")


@pytest.fixture
def other_entity(make_entity: Callable[..., Entity]) -> Entity:
    """Another tenant."""
    return make_entity("globex")


@pytest.fixture
def document() -> Callable[..., dict[str, Any]]:
    """Build a small valid automation; see `tests.builders.automation`."""
    return automation


@pytest.fixture
def event() -> Callable[..., dict[str, Any]]:
    """Build an inbound message; see `tests.builders.inbound_event`."""
    return inbound_event


@pytest.fixture
def make_workflow(entity: Entity) -> Callable[..., Workflow]:
    """Store a document as a draft, of the test's entity if no other is given."""

    def make(document: dict[str, Any] | None = None, of: Entity | None = None) -> Workflow:
        return publishing.create_workflow(entity=of or entity, document=document or automation()).workflow

    return make


@pytest.fixture
def publish(entity: Entity, make_workflow: Callable[..., Workflow]) -> Callable[..., Workflow]:
    """Store and publish a document."""

    def make(document: dict[str, Any] | None = None, of: Entity | None = None) -> Workflow:
        workflow = make_workflow(document, of)
        return publishing.publish_workflow(
            entity=of or entity, workflow_id=workflow.pk, actor="test"
        ).workflow

    return make


@pytest.fixture
def api(entity: Entity) -> Callable[..., Api]:
    """A client with a new key; `of=None` gives a platform key, which names its entity per request."""
    own = entity

    def make(role: str = "admin", of: Entity | None = own, language: str = "en") -> Api:
        _key, secret = entities.create_api_key(entity=of, name=f"test {role}", role=role)
        return Api(secret, language)

    return make
