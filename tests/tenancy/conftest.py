"""Two entities, each with at least one row in every table of tenants' data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone

from tests.builders import inbound_event
from workflows import tenancy
from workflows.models import Attempt, Entity, Frame, InboundMessage, Workflow
from workflows.models.base import EntityRow
from workflows.services.inbound import receive_message

guards: Any = import_module("workflows.migrations.0002_database_guards")
TENANT_MODELS: list[type[EntityRow]] = sorted(
    (model for model in apps.get_app_config("workflows").get_models() if issubclass(model, EntityRow)),
    key=lambda model: model.__name__,
)
TABLES = [model._meta.db_table for model in TENANT_MODELS]


@dataclass(frozen=True, slots=True)
class Tenant:
    """An entity with an execution that waits for a reply."""

    entity: Entity
    workflow: Workflow
    execution_id: UUID
    frame_id: UUID
    message_id: UUID


@pytest.fixture
def tenants(
    publish: Callable[..., Workflow],
    work: Callable[[], int],
    entity: Entity,
    other_entity: Entity,
) -> tuple[Tenant, Tenant]:
    """The test's entity and the other one, both filled."""
    first, second = (_fill(of, publish, work) for of in (entity, other_entity))
    return first, second


def _fill(of: Entity, publish: Callable[..., Workflow], work: Callable[[], int]) -> Tenant:
    workflow = publish(None, of)
    decision = receive_message(entity=of, event={**inbound_event(), "extra": {}})
    work()
    with tenancy.entity(of.pk):
        frame = Frame.objects.get(execution_id=decision.execution_id)
        Attempt.objects.create(
            entity_id=of.pk, frame_id=frame.pk, seq=0, idempotency_key="k", started_at=timezone.now()
        )
        message = InboundMessage.objects.get()
    assert decision.execution_id is not None
    return Tenant(of, workflow, decision.execution_id, frame.pk, message.pk)


@pytest.fixture
def sql() -> Callable[..., list[Any]]:
    """One statement of its own transaction as the application role; its rows."""

    def run(statement: str, *parameters: Any) -> list[Any]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    return run
