"""Messages that came in, each with its one destination and how that was decided."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.base import EntityRow, relation, uuid7


class MessageOutcome(models.TextChoices):
    """Where a message went: exactly one place (T6)."""

    RESUMED = "resumed", _("Resumed an execution")
    KEPT = "kept", _("Kept for a wait about to be armed")
    STARTED = "started", _("Started an execution")
    OPTED_OUT = "opted_out", _("Opted out")
    IGNORED = "ignored", _("Ignored")
    UNMATCHED = "unmatched", _("Matched nothing")


class InboundMessage(EntityRow):
    """One message of the CRM, unique per entity, channel and message id (decision 30)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    channel = models.CharField(_("channel"), max_length=64)
    message_id = models.CharField(_("message id"), max_length=255)
    contact_id = models.CharField(_("contact"), max_length=64)
    chat_id = models.CharField(_("chat"), max_length=64)
    event = models.JSONField(_("event"))
    outcome = models.CharField(_("outcome"), max_length=16, choices=MessageOutcome)
    reason = models.CharField(_("reason"), max_length=64, blank=True, default="")
    answer = models.JSONField(_("first answer"), null=True)
    execution = relation("workflows.Execution", null=True, related_name="messages")
    workflow = relation("workflows.Workflow", null=True, related_name="+")
    trace = models.JSONField(_("trace"), default=list)
    received_at = models.DateTimeField(_("received"))

    class Meta:
        verbose_name = _("inbound message")
        verbose_name_plural = _("inbound messages")
        constraints = [
            models.UniqueConstraint(fields=["entity_id", "id"], name="inbound_entity_key"),
            models.UniqueConstraint(
                fields=["entity_id", "channel", "message_id"], name="inbound_one_per_message_id"
            ),
            models.CheckConstraint(
                condition=models.Q(outcome__in=MessageOutcome.values), name="inbound_outcome_known"
            ),
        ]
        indexes = [
            models.Index(fields=["entity_id", "-received_at"], name="inbound_list"),
            models.Index(fields=["entity_id", "contact_id", "-received_at"], name="inbound_of_contact"),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.message_id}"
