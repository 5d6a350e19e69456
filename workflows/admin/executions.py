"""Executions: what happens in each, what to do next, and all that happened before."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from workflows import clock, selectors
from workflows.admin import badges
from workflows.admin.acts import act_view, allowed
from workflows.admin.base import EntityAdmin
from workflows.admin.filters import ReasonFilter, StatusFilter, WorkflowFilter
from workflows.admin.timeline import timeline
from workflows.admin.tree import tree
from workflows.admin.wording import advice, duration, moment_cell
from workflows.models import Execution, InboundMessage, Version, Workflow

ACT_URL = "workflows_execution_act"


class ExecutionAdmin(EntityAdmin):
    """Executions of the chosen entity, the latest first."""

    list_display = (
        "show_id",
        "show_workflow",
        "contact_id",
        "show_status",
        "reason",
        "show_started",
        "show_since",
    )
    list_display_links = ("show_id",)
    list_filter = (StatusFilter, WorkflowFilter, ReasonFilter)
    list_filter_submit = True
    list_select_related = ("workflow",)
    search_fields = ("id",)
    search_help_text = _("Execution id, contact or chat")
    ordering = ("-created_at",)
    deferred = ("context", "error", "workflow__draft")
    detail_template = "admin/boostflow/execution.html"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Whole ids only: each is found by an index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        by_id = _uuid(term)
        found = Q(contact_id=term) | Q(chat_id=term)
        return queryset.filter(found if by_id is None else found | Q(pk=by_id)), False

    @display(description=_("Execution"))
    def show_id(self, row: Execution) -> SafeString:
        """The end of the id, which differs most; the page shows it whole."""
        return format_html('<span class="whitespace-nowrap">…{}</span>', str(row.pk)[-12:])

    @display(description=_("Workflow"))
    def show_workflow(self, row: Execution) -> str:
        """By name."""
        return str(row.workflow)

    @display(description=_("Started"))
    def show_started(self, row: Execution) -> SafeString:
        """To the second."""
        return moment_cell(row.created_at)

    @display(description=_("Since"))
    def show_since(self, row: Execution) -> SafeString:
        """When its status last changed."""
        return moment_cell(row.status_at)

    @display(description=_("Status"), label=badges.STATUS)
    def show_status(self, row: Execution) -> tuple[str, str]:
        """As a badge."""
        return row.status, row.get_status_display()

    def get_urls(self) -> list[URLPattern]:
        """List, detail, and a page for each act."""
        act = path("<uuid:object_id>/<str:verb>/", self.admin_site.admin_view(self.act_view), name=ACT_URL)
        return [*super().get_urls(), act]

    def act_view(self, request: HttpRequest, object_id: UUID, verb: str) -> HttpResponse:
        """See `admin.acts`."""
        return act_view(request, self.admin_site, object_id, verb)

    def detail(self, request: HttpRequest, row: Execution) -> dict[str, Any]:
        """Advice, facts, timeline and context."""
        scope = {"entity_id": row.entity_id}
        now = clock.now()
        found = selectors.find_execution(entity_id=row.entity_id, execution_id=row.pk)
        context = selectors.read_context(entity_id=row.entity_id, execution_id=row.pk)
        return {
            "execution": row,
            "acts": allowed(request, row),
            "badge": badges.STATUS[row.status],
            "advice": advice(row.status, row.reason),
            "position": found["position"],
            "wait": found["wait"],
            "workflow": Workflow.objects.filter(**scope, pk=row.workflow_id).defer("draft").first(),
            "version": Version.objects.filter(**scope, pk=row.version_id).defer("definition").first(),
            "message": InboundMessage.objects.filter(**scope, pk=row.trigger_message_id)
            .defer("event", "trace")
            .first(),
            "took": duration(max(((row.finished_at or now) - row.created_at).total_seconds(), 0.0)),
            "error": tree(row.error, opened=3) if row.error else "",
            "rows": timeline(row, now=now),
            "context_tree": tree(context, opened=1),
        }


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
