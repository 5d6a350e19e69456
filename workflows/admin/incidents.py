"""Incidents: what needs somebody who runs the installation, one open row per cause."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from workflows.admin.base import EntityAdmin
from workflows.admin.scope import chosen_entity, may_operate
from workflows.admin.tree import tree
from workflows.admin.wording import advice, moment_cell
from workflows.errors import IllegalTransition, NotFound
from workflows.models import Execution, Incident
from workflows.services.incidents import close_incident

CLOSE_URL = "workflows_incident_close"


class IncidentAdmin(EntityAdmin):
    """Incidents of the chosen entity, the open ones first."""

    list_display = ("show_cause", "show_state", "count", "show_opened", "show_last")
    list_display_links = ("show_cause",)
    ordering = (F("closed_at").desc(nulls_first=True), "-last_at")
    deferred = ("data",)
    detail_template = "admin/boostflow/incident.html"

    @display(description=gettext_lazy("cause"))
    def show_cause(self, row: Incident) -> SafeString:
        """What it is one row for."""
        return format_html("<code>{}</code>", row.cause)

    @display(description=gettext_lazy("Status"), label={"open": "danger", "closed": "success"})
    def show_state(self, row: Incident) -> tuple[str, str]:
        """Whether somebody has dealt with it."""
        return ("closed", _("Closed")) if row.closed_at else ("open", _("Open"))

    @display(description=gettext_lazy("opened"))
    def show_opened(self, row: Incident) -> SafeString:
        """The first time."""
        return moment_cell(row.opened_at)

    @display(description=gettext_lazy("last"))
    def show_last(self, row: Incident) -> SafeString:
        """The latest time."""
        return moment_cell(row.last_at)

    def get_urls(self) -> list[URLPattern]:
        """List, detail and closing."""
        close = path("<int:incident_id>/close/", self.admin_site.admin_view(self.close_view), name=CLOSE_URL)
        return [*super().get_urls(), close]

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """The row with that number in the chosen entity."""
        number = int(object_id) if object_id.isascii() and object_id.isdigit() and len(object_id) < 19 else 0
        row = Incident.objects.filter(pk=number, entity_id=self.entity(request).pk).first()
        if row is None:
            raise Http404
        return row

    def detail(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        """The fault in words, its execution, and whether this person may close it."""
        execution_id = row.execution_id
        return {
            "incident": row,
            "advice": advice("paused_error", row.reason),
            "execution": Execution.objects.filter(entity_id=row.entity_id, pk=execution_id)
            .only("pk")
            .first(),
            "data": tree(row.data, opened=2),
            "may_close": row.closed_at is None and may_operate(request),
        }

    def close_view(self, request: HttpRequest, incident_id: int) -> HttpResponse:
        """POST only: somebody has dealt with it."""
        entity = chosen_entity(request)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if entity is None or not may_operate(request) or incident_id >= 2**63:
            raise Http404
        try:
            close_incident(
                entity=entity, incident_id=incident_id, actor=f"user:{request.user.get_username()}"
            )
        except NotFound as problem:
            raise Http404 from problem
        except IllegalTransition:
            messages.error(request, _("Somebody has closed it already."))
        else:
            messages.success(request, _("The incident is closed."))
        return HttpResponseRedirect(reverse("admin:workflows_incident_changelist"))
