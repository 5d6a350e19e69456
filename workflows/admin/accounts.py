"""Entities, keys, people and their memberships: for superusers, who hand out access."""

from __future__ import annotations

from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from workflows.admin.base import ReadOnlyAdmin


class EntitiesAdmin(ReadOnlyAdmin):
    """All entities; settings change through API and commands."""

    list_display = ("name", "external_id", "timezone", "workflow_system_user_id", "created_at")
    search_fields = ("name", "external_id")


class ApiKeyAdmin(ReadOnlyAdmin):
    """All keys; a secret is shown once, where the key is made."""

    list_display = ("name", "entity", "role", "hint", "created_at", "revoked_at")
    list_display_links = None
    list_select_related = ("entity",)


class SuperuserAdmin(ModelAdmin):
    """Rows that superusers keep by hand."""

    actions = None

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers only."""
        return bool(request.user.is_active and request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)


class MembershipAdmin(SuperuserAdmin):
    """Who may do what in which entity."""

    list_display = ("user", "entity", "role")
    list_select_related = ("user", "entity")
    search_fields = ("user__username", "entity__name")
    autocomplete_fields = ("user", "entity")


class PeopleAdmin(SuperuserAdmin, UserAdmin):  # type: ignore[misc,type-arg]
    """People of the console; their memberships say what they see, so Django's permissions are not offered."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "last_name", "is_staff", "is_superuser", "last_login")
    list_filter = ()
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """People are deactivated, so that what they did keeps their name."""
        return False
