"""The body of `POST events/messages/`: strict on what it knows, and keeps what it does not."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from workflows.api.fields import CrmId, MessageId, Timestamp

Kind = Literal[
    "text",
    "media",
    "audio",
    "location",
    "button",
    "list",
    "template_reply",
    "reaction",
    "receipt",
    "edit",
    "system",
]


class Part(BaseModel):
    """Base: known fields have the exact type, others are kept aside."""

    model_config = ConfigDict(extra="allow", strict=True)

    def extras(self) -> dict[str, Any]:
        """The fields that this interface does not know."""
        return dict(self.__pydantic_extra__ or {})


class Attachment(Part):
    """A file of the message; further fields stay beside these."""

    type: Annotated[str, Field(max_length=64)]
    url: Annotated[str, Field(max_length=4096)] | None = None
    mime: Annotated[str, Field(max_length=255)] | None = None


class Contact(Part):
    """Who wrote, as the CRM knows them."""

    id: CrmId
    name: str | None = None
    phone: str | None = None
    email: str | None = None
    tags: list[str] = []
    seller_id: CrmId | None = None
    is_new: bool | None = None
    fields: dict[str, JsonValue] = {}


class Chat(Part):
    """Where it was written."""

    id: CrmId
    channel: CrmId | None = None
    window_open_until: Timestamp | None = None
    assigned_user_id: CrmId | None = None


class MessageIn(Part):
    """One message of the CRM; the pair of channel and message id is what makes it one."""

    message_id: MessageId
    channel: CrmId
    direction: Literal["inbound", "outbound"]
    author: Literal["contact", "agent", "automation", "system"]
    kind: Kind
    text: str | None = None
    payload: JsonValue = None
    attachments: Annotated[list[Attachment], Field(max_length=100)] = []
    reply_to: MessageId | None = None
    sent_at: Timestamp | None = None
    contact: Contact
    chat: Chat


def to_event(message: MessageIn) -> dict[str, Any]:
    """What is stored and routed: every known field, and under `extra` the unknown ones of message, contact and chat."""
    known = message.model_dump(mode="json", include=set(MessageIn.model_fields))
    extra = message.extras()
    for name, part, model in (("contact", message.contact, Contact), ("chat", message.chat, Chat)):
        known[name] = {field: known[name][field] for field in model.model_fields}
        if part.extras():
            extra[name] = part.extras()
    if known["chat"]["channel"] is None:
        known["chat"]["channel"] = message.channel
    return {**known, "extra": extra}
