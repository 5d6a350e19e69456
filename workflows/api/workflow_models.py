"""What is answered about workflows and their versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, RootModel

from workflows.api.fields import QueryText
from workflows.api.pagination import PageOut, PageQuery
from workflows.api.problems import ViolationOut

WorkflowStatus = Literal["draft", "published", "paused", "archived"]
WorkflowKind = Literal["automation", "pipeline"]


class Definition(RootModel[dict[str, Any]]):
    """A definition document; its parts are described under `catalog/`."""


class WorkflowOut(BaseModel):
    """A workflow without its definition. `version` is the published one; `priority` 1 is tried first."""

    id: UUID
    kind: WorkflowKind
    name: str
    status: WorkflowStatus
    priority: int | None
    version: int | None
    trigger_type: str | None
    created_at: datetime
    updated_at: datetime


class WorkflowDetail(WorkflowOut):
    """With the draft."""

    draft: dict[str, Any] | None


class WorkflowSaved(WorkflowDetail):
    """With what a definition was warned of; warnings hinder nothing."""

    warnings: list[ViolationOut]


class WorkflowPage(PageOut[WorkflowOut]):
    """A page of workflows."""


class WorkflowQuery(PageQuery):
    """What the list is narrowed to; `trigger` is that of the published version."""

    status: WorkflowStatus | None = None
    kind: WorkflowKind | None = None
    trigger: QueryText | None = None


class VersionOut(BaseModel):
    """A published version without its definition."""

    number: int
    trigger_type: str
    published_by: str
    published_at: datetime


class VersionDetail(VersionOut):
    """With the definition, which never changes."""

    definition: dict[str, Any]


class VersionPage(PageOut[VersionOut]):
    """A page of versions."""


class ValidationOut(BaseModel):
    """All that a definition breaks, in document order."""

    valid: bool
    violations: list[ViolationOut]
    warnings: list[ViolationOut]


class Order(BaseModel):
    """Every workflow that is not archived, once each, in the order in which they are tried."""

    model_config = ConfigDict(extra="forbid")

    workflows: list[UUID]


class ExportQuery(BaseModel):
    """Which definition: the draft, or a published version."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    version: int | None = None
