"""What the sandbox knows: entities with their users, contacts, chats and conversations, in memory."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=64)]
FLAGS = {"opted_out", "blocked", "deleted"}


class Seed(BaseModel):
    """Base of what a seed may hold: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class Contact(Seed):
    """A contact, and whether messages to it are refused."""

    id: Id
    name: str | None = None
    phone: str | None = None
    email: str | None = None
    tags: list[str] = []
    seller_id: Id | None = None
    is_new: bool = False
    fields: dict[str, Any] = {}
    opted_out: bool = False
    blocked: bool = False
    deleted: bool = False

    def shown(self) -> dict[str, Any]:
        """As the contract and inbound events show it."""
        return self.model_dump(mode="json", exclude=FLAGS)


class Chat(Seed):
    """A contact's chat; without `window_open_until` free texts may always be sent."""

    id: Id
    contact_id: Id
    channel: str = "whatsapp"
    window_open_until: AwareDatetime | None = None
    assigned_user_id: Id | None = None

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"contact_id"})


class User(Seed):
    """A user of the CRM."""

    id: Id
    name: str = ""
    active: bool = True
    employee_id: Id | None = None
    zauru_user_id: Id | None = None
    teams: list[str] = []


class Template(Seed):
    """An approved message template."""

    name: str
    language: str = "es"
    body: str
    parameters: int = 0


class EntitySeed(Seed):
    """Everything an entity is created with; `api_key` and `web_url` say where its inbound messages go."""

    contacts: list[Contact] = []
    chats: list[Chat] = []
    users: list[User] = []
    teams: dict[str, list[Id]] = {}
    templates: list[Template] = []
    api_key: str | None = None
    web_url: str | None = None
    zauru_url: str = "http://127.0.0.1/graphql"


@dataclass(slots=True)
class Entity:
    """One tenant of the sandbox."""

    id: str
    contacts: dict[str, Contact]
    chats: dict[str, Chat]
    users: dict[str, User]
    templates: list[Template]
    api_key: str | None
    web_url: str | None
    zauru_url: str
    turns: dict[str | None, int] = field(default_factory=dict)
    conversations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    notifications: list[dict[str, Any]] = field(default_factory=list)

    def chats_of(self, contact_id: str) -> list[Chat]:
        """In the order of activity, the latest first."""
        latest = {
            entry["chat_id"]: number for number, entry in enumerate(self.conversations.get(contact_id, ()))
        }
        chats = [chat for chat in self.chats.values() if chat.contact_id == contact_id]
        return sorted(chats, key=lambda chat: -latest.get(chat.id, -1))

    def team(self, name: str) -> list[User]:
        return [user for user in self.users.values() if name in user.teams]

    def note_message(self, contact_id: str, entry: dict[str, Any]) -> None:
        self.conversations.setdefault(contact_id, []).append(entry)


def build_entity(entity_id: str, seed: EntitySeed) -> Entity:
    """An entity from its seed; `ValueError` if a chat or a team names somebody it does not have."""
    users = {user.id: user for user in seed.users}
    contacts = {contact.id: contact for contact in seed.contacts}
    for name, members in seed.teams.items():
        for member in members:
            if member not in users:
                raise ValueError(f"team {name!r} has an unknown user {member!r}")
            if name not in users[member].teams:
                users[member].teams = [*users[member].teams, name]
    for chat in seed.chats:
        if chat.contact_id not in contacts:
            raise ValueError(f"chat {chat.id!r} has an unknown contact {chat.contact_id!r}")
    chats = {chat.id: chat for chat in seed.chats}
    return Entity(
        entity_id, contacts, chats, users, seed.templates, seed.api_key, seed.web_url, seed.zauru_url
    )


def new_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex}"


def now() -> datetime:
    return datetime.now(UTC)


def stamp() -> str:
    """Now, as RFC 3339."""
    return now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
