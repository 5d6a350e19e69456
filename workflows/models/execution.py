"""One run of one version: the execution, its frames, its step runs, their attempts, and its events."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.base import EntityRow, relation, uuid7
from workflows.models.workflow import Kind


class Status(models.TextChoices):
    """Statuses of an execution; the texts stand in `workflows.reasons` too."""

    RUNNING = "running", _("Running")
    WAITING_FOR_REPLY = "waiting_for_reply", _("Waiting for a reply")
    DELAYED = "delayed", _("Delayed")
    PENDING_APPROVAL = "pending_approval", _("Waiting for approval")
    QUEUED_WAIT_CONFLICT = "queued_wait_conflict", _("Queued behind another wait")
    PAUSED_ERROR = "paused_error", _("Paused by an error")
    COMPLETED = "completed", _("Completed")
    CANCELLED = "cancelled", _("Cancelled")
    FAILED = "failed", _("Failed")


FINAL = ("completed", "cancelled", "failed")
"""Statuses that never change again; every other one is active (G3, decision 4)."""


ACTIVE = tuple(status for status in Status.values if status not in FINAL)
"""Every status from which there is a way on (decision 4)."""


class Execution(EntityRow):
    """One run of one version for one contact. `status` is written by `services.executions` only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.AUTOMATION)
    workflow = relation("workflows.Workflow", related_name="executions")
    version = relation("workflows.Version", related_name="executions")
    contact_id = models.CharField(_("contact"), max_length=64, null=True)
    chat_id = models.CharField(_("chat"), max_length=64, null=True)
    trigger_type = models.CharField(_("trigger"), max_length=64)
    trigger_message = relation("workflows.InboundMessage", null=True, related_name="started")
    status = models.CharField(_("status"), max_length=24, choices=Status, default=Status.RUNNING)
    reason = models.CharField(_("reason"), max_length=64, blank=True, default="")
    error = models.JSONField(_("error"), null=True)
    state_version = models.IntegerField(default=0)
    context = models.JSONField(_("context"), default=dict)
    context_seq = models.IntegerField(default=0)
    created_at = models.DateTimeField(_("started"))
    status_at = models.DateTimeField(_("since"))
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("execution")
        verbose_name_plural = _("executions")
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="execution_entity_key"),
            models.UniqueConstraint(
                fields=["workflow", "contact_id"],
                condition=models.Q(contact_id__isnull=False) & ~models.Q(status__in=FINAL),
                name="execution_one_active_per_contact",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=Status.values), name="execution_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=FINAL, finished_at__isnull=False)
                | (~models.Q(status__in=FINAL) & models.Q(finished_at__isnull=True)),
                name="execution_final_has_end",
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=["paused_error", "failed"]) | ~models.Q(reason=""),
                name="execution_error_has_reason",
            ),
            models.CheckConstraint(
                condition=models.Q(kind="pipeline") | ~models.Q(status__in=["failed", "pending_approval"]),
                name="execution_status_of_kind",
            ),
        ]
        indexes = [
            models.Index(fields=["entity_id", "-created_at"], name="execution_list"),
            models.Index(
                fields=["entity_id", "status", "-created_at"],
                condition=~models.Q(status__in=["running", "completed"]),
                name="execution_attention",
            ),
            models.Index(fields=["entity_id", "contact_id", "-created_at"], name="execution_of_contact"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class FrameStatus(models.TextChoices):
    """Whether a frame can run; only `running` frames are claimed and swept."""

    RUNNING = "running", _("Running")
    WAITING = "waiting", _("Waiting")
    DONE = "done", _("Done")


class Frame(EntityRow):
    """A block being executed and the position in it. Nothing that moves at each action is indexed (HOT updates)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    execution = relation("workflows.Execution", related_name="frames")
    parent = relation("workflows.Frame", null=True, related_name="children")
    engine = models.CharField(max_length=16, choices=Kind, default=Kind.AUTOMATION)
    status = models.CharField(max_length=16, choices=FrameStatus, default=FrameStatus.RUNNING)
    step = models.SmallIntegerField(default=0)
    action = models.SmallIntegerField(default=0)
    visits = models.JSONField(default=dict)
    state_version = models.IntegerField(default=0)
    seq = models.IntegerField(default=0)
    actions = models.SmallIntegerField(default=0)
    sends = models.SmallIntegerField(default=0)
    claims = models.SmallIntegerField(default=0)
    attempt = models.SmallIntegerField(default=0)
    retry = models.SmallIntegerField(default=0)
    open_effect = models.BooleanField(default=False)
    lease_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="frame_entity_key"),
            models.UniqueConstraint(
                fields=["execution"], condition=models.Q(parent__isnull=True), name="frame_one_root"
            ),
            models.CheckConstraint(
                condition=models.Q(engine="pipeline") | models.Q(parent__isnull=True),
                name="frame_automation_has_root_only",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=FrameStatus.values), name="frame_status_known"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(status="running"), name="frame_running"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class StepRunStatus(models.TextChoices):
    """How one visit of one action stands. `open`: announced, and not yet recorded."""

    OPEN = "open", _("Under way")
    WAITING = "waiting", _("Waiting")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")
    SKIPPED = "skipped", _("Skipped")


class StepRun(EntityRow):
    """One visit of one action: input as rendered, output, error, times."""

    id = models.BigAutoField(primary_key=True)
    frame = relation("workflows.Frame", related_name="step_runs")
    seq = models.IntegerField()
    step_key = models.CharField(max_length=63)
    action_key = models.CharField(max_length=63)
    visit = models.SmallIntegerField()
    type = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=StepRunStatus)
    retry = models.SmallIntegerField(default=0)
    attempts = models.SmallIntegerField(default=1)
    input = models.JSONField(null=True)
    output = models.JSONField(null=True)
    error = models.JSONField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["seq"]
        constraints = [
            models.UniqueConstraint(fields=["frame", "seq"], name="step_run_one_per_seq"),
            models.CheckConstraint(
                condition=models.Q(status__in=StepRunStatus.values), name="step_run_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.step_key}.{self.action_key}"


class Attempt(EntityRow):
    """One call of an action with an effect, announced before it is made (decision 13)."""

    id = models.BigAutoField(primary_key=True)
    frame = relation("workflows.Frame", related_name="attempts")
    seq = models.IntegerField()
    number = models.SmallIntegerField(default=1)
    idempotency_key = models.CharField(max_length=255)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    error = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["frame", "seq", "number"], name="attempt_one_per_number")
        ]

    def __str__(self) -> str:
        return self.idempotency_key


class Event(EntityRow):
    """What happened to an execution that is no step: started, paused, resumed, operator acts, decisions."""

    id = models.BigAutoField(primary_key=True)
    execution = relation("workflows.Execution", related_name="events")
    kind = models.CharField(max_length=32)
    status = models.CharField(max_length=24, choices=Status)
    reason = models.CharField(max_length=64, blank=True, default="")
    actor = models.CharField(max_length=200)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["execution", "id"], name="event_of_execution")]

    def __str__(self) -> str:
        return self.kind
