"""Inbound messages: where each went, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from workflows.admin import badges
from workflows.admin.base import EntityAdmin
from workflows.admin.filters import OutcomeFilter
from workflows.admin.tree import tree
from workflows.admin.wording import condition_text, moment_cell, trace_text
from workflows.models import Execution, InboundMessage, Workflow

DEEPEST = 3
"""Indents of nested conditions; deeper ones stand at the last."""


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that was looked at: its sentence, whether it took the message, and the conditions behind it."""

    text: str
    taken: bool
    conditions: tuple[tuple[bool, int, str], ...]


class InboundMessageAdmin(EntityAdmin):
    """Messages of the chosen entity, the latest first."""

    list_display = (
        "message_id",
        "channel",
        "contact_id",
        "chat_id",
        "show_outcome",
        "reason",
        "show_received",
    )
    list_display_links = ("message_id",)
    list_filter = (OutcomeFilter,)
    list_filter_submit = True
    search_fields = ("message_id",)
    search_help_text = _("Message id, contact or chat")
    ordering = ("-received_at",)
    deferred = ("event", "trace")
    detail_template = "admin/boostflow/message.html"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Whole ids only."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(Q(message_id=term) | Q(contact_id=term) | Q(chat_id=term)), False

    @display(description=_("Outcome"), label=badges.OUTCOME)
    def show_outcome(self, row: InboundMessage) -> tuple[str, str]:
        """As a badge."""
        return row.outcome, row.get_outcome_display()

    @display(description=_("Received"))
    def show_received(self, row: InboundMessage) -> SafeString:
        """To the second."""
        return moment_cell(row.received_at)

    def detail(self, request: HttpRequest, row: InboundMessage) -> dict[str, Any]:
        """The event and the trace of its decision."""
        scope = {"entity_id": row.entity_id}
        return {
            "message": row,
            "badge": badges.OUTCOME[row.outcome],
            "text": row.event.get("text"),
            "kind": row.event.get("kind"),
            "author": row.event.get("author"),
            "sent_at": row.event.get("sent_at"),
            "execution": Execution.objects.filter(**scope, pk=row.execution_id).defer("context").first(),
            "workflow": Workflow.objects.filter(**scope, pk=row.workflow_id).defer("draft").first(),
            "looks": [look(item) for item in row.trace],
            "event": tree(row.event, opened=1),
        }


def look(item: Mapping[str, Any]) -> Look:
    """One entry of the trace."""
    explained = item.get("filters")
    return Look(
        trace_text(item),
        item.get("verdict") in ("started", "resumed", "kept"),
        tuple(_conditions(explained, 0)) if isinstance(explained, Mapping) else (),
    )


def _conditions(node: Mapping[str, Any], level: int) -> list[tuple[bool, int, str]]:
    lines = [(bool(node.get("verdict")), min(level, DEEPEST), condition_text(node))]
    for part in node.get("parts") or ():
        lines += _conditions(part, level + 1)
    return lines
