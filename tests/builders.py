"""Small valid things to test with, and a client of the HTTP interface."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client

_numbers = itertools.count(1)


def automation(**changes: Any) -> dict[str, Any]:
    """An automation that waits for one reply and ends; `filters` goes into the trigger, the rest replaces parts."""
    trigger: dict[str, Any] = {"type": "message.inbound", "config": {}}
    if "filters" in changes:
        trigger["filters"] = changes.pop("filters")
    return {
        "format": 1,
        "kind": "automation",
        "name": "Saludo",
        "trigger": trigger,
        "steps": [
            {
                "key": "inicio",
                "actions": [
                    {"key": "espera", "type": "flow.wait_for_reply", "config": {"timeout": "PT24H"}},
                    {"key": "fin", "type": "flow.end", "config": {}},
                ],
            }
        ],
        **changes,
    }


def inbound_event(**changes: Any) -> dict[str, Any]:
    """A text message of contact c-1 in chat ch-1, with an id of its own; `contact_id`, `chat_id` change those."""
    contact_id = changes.pop("contact_id", "c-1")
    chat_id = changes.pop("chat_id", "ch-1")
    return {
        "message_id": f"wamid.{next(_numbers)}",
        "channel": "whatsapp",
        "direction": "inbound",
        "author": "contact",
        "kind": "text",
        "text": "Hola",
        "contact": {"id": contact_id, "name": "Ana"},
        "chat": {"id": chat_id},
        **changes,
    }


class Api:
    """A caller of `/api/v1/` with a bearer key; paths are relative, bodies are JSON."""

    def __init__(self, secret: str | None, language: str = "en") -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Accept-Language": language}
        if secret is not None:
            self.headers["Authorization"] = f"Bearer {secret}"

    def call(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: Any
    ) -> HttpResponse:
        """One request; `raw` is sent as it is. `X_Entity_Id` is spelt as a keyword."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        found: HttpResponse = cast(Any, self.client).generic(
            method,
            f"/api/v1/{path}",
            data,
            content_type="application/json",
            headers={**self.headers, **given},
        )
        return found

    def get(self, path: str, **headers: Any) -> HttpResponse:
        """GET."""
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: Any) -> HttpResponse:
        """POST."""
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: Any) -> HttpResponse:
        """PUT."""
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, **headers: Any) -> HttpResponse:
        """DELETE."""
        return self.call("DELETE", path, **headers)


def body_of(response: Any) -> Any:
    """The JSON of an answer."""
    return json.loads(response.content)
