"""The sandbox's own endpoints: seed it, look at what it was sent, order faults, answer as a contact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, ValidationError

from devtools.sandbox.faults import Fault
from devtools.sandbox.inbound import Engine, Reply
from devtools.sandbox.operations import Refused
from devtools.sandbox.service import Answer, Service, problem
from devtools.sandbox.world import EntitySeed, build_entity

PREFIX = "/_sandbox/"


class _Abilities(BaseModel):
    model_config = ConfigDict(extra="forbid")

    idempotency_keys: bool | None = None
    services: list[str] | None = None


class Control:
    """Routes below `/_sandbox/`."""

    def __init__(self, service: Service, engine: Engine) -> None:
        self._service, self._engine = service, engine

    def handle(self, method: str, path: str, query: Mapping[str, str], raw: bytes) -> Answer:
        """Carry out one request; every fault of the request is answered as problem details."""
        parts = [unquote(part) for part in path.removeprefix(PREFIX).split("/")]
        try:
            body = json.loads(raw) if raw else {}
            return Answer(200, self._route(method, parts, query, body))
        except Refused as refused:
            return problem(refused.status, refused.code, refused.detail)
        except ValidationError as error:
            return problem(422, "invalid", str(error.errors(include_url=False, include_input=False)))
        except ValueError as error:
            return problem(422, "invalid", str(error))

    def _route(self, method: str, parts: list[str], query: Mapping[str, str], body: Any) -> dict[str, Any]:
        match method, *parts:
            case "GET", "health":
                return {"status": "ok"}
            case "GET", "entities":
                return self._entities()
            case "PUT", "entities", entity_id:
                return self._seed(entity_id, body)
            case "GET", "calls":
                return self._calls(query)
            case "GET", "faults":
                return {"faults": self._service.faults.shown()}
            case "POST", "faults":
                self._service.faults.add(Fault.model_validate(body))
            case "DELETE", "faults":
                self._service.faults.clear()
            case "PUT", "capabilities":
                given = _Abilities.model_validate(body).model_dump(exclude_none=True)
                self._service.capabilities = {**self._service.capabilities, **given}
            case "POST", "reset":
                self._service.reset()
            case "POST", "reply":
                return self._engine.post(self._service, Reply.model_validate(body))
            case "GET", "conversations", entity_id, contact_id:
                return self._conversation(entity_id, contact_id)
            case _:
                raise Refused(404, "not_found", "The sandbox has no such endpoint.")
        return {"done": True}

    def _seed(self, entity_id: str, body: Any) -> dict[str, Any]:
        entity = build_entity(entity_id, EntitySeed.model_validate(body))
        with self._service.lock:
            self._service.entities[entity_id] = entity
        return {"id": entity_id, "contacts": len(entity.contacts), "chats": len(entity.chats)}

    def _entities(self) -> dict[str, Any]:
        with self._service.lock:
            return {
                "entities": [
                    {
                        "id": entity.id,
                        "contacts": [
                            {
                                "id": contact.id,
                                "name": contact.name,
                                "chats": [chat.shown() for chat in entity.chats_of(contact.id)],
                            }
                            for contact in list(entity.contacts.values())[:500]
                        ],
                        "notifications": entity.notifications[-100:],
                    }
                    for entity in self._service.entities.values()
                ]
            }

    def _calls(self, query: Mapping[str, str]) -> dict[str, Any]:
        since = int(query.get("since", "0"))
        calls = self._service.ledger.calls(
            since=since, entity=query.get("entity"), operation=query.get("operation")
        )
        return {"calls": calls, "last": calls[-1]["number"] if calls else since}

    def _conversation(self, entity_id: str, contact_id: str) -> dict[str, Any]:
        with self._service.lock:
            entity = self._service.entities.get(entity_id)
            if entity is None or contact_id not in entity.contacts:
                raise Refused(404, "not_found", "There is no such entity or contact.")
            return {
                "contact": entity.contacts[contact_id].shown(),
                "messages": [dict(entry) for entry in entity.conversations.get(contact_id, ())],
            }
