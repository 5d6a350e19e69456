"""`events/messages/`: deliver a message, and look up where messages went and why."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, ConfigDict
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import selectors, tenancy
from workflows.api.auth import caller
from workflows.api.describe import problems_of
from workflows.api.fields import QueryText, QueryTime, query_parameters, read_query
from workflows.api.message_model import MessageIn, to_event
from workflows.api.pagination import PageOut, PageQuery, answer, decode, read_instant, read_uuid
from workflows.api.parsers import storable
from workflows.errors import N_, InvalidInput
from workflows.models import Role
from workflows.services.inbound import receive_message

Outcome = Literal["resumed", "kept", "started", "opted_out", "ignored", "unmatched"]


class NoQuery(BaseModel):
    """No query parameters."""

    model_config = ConfigDict(extra="forbid")


class DecisionOut(BaseModel):
    """Where a message went; a message delivered again gets the first answer with `duplicate: true`."""

    outcome: Outcome
    execution_id: UUID | None
    workflow_id: UUID | None
    reason: str | None
    duplicate: bool


class MessageOut(BaseModel):
    """A recorded message and its decision."""

    id: UUID
    channel: str
    message_id: str
    contact_id: str
    chat_id: str
    outcome: Outcome
    reason: str | None
    execution_id: UUID | None
    workflow_id: UUID | None
    received_at: datetime


class MessageDetail(MessageOut):
    """With the message as it came, and what the router looked at in order."""

    event: dict[str, Any]
    trace: list[dict[str, Any]]


class MessagePage(PageOut[MessageOut]):
    """A page of messages."""


class MessageQuery(PageQuery):
    """What the list is narrowed to; `received_from` is included, `received_to` is not."""

    outcome: Outcome | None = None
    contact: QueryText | None = None
    chat: QueryText | None = None
    channel: QueryText | None = None
    message_id: QueryText | None = None
    received_from: QueryTime | None = None
    received_to: QueryTime | None = None


class MessagesView(APIView):
    """Messages of the entity."""

    roles: ClassVar = {"GET": Role.VIEWER, "POST": Role.OPERATOR}
    events_methods: ClassVar = ("GET", "POST")
    body_limit: ClassVar = 262_144

    @extend_schema(
        operation_id="receive_message",
        summary="Deliver one message",
        request=MessageIn,
        responses={200: DecisionOut, **problems_of(413, 422, 503)},
    )
    def post(self, request: Request) -> Response:
        """Decided before it is answered. On 503 nothing was stored: send the same message again."""
        read_query(NoQuery, request)
        event = to_event(MessageIn.model_validate(storable(request.data)))
        decision = receive_message(entity=caller(request).entity, event=event)
        return Response(
            DecisionOut(
                outcome=decision.outcome,  # type: ignore[arg-type]  # the table's CHECK holds it to these
                execution_id=decision.execution_id,
                workflow_id=decision.workflow_id,
                reason=decision.reason,
                duplicate=decision.duplicate,
            ).model_dump(mode="json")
        )

    @extend_schema(
        operation_id="list_messages",
        summary="Messages and where they went",
        parameters=query_parameters(MessageQuery),
        responses={200: MessagePage, **problems_of(422)},
    )
    def get(self, request: Request) -> Response:
        """Newest first. A key of the scope `events` must name `channel` and `message_id`."""
        query = read_query(MessageQuery, request)
        asking = caller(request)
        if asking.role == Role.EVENTS and not (query.channel and query.message_id):
            needed = N_("A key of this scope looks up one message by its channel and id.")
            raise InvalidInput(fields={"message_id": needed})
        with tenancy.entity(asking.entity.pk):
            page = selectors.list_messages(
                entity_id=asking.entity.pk,
                wanted=_filter_of(query),
                after=decode(query.cursor, read_instant, read_uuid),
                limit=query.limit,
            )
        return Response(answer(page, lambda row: MessageOut(**_nulls(row))))


class MessageView(APIView):
    """One message."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="retrieve_message",
        summary="One message with the trace of its decision",
        responses={200: MessageDetail, **problems_of(404)},
    )
    def get(self, request: Request, message_id: UUID) -> Response:
        """The event as it was stored, and what the router looked at."""
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            row = selectors.find_message(entity_id=entity_id, message_id=message_id)
        return Response(MessageDetail(**_nulls(row)).model_dump(mode="json"))


def _filter_of(query: MessageQuery) -> selectors.MessageFilter:
    return selectors.MessageFilter(
        outcome=query.outcome,
        contact_id=query.contact,
        chat_id=query.chat,
        channel=query.channel,
        message_id=query.message_id,
        received_from=query.received_from,
        received_to=query.received_to,
    )


def _nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "reason": row["reason"] or None}
