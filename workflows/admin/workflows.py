"""Workflows in the order in which their triggers are tried, and how each is defined."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from workflows.admin import badges
from workflows.admin.base import EntityAdmin
from workflows.admin.filters import WorkflowStatusFilter
from workflows.admin.tree import pretty, tree
from workflows.admin.wording import moment_cell
from workflows.models import Action, Step, Version, VersionTrigger, Workflow

VERSIONS = 100


class WorkflowAdmin(EntityAdmin):
    """Workflows of the chosen entity."""

    list_display = ("show_priority", "name", "show_status", "show_trigger", "show_version", "show_changed")
    list_display_links = ("name",)
    list_filter = (WorkflowStatusFilter,)
    list_filter_submit = True
    list_select_related = ("current_version",)
    search_fields = ("name",)
    ordering = (F("priority").asc(nulls_last=True), "name")
    deferred = ("draft", "current_version__definition")
    detail_template = "admin/boostflow/workflow.html"

    @display(description=_("Priority"))
    def show_priority(self, row: Workflow) -> str:
        """Where it stands; an archived one stands nowhere."""
        return "—" if row.priority is None else str(row.priority)

    @display(description=_("Status"), label=badges.WORKFLOW)
    def show_status(self, row: Workflow) -> tuple[str, str]:
        """As a badge."""
        return row.status, row.get_status_display()

    @display(description=_("Trigger"))
    def show_trigger(self, row: Workflow) -> str:
        """The published version's."""
        return getattr(row.current_version, "trigger_type", "—")

    @display(description=_("Version"))
    def show_version(self, row: Workflow) -> str:
        """The published one."""
        return str(getattr(row.current_version, "number", "—"))

    @display(description=_("Changed"))
    def show_changed(self, row: Workflow) -> SafeString:
        """To the second."""
        return moment_cell(row.updated_at)

    def detail(self, request: HttpRequest, row: Workflow) -> dict[str, Any]:
        """The published version's rows, or the draft where there is none."""
        scope = {"entity_id": row.entity_id}
        current = Version.objects.filter(**scope, pk=row.current_version_id).first()
        trigger = VersionTrigger.objects.filter(**scope, version_id=row.current_version_id).first()
        definition = row.draft if current is None else current.definition
        return {
            "workflow": row,
            "badge": badges.WORKFLOW[row.status],
            "current": current,
            "trigger": trigger,
            "trigger_config": tree(trigger.config, opened=3) if trigger and trigger.config else "",
            "trigger_filters": tree(trigger.filters, opened=4) if trigger and trigger.filters else "",
            "steps": _steps(row.entity_id, row.current_version_id) if current else _steps_of(row.draft or {}),
            "definition": pretty(definition),
            "draft_differs": current is not None and row.draft not in (None, current.definition),
            "draft": pretty(row.draft),
            "versions": Version.objects.filter(**scope, workflow_id=row.pk)
            .defer("definition")
            .order_by("-number")[:VERSIONS],
        }


def _steps(entity_id: int, version_id: int | None) -> list[dict[str, Any]]:
    actions: dict[int, list[dict[str, Any]]] = {}
    for action in Action.objects.filter(entity_id=entity_id, step__version_id=version_id).order_by(
        "position"
    ):
        actions.setdefault(action.step_id, []).append(_action(action.key, action.type, action.config))
    steps = Step.objects.filter(entity_id=entity_id, version_id=version_id).order_by("position")
    return [{"key": step.key, "name": step.name, "actions": actions.get(step.pk, [])} for step in steps]


def _steps_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The same from a definition that was never published."""
    return [
        {
            "key": step.get("key", ""),
            "name": step.get("name", ""),
            "actions": [
                _action(action.get("key", ""), action.get("type", ""), action.get("config", {}))
                for action in step.get("actions", [])
            ],
        }
        for step in document.get("steps", [])
    ]


def _action(key: str, kind: str, config: Any) -> dict[str, Any]:
    return {"key": key, "type": kind, "config": tree(config, opened=3) if config else ""}
