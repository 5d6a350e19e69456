"""What the catalogue and the source say: policies, roles, immutable versions, settings (G6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection

from boostflow.env import ROOT
from tests.builders import inbound_event
from tests.tenancy.conftest import TABLES, TENANT_MODELS, Tenant, guards
from workflows import tenancy
from workflows.models import Entity, Execution, Frame, Timer, Version, Wait, Workflow
from workflows.services import sweeps, timers
from workflows.services.advance import advance
from workflows.services.inbound import receive_message

pytestmark = pytest.mark.rule("G6")

Sql = Callable[..., list[Any]]
WITHOUT_POLICY = {"workflows_timer", "workflows_apikey", "workflows_membership", "workflows_apikey_entities"}
"""Read before an entity is known; they hold no content."""
SHIPPED = ("boostflow", "workflows", "actions", "pipelines", "triggers", "manage.py")


def test_every_table_with_an_entity_is_guarded_or_named(clean: object, sql: Sql) -> None:
    with_entity = sql(
        """select c.relname, c.relrowsecurity and c.relforcerowsecurity,
            (select array_agg(format('%%s:%%s:%%s', p.polname, p.polcmd, p.polpermissive) order by p.polname)
             from pg_policy p where p.polrelid = c.oid)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'entity_id' and not a.attisdropped
        where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace"""
    )
    policies = ["tenant_delete:d:t", "tenant_insert:a:t", "tenant_read:r:t", "tenant_update:w:t"]
    assert {name: (forced, found) for name, forced, found in with_entity} == {
        **dict.fromkeys(TABLES, (True, policies)),
        **dict.fromkeys(WITHOUT_POLICY, (False, None)),
    }


def test_the_models_are_those_of_the_migration() -> None:
    assert sorted(TABLES) == sorted(f"workflows_{table}" for table in guards.TENANT_TABLES)
    with_entity = {
        model._meta.db_table
        for model in apps.get_app_config("workflows").get_models(include_auto_created=True)
        if any(field.column == "entity_id" for field in model._meta.concrete_fields)
    }
    assert with_entity == {*TABLES, *WITHOUT_POLICY}


def test_every_relation_between_tenants_tables_has_a_composite_key(clean: object, sql: Sql) -> None:
    relations = {
        (model._meta.db_table, field.column, field.related_model._meta.db_table)
        for model in TENANT_MODELS
        for field in model._meta.concrete_fields
        if field.related_model is not None
    }
    named = {(f"workflows_{c}", column, f"workflows_{p}") for c, column, p, _extra in guards.COMPOSITE_KEYS}
    stored = sql(
        """select c.conrelid::regclass::text, a.attname, c.confrelid::regclass::text from pg_constraint c
        join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[2]
        where c.contype = 'f' and c.conname like '%%\\_same\\_entity' and cardinality(c.conkey) = 2
            and c.convalidated and (select attname from pg_attribute
                where attrelid = c.conrelid and attnum = c.conkey[1]) = 'entity_id'"""
    )
    assert relations == named == set(stored)


def test_the_application_role_is_bound_by_the_guards(clean: object, sql: Sql) -> None:
    ((superuser, bypass, create_role, create_db),) = sql(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user"
    )
    assert (superuser, bypass, create_role, create_db) == (False, False, False, False)
    owned = sql(
        "select relname from pg_class where pg_has_role(relowner, 'member') and relname = any(%s)", TABLES
    )
    assert owned == []


@pytest.mark.parametrize(
    "statement",
    [
        "alter table workflows_workflow disable row level security",
        "alter table workflows_workflow no force row level security",
        "alter table workflows_version disable trigger all",
        "drop policy tenant_read on workflows_workflow",
        "truncate workflows_workflow cascade",
        "create or replace function boostflow_may_read() returns boolean language sql return true",
        "set local session_replication_role = replica",
        "set role boostflow_owner",
    ],
)
def test_the_application_role_cannot_take_a_guard_away(clean: object, sql: Sql, statement: str) -> None:
    with pytest.raises(DatabaseError, match=r"must be owner|permission denied"):
        sql(statement)


def test_switching_row_security_off_shows_nothing(tenants: tuple[Tenant, Tenant]) -> None:
    refused = pytest.raises(DatabaseError, match="affected by row-level security")
    with refused, tenancy.entity(tenants[0].entity.pk), connection.cursor() as cursor:
        cursor.execute("set local row_security = off")
        cursor.execute("select * from workflows_workflow")


@pytest.mark.rule("decision-22")
@pytest.mark.parametrize("table", ["version", "versiontrigger", "step", "action"])
def test_versions_and_their_rows_refuse_updates(tenants: tuple[Tenant, Tenant], table: str) -> None:
    of = tenants[0].entity.pk
    read = f"select to_jsonb(t) from workflows_{table} t order by id"
    with tenancy.entity(of), connection.cursor() as cursor:
        cursor.execute(read)
        before = cursor.fetchall()
        assert before
    for change in ("id = id", "entity_id = entity_id"):
        with (
            pytest.raises(DatabaseError, match="immutable"),
            tenancy.entity(of),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"update workflows_{table} set {change}")
    with tenancy.entity(of), connection.cursor() as cursor:
        cursor.execute(read)
        assert cursor.fetchall() == before


def test_the_orm_cannot_change_a_version(tenants: tuple[Tenant, Tenant]) -> None:
    with tenancy.entity(tenants[0].entity.pk):
        version = Version.objects.get()
    version.definition = {}
    with pytest.raises(DatabaseError, match="immutable"), tenancy.entity(tenants[0].entity.pk):
        version.save()


def test_sweep_and_timers_work_as_the_application_role(
    tenants: tuple[Tenant, Tenant], hints: list[Any], work: Callable[[], int]
) -> None:
    past = "2020-01-01T00:00:00Z"
    for tenant in tenants:
        with tenancy.entity(tenant.entity.pk):
            Wait.objects.update(deadline=past)
    assert Timer.objects.update(due_at=past) == 2
    assert timers.fire_due() == 2
    assert sorted(hint[0] for hint in hints) == sorted(tenant.entity.pk for tenant in tenants)
    hints.clear()
    for tenant in tenants:
        with tenancy.entity(tenant.entity.pk):
            Frame.objects.update(lease_until=past)
    assert sweeps.sweep() == {"timers": 0, "frames": 2, "queued_too_long": 0}
    work()
    for tenant in tenants:
        with tenancy.entity(tenant.entity.pk):
            assert Execution.objects.get().status == "completed"


def test_a_hint_under_another_entity_does_nothing(
    entity: Entity, other_entity: Entity, publish: Callable[..., Workflow], hints: list[Any]
) -> None:
    publish()
    receive_message(entity=entity, event={**inbound_event(), "extra": {}})
    ((_entity, frame_id, state_version, _queue),) = hints
    advance(entity_id=other_entity.pk, frame_id=frame_id, state_version=state_version)
    with tenancy.entity(entity.pk):
        frame = Frame.objects.get()
    assert (frame.state_version, frame.status) == (state_version, "running")


def sources() -> Iterator[Path]:
    """Every file of the tree that is shipped."""
    for name in SHIPPED:
        found = ROOT / name
        files = [found] if found.is_file() else found.rglob("*")
        yield from (file for file in files if file.suffix in {".py", ".sql", ".html", ".txt"})


SESSION_WIDE = re.compile(
    r"set_config\([^)]*,\s*false\s*\)"
    r"|\bset\s+session\b"
    r"|\bset\s+(?:session\s+|local\s+)?boostflow\."
    r"|\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "line",
    [
        "select set_config('boostflow.entity', %s, false)",
        "SET SESSION statement_timeout = 1",
        "SET boostflow.entity = '1'",
        "set local boostflow.fleet = 'x'",
        "select pg_advisory_lock(1)",
        "select pg_try_advisory_lock(1)",
    ],
)
def test_the_search_finds_what_outlives_a_transaction(line: str) -> None:
    assert SESSION_WIDE.search(line)


def test_nothing_in_the_tree_outlives_a_transaction() -> None:
    files = list(sources())
    assert ROOT / "workflows" / "tenancy.py" in files
    assert SESSION_WIDE.search("select set_config('boostflow.entity', %s, true)") is None
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if SESSION_WIDE.search(line)
    ]
    assert found == []
