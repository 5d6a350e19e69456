"""Reads of workflows and their versions; lists never load definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce

from workflows.errors import NotFound
from workflows.models import Version, Workflow
from workflows.selectors.paging import Page, Position, Row, read_page

LAST = 2**31 - 1
"""The place of workflows without priority: archived ones come last."""

COLUMNS = ("id", "kind", "name", "status", "priority", "created_at", "updated_at")
VERSION_COLUMNS = ("number", "trigger_type", "published_by", "published_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFilter:
    """What a list of workflows is narrowed to; None: not by this."""

    status: str | None = None
    kind: str | None = None
    trigger: str | None = None


def list_workflows(*, entity_id: int, wanted: WorkflowFilter, after: Position | None, limit: int) -> Page:
    """Workflows in the order in which their triggers are tried."""
    lookups = {"status": wanted.status, "kind": wanted.kind, "current_version__trigger_type": wanted.trigger}
    chosen = {name: value for name, value in lookups.items() if value is not None}
    rows = _rows(entity_id).filter(**chosen)
    return read_page(rows, by="place", tie="id", descending=False, after=after, limit=limit)


def find_workflow(*, entity_id: int, workflow_id: UUID) -> Row:
    """One workflow with its draft; NotFound."""
    return _one(_rows(entity_id, "draft").filter(pk=workflow_id))


def list_versions(*, entity_id: int, workflow_id: UUID, after: Position | None, limit: int) -> Page:
    """Published versions without their definitions, newest first; NotFound where there is no such workflow."""
    if not Workflow.objects.filter(entity_id=entity_id, pk=workflow_id).exists():
        raise NotFound
    rows = Version.objects.filter(entity_id=entity_id, workflow_id=workflow_id).values("id", *VERSION_COLUMNS)
    return read_page(rows, by="number", tie="id", descending=True, after=after, limit=limit)


def find_version(*, entity_id: int, workflow_id: UUID, number: int) -> Row:
    """One published version with its definition; NotFound."""
    found = Version.objects.filter(entity_id=entity_id, workflow_id=workflow_id, number=number)
    return _one(found.values(*VERSION_COLUMNS, "definition"))


def _rows(entity_id: int, *more: str) -> QuerySet[Any, Row]:
    return Workflow.objects.filter(entity_id=entity_id).values(
        *COLUMNS,
        *more,
        place=Coalesce("priority", Value(LAST)),
        version=F("current_version__number"),
        trigger_type=F("current_version__trigger_type"),
    )


def _one(rows: QuerySet[Any, Row]) -> Row:
    found = rows.first()
    if found is None:
        raise NotFound
    return found
