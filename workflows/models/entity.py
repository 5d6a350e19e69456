"""Tenants, the keys of their programs and the memberships of their people. Read before an entity is known."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from timezone_field import TimeZoneField


class Role(models.TextChoices):
    """What a key or a person may do; each role may do all that the one before it may."""

    VIEWER = "viewer", _("Viewer")
    OPERATOR = "operator", _("Operator")
    EDITOR = "editor", _("Editor")
    ADMIN = "admin", _("Administrator")
    EVENTS = "events", _("Events only")


class Entity(models.Model):
    """One tenant of the CRM. `external_id` is the CRM's id; `id` is what keys and policies use."""

    id = models.BigAutoField(primary_key=True)
    external_id = models.CharField(_("CRM id"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200)
    timezone = TimeZoneField(_("time zone"), default="America/Guatemala")
    workflow_system_user_id = models.CharField(_("system user"), max_length=64, blank=True, default="")
    workflow_system_employee_id = models.CharField(
        _("system employee"), max_length=64, blank=True, default=""
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("entity")
        verbose_name_plural = _("entities")

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A bearer key, stored hashed. Without an entity it is a platform key, which names one of its list, or of all,
    in each request."""

    id = models.BigAutoField(primary_key=True)
    entity = models.ForeignKey(
        Entity, on_delete=models.PROTECT, null=True, blank=True, related_name="api_keys"
    )
    all_entities = models.BooleanField(_("all entities"), default=False)
    entities = models.ManyToManyField(Entity, blank=True, related_name="platform_keys")
    name = models.CharField(_("name"), max_length=100)
    role = models.CharField(_("role"), max_length=16, choices=Role)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(_("ends in"), max_length=8, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="api_key_role_known"),
            models.CheckConstraint(
                condition=models.Q(entity__isnull=True) | models.Q(all_entities=False),
                name="api_key_of_one_entity_is_not_of_all",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (…{self.hint})"


class Membership(models.Model):
    """What a person of the console may do in one entity."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(_("role"), max_length=16, choices=Role, default=Role.VIEWER)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(fields=["user", "entity"], name="membership_one_per_entity"),
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "operator", "editor", "admin"]),
                name="membership_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.entity} · {self.role}"


class Clock(models.Model):
    """The one offset row of `boostflow_now()`; only a demo or test installation may set it."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    offset = models.DurationField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="clock_one_row")]

    def __str__(self) -> str:
        return f"+{self.offset}"
