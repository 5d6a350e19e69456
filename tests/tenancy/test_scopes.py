"""Without a scope nothing is read or written; the fleet reads; a scope ends with its transaction (G6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from tests.tenancy.conftest import TENANT_MODELS, Tenant
from workflows import tenancy
from workflows.errors import ScopeMissing
from workflows.models import Entity, Workflow
from workflows.models.base import EntityRow

pytestmark = [pytest.mark.rule("G6"), pytest.mark.rule("decision-21")]

Sql = Callable[..., list[Any]]
every_model = pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda model: model.__name__)
NO_SCOPE = "no entity scope"


def settings_now() -> tuple[str, str]:
    """What the session holds of the two settings."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select coalesce(current_setting('boostflow.entity', true), ''),"
            " coalesce(current_setting('boostflow.fleet', true), '')"
        )
        entity, fleet = cursor.fetchone()
    return entity, fleet


@every_model
@pytest.mark.parametrize(
    "read",
    [
        lambda rows: list(rows.all()),
        lambda rows: rows.first(),
        lambda rows: rows.count(),
        lambda rows: rows.exists(),
        lambda rows: list(rows.values_list("pk")),
        lambda rows: rows.filter(entity_id=1).update(entity_id=1),
        lambda rows: rows.filter(entity_id=1).delete(),
    ],
    ids=["all", "first", "count", "exists", "values", "update", "delete"],
)
def test_the_orm_refuses_even_where_no_row_would_be_found(
    clean: object, model: type[EntityRow], read: Callable[[Any], Any]
) -> None:
    with pytest.raises(ScopeMissing):
        read(model.objects)


@every_model
def test_the_database_refuses_every_statement_without_a_scope(
    tenants: tuple[Tenant, Tenant], sql: Sql, model: type[EntityRow]
) -> None:
    table = model._meta.db_table
    copy = f"insert into {table} select (jsonb_populate_record(null::{table}, '{{\"entity_id\": 1}}')).*"
    for statement in (
        f"select * from {table}",
        f"select count(*) from {table}",
        copy,
        f"update {table} set entity_id = entity_id",
        f"delete from {table}",
    ):
        with pytest.raises(DatabaseError, match=NO_SCOPE):
            sql(statement)


