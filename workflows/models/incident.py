"""What needs somebody who runs the installation: one row per cause while it is open."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.base import EntityRow, relation


class Incident(EntityRow):
    """A fault that people must look at. `cause` names it, so that a repeat raises the count and no second row."""

    id = models.BigAutoField(primary_key=True)
    cause = models.CharField(_("cause"), max_length=200)
    reason = models.CharField(_("reason"), max_length=64)
    execution = relation("workflows.Execution", null=True, related_name="incidents")
    count = models.IntegerField(_("times"), default=1)
    data = models.JSONField(default=dict)
    opened_at = models.DateTimeField(_("opened"))
    last_at = models.DateTimeField(_("last"))
    closed_at = models.DateTimeField(_("closed"), null=True)
    closed_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        constraints = [
            models.UniqueConstraint(
                fields=["entity_id", "cause"],
                condition=models.Q(closed_at__isnull=True),
                name="incident_one_open_per_cause",
            )
        ]
        indexes = [models.Index(fields=["entity_id", "-last_at"], name="incident_list")]

    def __str__(self) -> str:
        return self.cause
