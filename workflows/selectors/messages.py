"""Reads of inbound messages; lists never load the event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from workflows.errors import NotFound
from workflows.models import InboundMessage
from workflows.selectors.paging import Page, Position, Row, read_page

COLUMNS = (
    "id",
    "channel",
    "message_id",
    "contact_id",
    "chat_id",
    "outcome",
    "reason",
    "execution_id",
    "workflow_id",
    "received_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """What a list of messages is narrowed to; None: not by this. The range includes its start and not its end."""

    outcome: str | None = None
    contact_id: str | None = None
    chat_id: str | None = None
    channel: str | None = None
    message_id: str | None = None
    received_from: datetime | None = None
    received_to: datetime | None = None


def list_messages(*, entity_id: int, wanted: MessageFilter, after: Position | None, limit: int) -> Page:
    """Messages without their events, newest first."""
    lookups = {
        "outcome": wanted.outcome,
        "contact_id": wanted.contact_id,
        "chat_id": wanted.chat_id,
        "channel": wanted.channel,
        "message_id": wanted.message_id,
        "received_at__gte": wanted.received_from,
        "received_at__lt": wanted.received_to,
    }
    chosen = {name: value for name, value in lookups.items() if value is not None}
    rows = InboundMessage.objects.filter(entity_id=entity_id, **chosen).values(*COLUMNS)
    return read_page(rows, by="received_at", tie="id", descending=True, after=after, limit=limit)


def find_message(*, entity_id: int, message_id: UUID) -> Row:
    """One message with its event and the trace of its decision; NotFound."""
    found: Row | None = (
        InboundMessage.objects.filter(entity_id=entity_id, pk=message_id)
        .values(*COLUMNS, "event", "trace")
        .first()
    )
    if found is None:
        raise NotFound
    return found
