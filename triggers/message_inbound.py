"""`message.inbound`: a contact writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field

from workflows.contracts import N_, WRITTEN_KINDS, Config, Duration, Refusal, TriggerType, trigger_registry

CONTACT_FIELDS = ("id", "name", "phone", "email", "tags", "seller_id", "is_new", "fields")
CHAT_FIELDS = ("id", "channel", "window_open_until", "assigned_user_id")
MESSAGE_FIELDS = (
    "message_id",
    "channel",
    "direction",
    "author",
    "kind",
    "text",
    "payload",
    "attachments",
    "reply_to",
    "sent_at",
    "extra",
)

Channel = Annotated[str, Field(min_length=1, max_length=64)]


class MessageInboundConfig(Config):
    """The channels to listen on (absent: all); how long a contact does not start it again (decision 37)."""

    channels: Annotated[list[Channel], Field(min_length=1, max_length=50)] | None = None
    cooldown: Annotated[timedelta, Duration(timedelta(seconds=1))] | None = None


def facts(found: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    """What the event says, with null for every known field that it does not have."""
    known = dict.fromkeys(fields)
    return {**known, **found} if isinstance(found, Mapping) else dict(known)


@trigger_registry.register("message.inbound")
class MessageInboundTrigger(TriggerType[MessageInboundConfig]):
    """Sees one inbound message, shaped as `POST events/messages/`."""

    label = N_("Inbound message")
    help = N_("Starts when a contact writes and the filters are true for the message.")
    config = MessageInboundConfig
    has_filters = True
    has_contact = True

    def detect(self, event: Mapping[str, Any], config: MessageInboundConfig) -> Mapping[str, Any] | Refusal:
        message = {name: event.get(name) for name in MESSAGE_FIELDS}
        seen = {name: message[name] for name in ("direction", "author", "kind")}
        if (seen["direction"], seen["author"]) != ("inbound", "contact") or seen["kind"] not in WRITTEN_KINDS:
            return Refusal("ignored_kind", seen)
        if config.channels is not None and message["channel"] not in config.channels:
            return Refusal("filter_false", {"field": "message.channel", "value": message["channel"]})
        return {
            "trigger": {
                "type": self.kind,
                "message_id": message["message_id"],
                "channel": message["channel"],
                "sent_at": message["sent_at"],
            },
            "message": message,
            "contact": facts(event.get("contact"), CONTACT_FIELDS),
            "chat": facts(event.get("chat"), CHAT_FIELDS),
        }