@every_model
def test_the_fleet_reads_every_entity_and_writes_none(
    tenants: tuple[Tenant, Tenant], model: type[EntityRow]
) -> None:
    table = model._meta.db_table
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    with tenancy.fleet("test"):
        rows = sorted(model.objects.values_list("pk", "entity_id"), key=str)
    assert {entity_id for _pk, entity_id in rows} == {mine, theirs}
    record = f"jsonb_populate_record(null::{table}, jsonb_build_object('entity_id', {mine}))"
    copy = f"insert into {table} select ({record}).*"
    for statement in (copy, f"update {table} set entity_id = entity_id", f"delete from {table}"):
        with (
            pytest.raises(DatabaseError, match="writes need"),
            tenancy.fleet("test"),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    with tenancy.fleet("test"):
        assert sorted(model.objects.values_list("pk", "entity_id"), key=str) == rows


@every_model
def test_a_query_that_forgot_its_entity_finds_nothing_of_another(
    tenants: tuple[Tenant, Tenant], model: type[EntityRow]
) -> None:
    table = model._meta.db_table
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    with tenancy.entity(theirs):
        untouched = sorted(model.objects.values_list("pk", flat=True), key=str)
    assert untouched
    with tenancy.entity(mine), connection.cursor() as cursor:
        assert set(model.objects.values_list("entity_id", flat=True)) == {mine}
        assert not model.objects.filter(pk__in=untouched).exists()
        cursor.execute(f"select count(*) from {table} where entity_id <> %s", [mine])
        assert cursor.fetchone() == (0,)
        cursor.execute("set constraints all deferred")
        cursor.execute(f"delete from {table} where entity_id = %s", [theirs])
        assert cursor.rowcount == 0
    with tenancy.entity(theirs):
        assert sorted(model.objects.values_list("pk", flat=True), key=str) == untouched


@every_model
def test_a_row_cannot_be_written_for_or_given_to_another_entity(
    tenants: tuple[Tenant, Tenant], model: type[EntityRow]
) -> None:
    table = model._meta.db_table
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    copy = f"""insert into {table} select (jsonb_populate_record(null::{table},
        to_jsonb(t) || jsonb_build_object('entity_id', {theirs}))).* from {table} t limit 1"""
    with (
        pytest.raises(DatabaseError, match="row-level security"),
        tenancy.entity(mine),
        connection.cursor() as cursor,
    ):
        cursor.execute(copy)
    with (
        pytest.raises(DatabaseError, match=r"row-level security|immutable"),
        tenancy.entity(mine),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"update {table} set entity_id = {theirs}")


def process_id() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        found: int = cursor.fetchone()[0]
    return found


@pytest.mark.parametrize("scope", ["entity", "fleet"])
@pytest.mark.parametrize("ending", ["commit", "error", "database_error"])
def test_the_setting_ends_with_its_transaction(
    tenants: tuple[Tenant, Tenant], sql: Sql, scope: str, ending: str
) -> None:
    before = process_id()

    def use() -> None:
        with tenancy.entity(tenants[0].entity.pk) if scope == "entity" else tenancy.fleet("test"):
            assert Workflow.objects.exists()
            assert settings_now() != ("", "")
            if ending == "error":
                raise LookupError
            if ending == "database_error":
                with connection.cursor() as cursor:
                    cursor.execute("select 1 / 0")

    if ending == "commit":
        use()
    else:
        with pytest.raises((LookupError, DatabaseError)):
            use()
    assert process_id() == before
    assert settings_now() == ("", "")
    with pytest.raises(DatabaseError, match=NO_SCOPE):
        sql("select * from workflows_workflow")
    with pytest.raises(ScopeMissing):
        Workflow.objects.exists()


@pytest.mark.parametrize("ending", ["commit", "error"])
def test_the_setting_ends_with_its_scope_inside_an_open_transaction(
    tenants: tuple[Tenant, Tenant], ending: str
) -> None:
    with transaction.atomic():
        if ending == "commit":
            with tenancy.entity(tenants[0].entity.pk):
                assert Workflow.objects.count() == 1
        else:
            with pytest.raises(LookupError), tenancy.entity(tenants[0].entity.pk):
                raise LookupError
        assert settings_now() == ("", "")
        with tenancy.entity(tenants[1].entity.pk):
            assert Workflow.objects.get().pk == tenants[1].workflow.pk


def test_one_statement_of_the_engine_leaves_no_setting(tenants: tuple[Tenant, Tenant], sql: Sql) -> None:
    before = process_id()
    entity_id = tenants[0].entity.pk
    found = tenancy.run_statement(entity_id, "select id from workflows_workflow where %s", [True])
    assert found == [(tenants[0].workflow.pk,)]
    with pytest.raises(Exception, match="division by zero"):
        tenancy.run_statement(entity_id, "select 1 / 0 from workflows_workflow", [])
    assert process_id() == before
    assert settings_now() == ("", "")
    with pytest.raises(DatabaseError, match=NO_SCOPE):
        sql("select * from workflows_workflow")


def test_one_statement_of_the_engine_stays_in_the_open_scope(tenants: tuple[Tenant, Tenant]) -> None:
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    with tenancy.entity(mine), pytest.raises(ScopeMissing):
        tenancy.run_statement(theirs, "select id from workflows_workflow", [])


def test_scopes_of_different_entities_do_not_nest(tenants: tuple[Tenant, Tenant]) -> None:
    mine, theirs = (tenant.entity.pk for tenant in tenants)
    scopes: dict[str, Callable[[], Any]] = {
        "mine": lambda: tenancy.entity(mine),
        "theirs": lambda: tenancy.entity(theirs),
        "fleet": lambda: tenancy.fleet("test"),
    }
    for outer, open_outer in scopes.items():
        for inner, open_inner in scopes.items():
            with open_outer():
                if outer == inner:
                    with open_inner():
                        assert Workflow.objects.exists()
                else:
                    with pytest.raises(ScopeMissing), open_inner():
                        raise AssertionError("opened")
                assert Workflow.objects.exists()


def test_an_inner_scope_of_the_same_entity_that_fails_undoes_its_own_work_only(
    entity: Entity, make_workflow: Callable[..., Workflow]
) -> None:
    workflow = make_workflow()
    with tenancy.entity(entity.pk):
        Workflow.objects.filter(pk=workflow.pk).update(name="outer")
        with suppress(LookupError), tenancy.entity(entity.pk):
            Workflow.objects.filter(pk=workflow.pk).update(name="inner")
            assert Workflow.objects.get().name == "inner"
            raise LookupError
        assert Workflow.objects.get().name == "outer"


@pytest.mark.parametrize("reason", ["", " "])
def test_the_fleet_needs_a_reason(clean: object, reason: str) -> None:
    with pytest.raises(ScopeMissing), tenancy.fleet(reason):
        raise AssertionError("opened")
