"""Answering as a contact: an inbound message event for the engine's API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import requests
from pydantic import AwareDatetime, BaseModel, ConfigDict

from devtools.sandbox.operations import Refused
from devtools.sandbox.service import Service
from devtools.sandbox.world import Id, new_id, now, stamp

WINDOW = timedelta(hours=24)
TIMEOUT_S = 20.0


class Reply(BaseModel):
    """What a contact writes. `kind` is `button` where there is a payload, else `text`."""

    model_config = ConfigDict(extra="forbid")

    entity: Id
    contact: Id
    chat: Id | None = None
    text: str | None = None
    payload: Any = None
    kind: str | None = None
    message_id: str | None = None
    reply_to: str | None = None
    sent_at: AwareDatetime | None = None


class Engine:
    """The engine's API, as the CRM calls it."""

    def __init__(self, web_url: str | None, api_key: str | None) -> None:
        self._web_url, self._api_key = web_url, api_key

    def post(self, service: Service, reply: Reply) -> dict[str, Any]:
        """Send the event; the engine's status and answer, and the message id that was used."""
        event, web_url, key = self._prepare(service, reply)
        headers = {"X-Entity-Id": reply.entity}
        with requests.Session() as session:
            session.trust_env = False
            try:
                response = session.post(
                    f"{web_url.rstrip('/')}/api/v1/events/messages/",
                    json=event,
                    headers=headers,
                    auth=_Bearer(key),
                    timeout=TIMEOUT_S,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                raise Refused(
                    502, "unavailable", f"no answer from the engine: {type(error).__name__}"
                ) from None
        try:
            answer = response.json()
        except ValueError:
            answer = {"text": response.text[:2000]}
        result = {"status": response.status_code, "answer": answer, "message_id": event["message_id"]}
        with service.lock:
            for entry in service.entities[reply.entity].conversations.get(reply.contact, ()):
                if entry["message_id"] == event["message_id"]:
                    entry["engine"] = {"status": response.status_code, "answer": answer}
        return result

    def _prepare(self, service: Service, reply: Reply) -> tuple[dict[str, Any], str, str]:
        with service.lock:
            entity = service.entities.get(reply.entity)
            contact = entity.contacts.get(reply.contact) if entity else None
            if entity is None or contact is None:
                raise Refused(404, "not_found", "There is no such entity or contact.")
            chats = entity.chats_of(contact.id)
            chat = next((chat for chat in chats if reply.chat in {None, chat.id}), None)
            if chat is None:
                raise Refused(404, "not_found", "The contact has no such chat.")
            web_url, key = entity.web_url or self._web_url, entity.api_key or self._api_key
            if not web_url or not key:
                raise Refused(422, "invalid", "The engine's address or the entity's API key is not known.")
            if chat.window_open_until is not None:
                chat.window_open_until = now() + WINDOW
            event = {
                "message_id": reply.message_id or new_id("wamid."),
                "channel": chat.channel,
                "direction": "inbound",
                "author": "contact",
                "kind": reply.kind or ("text" if reply.payload is None else "button"),
                "text": reply.text,
                "payload": reply.payload,
                "attachments": [],
                "reply_to": reply.reply_to,
                "sent_at": reply.sent_at.isoformat() if reply.sent_at else stamp(),
                "contact": contact.shown(),
                "chat": chat.shown(),
            }
            shown = {name: event[name] for name in ("message_id", "kind", "text", "payload")}
            entry = {"direction": "in", "chat_id": chat.id, "at": event["sent_at"], **shown}
            entity.note_message(contact.id, entry)
            return event, web_url, key


class _Bearer(requests.auth.AuthBase):
    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request
