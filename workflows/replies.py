"""What `reply` in the context is: the contact's answer, or the fact that none came. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def reply_of(event: Mapping[str, Any], *, received_at: datetime) -> dict[str, Any]:
    """The reply that an inbound message is; `texts` holds one text for each message gathered."""
    text = event.get("text")
    return {
        "text": text,
        "texts": [] if text is None else [text],
        "kind": event.get("kind"),
        "payload": event.get("payload"),
        "message_id": event.get("message_id"),
        "received_at": received_at.isoformat(),
        "timed_out": False,
        "delivery_failed": False,
    }


def facts_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """What each inbound event says anew of its contact and chat (decision 32)."""
    return {"contact": event["contact"], "chat": event["chat"]}


def gather(reply: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """The reply with the text of a further message of the collect window (decision 34)."""
    text = event.get("text")
    return {**reply, "texts": [*reply["texts"], *([] if text is None else [text])]}


def no_reply(*, delivery_failed: bool = False) -> dict[str, Any]:
    """The reply of a wait whose time was over, or whose question did not arrive (decisions 8 and 36)."""
    return {
        "text": None,
        "texts": [],
        "kind": None,
        "payload": None,
        "message_id": None,
        "received_at": None,
        "timed_out": True,
        "delivery_failed": delivery_failed,
    }
