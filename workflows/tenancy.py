"""Whose data a transaction may touch (G6): one entity, read and write, or the fleet, read only.

Row security compares each row with a setting that is local to the transaction; outside both scopes every query on
an entity's table fails. A setting of the session would leak tenants behind a transaction pooler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connection, transaction

from workflows.errors import ScopeMissing

_SET_ENTITY = "select set_config('boostflow.entity', %s, true)"
_SET_FLEET = "select set_config('boostflow.fleet', %s, true)"
_current: ContextVar[int | str | None] = ContextVar("tenant_scope", default=None)


@contextmanager
def entity(entity_id: int) -> Iterator[None]:
    """One transaction that sees and writes one entity. Nesting is allowed for the same entity only."""
    with _scope(entity_id, _SET_ENTITY, str(int(entity_id))):
        yield


@contextmanager
def fleet(reason: str) -> Iterator[None]:
    """One transaction that reads across entities and writes to none. `reason` is kept in the setting for the log."""
    if not reason.strip():
        raise ScopeMissing("a fleet scope needs a reason")
    with _scope(f"fleet:{reason}", _SET_FLEET, reason):
        yield


@contextmanager
def _scope(scope: int | str, statement: str, value: str) -> Iterator[None]:
    outer = _current.get()
    if outer is not None:
        if outer != scope:
            raise ScopeMissing(f"scope {scope!r} opened inside scope {outer!r}")
        with transaction.atomic():
            yield
        return
    token = _current.set(scope)
    try:
        nested = connection.in_atomic_block
        with transaction.atomic():
            connection.ensure_connection()
            with (
                connection.wrap_database_errors,
                connection.connection.pipeline(),
            ):  # BEGIN and the setting in one round trip
                connection.connection.execute(statement, [value])
            yield
            if nested:
                connection.connection.execute(statement, [""])
    finally:
        _current.reset(token)


def require_scope() -> None:
    """Raise `ScopeMissing` where no scope is open."""
    if _current.get() is None:
        raise ScopeMissing("no entity scope: open tenancy.entity() or tenancy.fleet() first")


def run_statement(entity_id: int, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One statement under one entity as one transaction in one round trip: the engine's hot path."""
    connection.ensure_connection()
    raw = connection.connection
    with connection.wrap_database_errors:
        if connection.in_atomic_block:
            if _current.get() != entity_id:
                raise ScopeMissing(f"statement of entity {entity_id!r} inside scope {_current.get()!r}")
            return list(raw.execute(sql, parameters).fetchall())
        with raw.pipeline():
            raw.execute(_SET_ENTITY, [str(entity_id)])
            cursor = raw.execute(sql, parameters)
        return list(cursor.fetchall())
