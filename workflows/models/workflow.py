"""Workflows, their immutable versions, and the rows by which people and queries read a version."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from workflows.models.base import EntityRow, relation, uuid7


class WorkflowStatus(models.TextChoices):
    """Whether the trigger listens; executions go on in every one (decision 22)."""

    DRAFT = "draft", _("Draft")
    PUBLISHED = "published", _("Published")
    PAUSED = "paused", _("Paused")
    ARCHIVED = "archived", _("Archived")


class Kind(models.TextChoices):
    """The two kinds of workflow."""

    AUTOMATION = "automation", _("Automation")
    PIPELINE = "pipeline", _("Pipeline")


class Workflow(EntityRow):
    """A named definition of one entity (G2), with one mutable draft and any number of published versions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind, default=Kind.AUTOMATION)
    name = models.CharField(_("name"), max_length=200)
    status = models.CharField(
        _("status"), max_length=16, choices=WorkflowStatus, default=WorkflowStatus.DRAFT
    )
    priority = models.IntegerField(_("priority"), null=True)
    draft = models.JSONField(_("draft"), null=True)
    current_version = relation("workflows.Version", null=True, related_name="+")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("workflow")
        verbose_name_plural = _("workflows")
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="workflow_entity_key"),
            models.UniqueConstraint(
                fields=["entity_id", "priority"],
                name="workflow_one_per_priority",
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=WorkflowStatus.values), name="workflow_status_known"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="workflow_kind_known"),
            models.CheckConstraint(
                condition=~models.Q(status__in=["published", "paused"])
                | models.Q(current_version__isnull=False, priority__isnull=False),
                name="workflow_published_has_version",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="archived") | models.Q(priority__isnull=True),
                name="workflow_archived_has_no_priority",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Version(EntityRow):
    """A published definition; the database refuses any change to it (decision 22)."""

    id = models.BigAutoField(primary_key=True)
    workflow = relation("workflows.Workflow", related_name="versions")
    number = models.IntegerField(_("version"))
    definition = models.JSONField(_("definition"))
    trigger_type = models.CharField(_("trigger"), max_length=64)
    published_by = models.CharField(_("published by"), max_length=200)
    published_at = models.DateTimeField(_("published"), auto_now_add=True)

    class Meta:
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="version_entity_key"),
            models.UniqueConstraint(fields=["workflow", "number"], name="version_one_per_number"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="version_number_positive"),
        ]

    def __str__(self) -> str:
        return f"v{self.number}"


class VersionTrigger(EntityRow):
    """The one trigger of a version (T2, S1), stored beside step 1."""

    id = models.BigAutoField(primary_key=True)
    version = relation("workflows.Version", related_name="triggers")
    type = models.CharField(_("type"), max_length=64)
    config = models.JSONField(_("settings"), default=dict)
    filters = models.JSONField(_("filters"), null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version"], name="trigger_one_per_version")]

    def __str__(self) -> str:
        return self.type


class Step(EntityRow):
    """A step of a version, by position."""

    id = models.BigAutoField(primary_key=True)
    version = relation("workflows.Version", related_name="steps")
    position = models.SmallIntegerField()
    key = models.CharField(max_length=63)
    name = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="step_entity_key"),
            models.UniqueConstraint(fields=["version", "position"], name="step_one_per_position"),
            models.UniqueConstraint(models.F("version"), Lower("key"), name="step_one_per_key"),
        ]

    def __str__(self) -> str:
        return self.name or self.key


class Action(EntityRow):
    """An action of a step, by position."""

    id = models.BigAutoField(primary_key=True)
    step = relation("workflows.Step", related_name="actions")
    position = models.SmallIntegerField()
    key = models.CharField(max_length=63)
    type = models.CharField(max_length=64)
    config = models.JSONField(default=dict)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["step", "position"], name="action_one_per_position")]

    def __str__(self) -> str:
        return self.key
