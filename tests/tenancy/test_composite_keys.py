"""A row cannot refer to a row of another entity, whichever relation it is (G6, decision 21).

Foreign-key checks ignore row security, so only the entity in the key refuses these.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from psycopg.errors import ForeignKeyViolation

from tests.tenancy.conftest import Tenant, guards
from workflows import tenancy

pytestmark = [pytest.mark.rule("G6"), pytest.mark.rule("decision-21")]

FREE: dict[str, dict[str, Any]] = {
    "workflow": {"priority": 99, "current_version_id": None, "status": "draft"},
    "version": {"number": 99},
    "step": {"position": 99, "key": "libre"},
    "execution": {"status": "completed", "finished_at": "2026-01-01T00:00:00Z", "trigger_message_id": None},
    "frame": {"status": "done"},
    "inboundmessage": {"message_id": "libre", "execution_id": None, "workflow_id": None},
}
"""Changes by which a copy of a row is another one, to which nothing refers yet."""
CHILD: dict[str, dict[str, Any]] = {
    **FREE,
    "version": {"number": 98},
    "action": {"position": 98},
    "step": {"position": 98, "key": "otra"},
    "inboundmessage": {"message_id": "otra"},
    "execution": {"status": "completed", "finished_at": "2026-01-01T00:00:00Z"},
    "steprun": {"seq": 98},
    "attempt": {"seq": 98},
    "wait": {"state": "resolved"},
    "incident": {"cause": "otra"},
}
UUIDS = {"workflow", "execution", "frame", "inboundmessage", "wait"}


def insert_copy(table: str, **changes: Any) -> Any:
    """Copy one row of the entity in scope with changes; the id of the copy."""
    new = str(uuid4()) if table in UUIDS else 10**12 + uuid4().int % 10**6
    with connection.cursor() as cursor:
        cursor.execute(
            f"""insert into workflows_{table} select (jsonb_populate_record(null::workflows_{table},
                to_jsonb(t) || %s::jsonb)).* from workflows_{table} t order by id limit 1 returning id""",
            [json.dumps({**changes, "id": new})],
        )
        (found,) = cursor.fetchone()
    return found


def free_parent(of: int, table: str) -> Any:
    """A row of an entity to which a new child may refer."""
    more: dict[str, Any] = {}
    with tenancy.entity(of):
        if table == "frame":
            more["execution_id"] = str(insert_copy("execution", **FREE["execution"]))
        return insert_copy(table, **FREE[table], **more)


@pytest.mark.parametrize(
    ("child", "column", "parent"),
    [key[:3] for key in guards.COMPOSITE_KEYS],
    ids=[f"{key[0]}.{key[1]}" for key in guards.COMPOSITE_KEYS],
)
def test_a_reference_into_another_entity_is_refused(
    tenants: tuple[Tenant, Tenant], child: str, column: str, parent: str
) -> None:
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    own, foreign = free_parent(mine, parent), free_parent(theirs, parent)
    changes: dict[str, Any] = {**CHILD.get(child, {}), column: str(own)}
    if column == "parent_id":
        changes["engine"] = "pipeline"
    with tenancy.entity(mine), transaction.atomic():  # the same row with a reference of its own is taken
        assert insert_copy(child, **changes) is not None
        transaction.set_rollback(True)
    with pytest.raises(IntegrityError) as refused, tenancy.entity(mine):
        insert_copy(child, **{**changes, column: str(foreign)})
    cause = refused.value.__cause__
    assert isinstance(cause, ForeignKeyViolation)
    assert cause.diag.constraint_name == f"{child}_{column.removesuffix('_id')}_same_entity"


def test_a_workflow_belongs_to_a_known_entity(tenants: tuple[Tenant, Tenant]) -> None:
    unknown = 10**9
    refused = pytest.raises(IntegrityError, match="workflow_of_known_entity")
    with refused, tenancy.entity(unknown), connection.cursor() as cursor:
        cursor.execute(
            """insert into workflows_workflow (id, entity_id, kind, name, status, created_at, updated_at)
            values (%s, %s, 'automation', 'x', 'draft', now(), now())""",
            [uuid4(), unknown],
        )
