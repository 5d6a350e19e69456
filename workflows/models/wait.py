"""Pauses as rows: what an execution waits for, and the timers that end a wait."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.base import EntityRow, relation, uuid7


class WaitKind(models.TextChoices):
    """What ends the wait besides its timer."""

    REPLY = "reply", _("Reply")
    DELAY = "delay", _("Delay")
    APPROVAL = "approval", _("Approval")


class WaitState(models.TextChoices):
    """A reply wait that is reserved, open or held has the slot of its contact and chat (A14).

    `queued`: another execution has the slot. `reserved`: the question is being sent. `open`: armed.
    `held`: resolved by a reply whose turn still runs, so the slot is not given away (decision 10).
    """

    QUEUED = "queued", _("Queued")
    RESERVED = "reserved", _("Reserved")
    OPEN = "open", _("Open")
    HELD = "held", _("Held")
    RESOLVED = "resolved", _("Resolved")
    CANCELLED = "cancelled", _("Cancelled")


SLOT_STATES = ("reserved", "open", "held")


class Wait(EntityRow):
    """One pause of one frame, identified for ever: a reply or timer that names another wait does nothing."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    frame = relation("workflows.Frame", related_name="waits")
    kind = models.CharField(max_length=16, choices=WaitKind)
    state = models.CharField(max_length=16, choices=WaitState)
    contact_id = models.CharField(max_length=64, null=True)
    chat_id = models.CharField(max_length=64, null=True)
    step_key = models.CharField(max_length=63)
    action_key = models.CharField(max_length=63)
    seq = models.IntegerField()
    timeout = models.DurationField(null=True)
    collect = models.DurationField(default=timedelta(0))
    created_at = models.DateTimeField()
    armed_at = models.DateTimeField(null=True)
    deadline = models.DateTimeField(null=True)
    gathered = models.JSONField(null=True)
    kept_message = relation("workflows.InboundMessage", null=True, related_name="kept_by")
    resolved_at = models.DateTimeField(null=True)
    resolution = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="wait_entity_key"),
            models.UniqueConstraint(
                fields=["entity_id", "contact_id", "chat_id"],
                condition=models.Q(kind="reply", state__in=SLOT_STATES),
                name="wait_one_slot_per_chat",
            ),
            models.CheckConstraint(condition=models.Q(state__in=WaitState.values), name="wait_state_known"),
            models.CheckConstraint(condition=models.Q(kind__in=WaitKind.values), name="wait_kind_known"),
            models.CheckConstraint(
                condition=~models.Q(kind="reply")
                | models.Q(
                    timeout__isnull=False,  # a comparison with null would not refuse the row
                    timeout__gte=timedelta(hours=1),
                    timeout__lte=timedelta(days=30),
                    contact_id__isnull=False,
                    chat_id__isnull=False,
                ),
                name="wait_reply_has_timeout",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="open") | models.Q(deadline__isnull=False, armed_at__isnull=False),
                name="wait_open_has_deadline",
            ),
            models.CheckConstraint(
                condition=~models.Q(kind="delay")
                | models.Q(deadline__isnull=False, deadline__lte=models.F("created_at") + timedelta(days=30)),
                name="wait_delay_within_30_days",
            ),
        ]
        indexes = [
            models.Index(
                fields=["frame"],
                condition=models.Q(state__in=["queued", *SLOT_STATES]),
                name="wait_alive_of_frame",
            ),
            models.Index(
                fields=["entity_id", "contact_id", "chat_id", "created_at"],
                condition=models.Q(state="queued"),
                name="wait_queue",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Timer(models.Model):
    """A due time and the wait that made it; no content, no policy: swept before an entity is known."""

    id = models.BigAutoField(primary_key=True)
    entity_id = models.BigIntegerField()
    wait_id = models.UUIDField()
    due_at = models.DateTimeField()
    taken_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["wait_id"], name="timer_one_per_wait")]
        indexes = [models.Index(fields=["due_at"], name="timer_due")]

    def __str__(self) -> str:
        return f"{self.wait_id} {self.due_at:%Y-%m-%d %H:%M}"
