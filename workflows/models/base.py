"""What every table of an entity's data shares: the entity's key, and ids that sort by time."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any

from django.db import models
from django.db.models import sql

from workflows import tenancy


def uuid7() -> uuid.UUID:
    """A time-ordered UUID (RFC 9562); Python has none before 3.14, PostgreSQL none before 18."""
    stamp = time.time_ns() // 1_000_000
    bits = int.from_bytes(os.urandom(10))
    value = (stamp << 80) | (0x7 << 76) | ((bits >> 64 & 0xFFF) << 64) | (0b10 << 62) | (bits & (1 << 62) - 1)
    return uuid.UUID(int=value)


class ScopedQuery(sql.Query):
    """A read that is refused outside the tenancy scopes before it is sent, whether rows would be found or not."""

    def get_compiler(self, *args: Any, **options: Any) -> Any:
        """Refuse to compile without a scope."""
        tenancy.require_scope()
        return super().get_compiler(*args, **options)


class EntityRows(models.QuerySet[Any]):
    """Rows whose change is refused outside the scopes even where none would match: Django gives it another query."""

    def update(self, **values: Any) -> int:
        """Change the rows, in a scope."""
        tenancy.require_scope()
        return super().update(**values)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows, in a scope."""
        tenancy.require_scope()
        return super().delete()

    update.alters_data = delete.alters_data = True  # type: ignore[attr-defined]  # templates may not call them


class EntityManager(models.Manager[Any]):
    """Uses of an entity's data need a scope; the database holds the same for every statement."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """A queryset that compiles in a scope only."""
        return EntityRows(self.model, query=ScopedQuery(self.model), using=self._db)


class EntityRow(models.Model):
    """A row of one entity's data: guarded by row security and composite keys, never by queries alone (G6)."""

    entity_id = models.BigIntegerField(editable=False)

    objects = EntityManager()

    class Meta:
        abstract = True


def relation(to: str, **options: object) -> models.ForeignKey[models.Model, models.Model]:
    """A foreign key whose constraint is composite, with the entity, and written in the migration (G6)."""
    return models.ForeignKey(to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, **options)  # type: ignore[arg-type]
