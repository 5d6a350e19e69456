"""Open an incident once per cause, and close it (one writer of its table)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from workflows import clock, tenancy
from workflows.errors import IllegalTransition, NotFound
from workflows.jsontext import dumps
from workflows.models import Entity, Incident

log = structlog.get_logger(__name__)

RAISING = frozenset({"unexpected", "poisoned"})
"""Reasons that are faults of the installation, not of a workflow or a service."""

_RAISE = """
insert into workflows_incident (entity_id, cause, reason, execution_id, count, data, opened_at, last_at, closed_by)
values (%s, %s, %s, %s, 1, %s, boostflow_now(), boostflow_now(), '')
on conflict (entity_id, cause) where closed_at is null
do update set count = workflows_incident.count + 1, last_at = excluded.last_at, execution_id = excluded.execution_id,
    data = excluded.data
"""


def raise_incident(
    *, entity_id: int, cause: str, reason: str, execution_id: UUID | None, data: Mapping[str, Any]
) -> None:
    """Open the incident of a cause, or count its repeat; in the caller's scope."""
    with connection.cursor() as cursor:
        cursor.execute(_RAISE, [entity_id, cause[:200], reason, execution_id, dumps(data)])
    log.error("incident", cause=cause, reason=reason, execution_id=str(execution_id))


def close_incident(*, entity: Entity, incident_id: int, actor: str) -> None:
    """Somebody has dealt with it; a repeat opens a new one. NotFound, or IllegalTransition if it is closed."""
    with tenancy.entity(entity.pk):
        mine = Incident.objects.filter(pk=incident_id, entity_id=entity.pk)
        if mine.filter(closed_at__isnull=True).update(closed_at=clock.now(), closed_by=actor):
            return
        raise IllegalTransition if mine.exists() else NotFound
