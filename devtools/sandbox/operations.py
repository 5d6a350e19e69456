"""What the sandbox does for each operation of the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from devtools.sandbox.world import Chat, Contact, Entity, User, new_id, now, stamp


class Refused(Exception):
    """An answer other than 200: a status and a code of the contract."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


@dataclass(frozen=True, slots=True)
class Request:
    """One accepted request: the entity, the values of path and query, the body."""

    entity: Entity
    user_id: str | None
    values: Mapping[str, str]
    body: Mapping[str, Any]


Work = Callable[[Request], dict[str, Any]]
WORK: dict[str, Work] = {}


def operation(work: Work) -> Work:
    WORK[work.__name__] = work
    return work


def _contact(request: Request, contact_id: str) -> Contact:
    contact = request.entity.contacts.get(contact_id)
    if contact is None:
        raise Refused(404, "not_found", "There is no such contact.")
    if contact.deleted:
        raise Refused(410, "contact_deleted", "The contact was deleted.")
    return contact


def _user(request: Request, user_id: str) -> User:
    user = request.entity.users.get(user_id)
    if user is None:
        raise Refused(404, "not_found", "There is no such user.")
    return user


def _send(request: Request, kind: str, text: str, *, free: bool, **more: Any) -> dict[str, Any]:
    contact = _contact(request, request.body["contact_id"])
    chat: Chat | None = request.entity.chats.get(request.body["chat_id"])
    if chat is None or chat.contact_id != contact.id:
        raise Refused(404, "not_found", "The contact has no such chat.")
    if contact.blocked:
        raise Refused(422, "contact_blocked", "The contact is blocked.")
    if contact.opted_out:
        raise Refused(422, "contact_opted_out", "The contact does not want messages.")
    if free and chat.window_open_until is not None and chat.window_open_until <= now():
        raise Refused(422, "window_closed", "Only a template may be sent now.")
    message_id, at = new_id("wamid."), stamp()
    entry = {
        "direction": "out",
        "message_id": message_id,
        "chat_id": chat.id,
        "kind": kind,
        "text": text,
        "at": at,
    }
    request.entity.note_message(contact.id, {**entry, **more})
    return {"message_id": message_id, "status": "accepted", "accepted_at": at}


@operation
def send_text(request: Request) -> dict[str, Any]:
    options = request.body.get("options", [])
    return _send(request, "text", request.body["text"], free=True, options=options)


@operation
def send_template(request: Request) -> dict[str, Any]:
    name, language = request.body["template"], request.body.get("language")
    for template in request.entity.templates:
        if template.name == name and language in {None, template.language}:
            parameters = request.body.get("parameters", [])
            if len(parameters) != template.parameters:
                raise Refused(422, "rejected", f"The template takes {template.parameters} parameters.")
            text = template.body
            for position, value in enumerate(parameters, start=1):
                text = text.replace(f"{{{{{position}}}}}", value)
            return _send(request, "template", text, free=False, template=name)
    raise Refused(404, "not_found", "There is no such template.")


@operation
def send_media(request: Request) -> dict[str, Any]:
    caption = request.body.get("caption") or ""
    return _send(request, request.body["type"], caption, free=True, url=request.body["url"])


@operation
def list_templates(request: Request) -> dict[str, Any]:
    return {"items": [template.model_dump(mode="json") for template in request.entity.templates]}


@operation
def list_chats(request: Request) -> dict[str, Any]:
    contact = _contact(request, request.values["contact_id"])
    return {"items": [chat.shown() for chat in request.entity.chats_of(contact.id)]}


@operation
def assign_seller(request: Request) -> dict[str, Any]:
    contact = _contact(request, request.body["contact_id"])
    strategy, team = request.body["strategy"], request.body.get("team")
    if strategy == "user":
        user = _user(request, request.body.get("user_id") or "")
        if not user.active:
            raise Refused(422, "no_seller_available", "The user is not active.")
    else:
        user = _pick_seller(request.entity, strategy, team)
    contact.seller_id = user.id
    return {"employee_id": user.employee_id, "user_id": user.id}


