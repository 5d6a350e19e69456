"""The console's site: its own entrance and the choice of the entity."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from unfold.sites import UnfoldAdminSite

from workflows.admin.scope import choose_entity, chosen_entity, entities_of, no_entity

SHOWN = 50


class ConsoleSite(UnfoldAdminSite):
    """Whoever may log in sees the pages of the chosen entity; what may be seen there is the membership's affair."""

    def extra_urls(self) -> list[URLPattern]:
        """Pages that belong to no table."""
        return [
            path("entity/", self.admin_view(self.entity_view), name="entity"),
        ]

    def extra_context(self, context: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
        """The chosen entity, for the header of every page."""
        return {**context, "console_entity": chosen_entity(request) if self.has_permission(request) else None}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Executions are where work is."""
        if chosen_entity(request) is None:
            return no_entity(request, self)
        return HttpResponseRedirect(reverse("admin:workflows_execution_changelist"))

    def entity_view(self, request: HttpRequest) -> HttpResponse:
        """Show the entities in which the person may act; POST chooses one."""
        failed = False
        if request.method == "POST":
            if choose_entity(request, request.POST.get("entity", "")):
                return HttpResponseRedirect(reverse("admin:index"))
            failed = True
        if chosen_entity(request) is None:
            return no_entity(request, self)
        wanted = request.GET.get("q", "").strip()
        found = entities_of(request.user)
        if wanted:
            found = found.filter(name__icontains=wanted) | found.filter(external_id=wanted)
        context = {
            **self.each_context(request),
            "title": _("Entity"),
            "entities": found[: SHOWN + 1],
            "shown": SHOWN,
            "wanted": wanted,
            "failed": failed,
        }
        return TemplateResponse(
            request, "admin/boostflow/entity.html", context, status=404 if failed else 200
        )
