"""The CRM's services over HTTP, as `docs/crm-gateway.openapi.yaml` describes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from boostflow.env import environment
from boostflow.gateways import failures
from boostflow.gateways.http import JsonClient, segment
from workflows.errors import N_, ActionFailure, PermanentFailure
from workflows.ports import Assignment, Auth, SentMessage

CAPABILITIES_FRESH_S = 300.0
CAPABILITIES_KEPT_S = 3600.0
"""While the CRM does not answer, what it last said holds this long: a retry is decided just then."""
CAPABILITIES_PAUSE_S = 5.0

Id = Annotated[str, Field(min_length=1, max_length=64)]
M = TypeVar("M", bound=BaseModel)


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Sent(_Answer):
    message_id: Annotated[str, Field(min_length=1, max_length=255)]
    status: Annotated[str, Field(min_length=1, max_length=64)]
    accepted_at: AwareDatetime


class _Assigned(_Answer):
    employee_id: Id | None
    user_id: Id


class _Notified(_Answer):
    notification_id: Annotated[str, Field(min_length=1, max_length=255)]


class _Contact(_Answer):
    id: Id
    name: str | None = None
    phone: str | None = None
    email: str | None = None
    tags: list[str] = []
    seller_id: Id | None = None
    is_new: bool = False
    fields: dict[str, Any] = {}


class Capabilities(_Answer):
    """What this CRM offers: whether it honours idempotency keys, and which services it has."""

    idempotency_keys: bool
    services: list[str]


@dataclass(frozen=True, slots=True)
class _Caller:
    """The client bound to one call's identity, key and deadline."""

    client: JsonClient
    auth: Auth
    idempotency_key: str
    ends: float
    limit_s: float

    def read(self, operation: str, path: str, answer: type[M]) -> M:
        return self._call(operation, "GET", path, answer, self._identity())

    def write(self, operation: str, path: str, answer: type[M], body: Mapping[str, Any]) -> M:
        headers = {**self._identity(), "Idempotency-Key": self.idempotency_key}
        return self._call(operation, "POST", path, answer, headers, body)

    def _call(
        self,
        operation: str,
        method: str,
        path: str,
        answer: type[M],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> M:
        seconds = min(self.limit_s, self.ends - time.monotonic())
        return self.client.call(operation, method, path, answer, seconds=seconds, headers=headers, body=body)

    def _identity(self) -> dict[str, str]:
        named = {
            "X-Entity-Id": self.auth.entity_id,
            "X-User-Id": self.auth.user_id,
            "X-Employee-Id": self.auth.employee_id,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class CrmInteractions:
    """InteractionsService over HTTP."""

    _caller: _Caller

    def send_text(
        self, *, contact_id: str, chat_id: str, text: str, options: Sequence[Mapping[str, str]] = ()
    ) -> SentMessage:
        body = {"contact_id": contact_id, "chat_id": chat_id, "text": text, "options": list(options)}
        sent = self._caller.write("send_text", "/messages/text", _Sent, body)
        return SentMessage(sent.message_id, sent.status, sent.accepted_at)


@dataclass(frozen=True, slots=True)
class CrmAssignments:
    """RecordAssignmentsService over HTTP."""

    _caller: _Caller

    def assign_seller(
        self, *, contact_id: str, strategy: str, team: str | None, user_id: str | None
    ) -> Assignment:
        body = {"contact_id": contact_id, "strategy": strategy, "team": team, "user_id": user_id}
        done = self._caller.write("assign_seller", "/assignments/seller", _Assigned, body)
        return Assignment(done.employee_id, done.user_id)


@dataclass(frozen=True, slots=True)
class CrmNotifications:
    """NotificationsService over HTTP."""

    _caller: _Caller

    def notify_user(self, *, user_id: str, text: str, title: str | None, link: str | None) -> str:
        body = {"user_id": user_id, "text": text, "title": title, "link": link}
        return self._caller.write("notify_user", "/notifications/user", _Notified, body).notification_id


@dataclass(frozen=True, slots=True)
class CrmContacts:
    """ContactsService over HTTP."""

    _caller: _Caller

    def get(self, *, contact_id: str) -> Mapping[str, Any]:
        contact = self._caller.read("get_contact", f"/contacts/{segment(contact_id)}", _Contact)
        if contact.id != contact_id:
            raise failures.bad_response("get_contact", 200, b"", "another contact")
        return contact.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class CrmServices:
    """The services of one call."""

    crm: Crm
    interactions: CrmInteractions
    assignments: CrmAssignments
    notifications: CrmNotifications
    contacts: CrmContacts

    @property
    def honours_keys(self) -> bool:
        """From `GET /capabilities`; raises if that is not known."""
        return self.crm.capabilities().idempotency_keys


class Crm:
    """One CRM: its client and what it said it can do. One instance serves all threads."""

    def __init__(self, client: JsonClient, *, limit_s: float) -> None:
        self._client = client
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._known: Capabilities | None = None
        self._asked_at = self._tried_at = float("-inf")

    def open_services(self, *, auth: Auth, idempotency_key: str, deadline_s: float) -> CrmServices:
        """The services of one call; `deadline_s` runs from now and holds over all its requests."""
        ends = time.monotonic() + deadline_s
        caller = _Caller(self._client, auth, idempotency_key, ends, self._limit_s)
        return CrmServices(
            self,
            CrmInteractions(caller),
            CrmAssignments(caller),
            CrmNotifications(caller),
            CrmContacts(caller),
        )

    def capabilities(self) -> Capabilities:
        """What the CRM can do, asked at most every five minutes; raises only if it is not known."""
        with self._lock:
            now = time.monotonic()
            if self._known and (
                now - self._asked_at < CAPABILITIES_FRESH_S or now - self._tried_at < CAPABILITIES_PAUSE_S
            ):
                return self._known
            self._tried_at = now
            try:
                self._known = self._client.call(
                    "get_capabilities", "GET", "/capabilities", Capabilities, seconds=self._limit_s
                )
            except ActionFailure:
                if self._known is None or now - self._asked_at > CAPABILITIES_KEPT_S:
                    self._known = None
                    raise
                return self._known
            self._asked_at = now
            return self._known


@lru_cache(maxsize=1)
def crm() -> Crm:
    """The CRM that the environment names; read at the first call."""
    settings = environment()
    if not settings.crm_base_url:
        raise PermanentFailure(
            N_("The address of the CRM is not configured."), reason="unavailable", kind="not_sent"
        )
    client = JsonClient(settings.crm_base_url, settings.crm_service_token)
    return Crm(client, limit_s=settings.crm_timeout)


def open_services(*, auth: Auth, idempotency_key: str, deadline_s: float) -> CrmServices:
    """The `SERVICES_FACTORY` for a CRM reached over HTTP."""
    return crm().open_services(auth=auth, idempotency_key=idempotency_key, deadline_s=deadline_s)