def _pick_seller(entity: Entity, strategy: str, team: str | None) -> User:
    members = list(entity.users.values()) if team is None else entity.team(team)
    if team is not None and not members:
        raise Refused(422, "unknown_team", "There is no such team.")
    sellers = [user for user in members if user.active]
    if not sellers:
        raise Refused(422, "no_seller_available", "Nobody of the team is active.")
    if strategy == "round_robin":
        turn = entity.turns[team] = entity.turns.get(team, -1) + 1
        return sellers[turn % len(sellers)]
    taken = [contact.seller_id for contact in entity.contacts.values()]
    return min(sellers, key=lambda user: taken.count(user.id))


@operation
def get_contact(request: Request) -> dict[str, Any]:
    return _contact(request, request.values["contact_id"]).shown()


@operation
def search_contacts(request: Request) -> dict[str, Any]:
    query, tag = request.values.get("query", "").casefold(), request.values.get("tag")
    limit, after = request.values.get("limit", "100"), request.values.get("cursor", "")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 500):
        raise Refused(400, "invalid", "limit must be a number from 1 to 500.")
    found = [
        contact
        for _, contact in sorted(request.entity.contacts.items())
        if contact.id > after
        and not contact.deleted
        and (tag is None or tag in contact.tags)
        and any(query in (text or "").casefold() for text in (contact.name, contact.phone, contact.email))
    ]
    page = found[: int(limit)]
    return {
        "items": [contact.shown() for contact in page],
        "next_cursor": page[-1].id if len(found) > len(page) else None,
    }


@operation
def update_contact(request: Request) -> dict[str, Any]:
    contact = _contact(request, request.values["contact_id"])
    for name in ("name", "phone", "email"):
        if name in request.body:
            setattr(contact, name, request.body[name])
    contact.fields = {**contact.fields, **request.body.get("fields", {})}
    return contact.shown()


@operation
def add_tag(request: Request) -> dict[str, Any]:
    contact = _contact(request, request.values["contact_id"])
    contact.tags = [*(tag for tag in contact.tags if tag != request.values["tag"]), request.values["tag"]]
    return contact.shown()


@operation
def remove_tag(request: Request) -> dict[str, Any]:
    contact = _contact(request, request.values["contact_id"])
    contact.tags = [tag for tag in contact.tags if tag != request.values["tag"]]
    return contact.shown()


@operation
def create_note(request: Request) -> dict[str, Any]:
    _contact(request, request.values["contact_id"])
    return {"note_id": new_id("note-")}


@operation
def create_event(request: Request) -> dict[str, Any]:
    if request.body.get("contact_id") is not None:
        _contact(request, request.body["contact_id"])
    if request.body.get("user_id") is not None:
        _user(request, request.body["user_id"])
    return {"event_id": new_id("event-")}


@operation
def notify_user(request: Request) -> dict[str, Any]:
    user = _user(request, request.body["user_id"])
    return _notify(request, [user])


@operation
def notify_team(request: Request) -> dict[str, Any]:
    members = request.entity.team(request.body["team"])
    if not members:
        raise Refused(422, "unknown_team", "There is no such team.")
    return _notify(request, members)


def _notify(request: Request, users: list[User]) -> dict[str, Any]:
    notification_id = new_id("notification-")
    people = [user.id for user in users]
    shown = {name: request.body.get(name) for name in ("text", "title", "link")}
    request.entity.notifications.append({"id": notification_id, "at": stamp(), "users": people, **shown})
    return {"notification_id": notification_id}


@operation
def get_user(request: Request) -> dict[str, Any]:
    return _user(request, request.values["user_id"]).model_dump(mode="json")


@operation
def resolve_zauru_session(request: Request) -> dict[str, Any]:
    wanted = request.body["zauru_user_id"]
    if not any(user.zauru_user_id == wanted and user.active for user in request.entity.users.values()):
        raise Refused(404, "not_found", "There is no such Zauru user.")
    ends = now() + timedelta(minutes=10)
    return {
        "jwt": new_id("sandbox."),
        "expires_at": ends.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "graphql_url": request.entity.zauru_url,
    }
