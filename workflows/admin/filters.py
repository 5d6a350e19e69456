"""What lists are narrowed to. Choices come from constants and the entity's workflows, never from scans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from workflows.admin.scope import chosen_entity
from workflows.models import MessageOutcome, Status, Workflow, WorkflowStatus
from workflows.reasons import REASONS


class ColumnFilter(DropdownFilter):
    """Rows whose `column` has the chosen value."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrowed, or as it was."""
        value = self.value()
        return queryset.filter(**{self.column: value}) if value else queryset


class WorkflowStatusFilter(ColumnFilter):
    """By a workflow's status."""

    title = _("status")
    parameter_name = column = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        """All of them."""
        return WorkflowStatus.choices


class StatusFilter(ColumnFilter):
    """By an execution's status."""

    title = _("status")
    parameter_name = column = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        """All of them."""
        return Status.choices


class ReasonFilter(ColumnFilter):
    """By why an execution stands."""

    title = _("reason")
    parameter_name = column = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """The codes, which is how API and log name them."""
        return [(code, code) for code, reason in REASONS.items() if reason.family == "reason"]


class WorkflowFilter(ColumnFilter):
    """By workflow."""

    title = _("workflow")
    parameter_name = "workflow"
    column = "workflow_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        """The entity's, in their order."""
        entity = chosen_entity(request)
        rows = Workflow.objects.filter(entity_id=entity and entity.pk).order_by("priority", "name")
        return [(str(key), name) for key, name in rows.values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrowed; a value that is no id finds nothing."""
        value = self.value()
        if not value:
            return queryset
        try:
            return queryset.filter(workflow_id=UUID(value))
        except ValueError:
            return queryset.none()


class OutcomeFilter(ColumnFilter):
    """By where a message went."""

    title = _("outcome")
    parameter_name = column = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        """All of them."""
        return MessageOutcome.choices
