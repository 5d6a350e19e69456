"""A list and a detail page of one table of the chosen entity. They read; every act goes through API and commands."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote
from uuid import UUID

from django.contrib.admin import ShowFacets
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from workflows.admin.scope import chosen_entity, in_entity
from workflows.models import Entity


class ReadOnlyAdmin(ModelAdmin):
    """Rows of the whole installation, for superusers, to look at."""

    actions = None
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers only."""
        return bool(request.user.is_active and request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False


class EntityAdmin(ReadOnlyAdmin):
    """Rows of the chosen entity, for its members. No page counts or sorts the table."""

    paginator = InfinitePaginator
    sortable_by = ()
    detail_template = ""
    deferred: tuple[str, ...] = ()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Members of any role, by their membership and not by Django's permissions."""
        return chosen_entity(request) is not None

    def get_urls(self) -> list[URLPattern]:
        """List and detail, and none of the admin's pages that write."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name=f"{name}_changelist"),
            path("<path:object_id>/change/", view(self.change_view), name=f"{name}_change"),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The chosen entity's rows; row security holds the same without this filter."""
        rows: QuerySet[Any] = super().get_queryset(request).filter(entity_id=self.entity(request).pk)
        return rows.defer(*self.deferred) if self.deferred else rows

    def entity(self, request: HttpRequest) -> Entity:
        """The chosen entity, inside a page."""
        entity = chosen_entity(request)
        if entity is None:
            raise Http404
        return entity

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list, made and rendered in the entity's scope."""
        view = super().changelist_view
        extra = {"subtitle": None, "title": self.opts.verbose_name_plural, **(extra_context or {})}
        return in_entity(request, self.admin_site, lambda: view(request, extra))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The detail page, made and rendered in the entity's scope; another entity's id is not found (decision 21)."""

        def page() -> HttpResponse:
            row = self.find(request, object_id)
            context = {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "original": row,
                "title": str(row),
                "media": self.media,
                **self.detail(request, row),
            }
            return TemplateResponse(request, self.detail_template, context)

        return in_entity(request, self.admin_site, page)

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """The row with that id in the chosen entity."""
        try:
            key = UUID(unquote(object_id))
        except ValueError as problem:
            raise Http404 from problem
        row = self.model._default_manager.filter(pk=key, entity_id=self.entity(request).pk).first()
        if row is None:
            raise Http404
        return row

    def detail(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the detail template shows besides the row."""
        return {}
