"""The CRM's services as protocols; `boostflow.gateways` implements them, settings may replace each by a dotted path.

Every method raises `TransientFailure` or `PermanentFailure` only. The identity of the call (entity, user, employee)
and its idempotency key are bound when the services are opened for one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Auth:
    """Whose rights a call uses (A15). `entity_id` is the CRM's id of the workflow's entity, never of a user's (G6)."""

    entity_id: str
    user_id: str | None
    employee_id: str | None = None


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What InteractionsService answers when it accepts a message."""

    message_id: str
    status: str
    accepted_at: datetime


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who was assigned."""

    employee_id: str | None
    user_id: str


class InteractionsService(Protocol):
    """Messages to contacts (A3)."""

    def send_text(
        self, *, contact_id: str, chat_id: str, text: str, options: Sequence[Mapping[str, str]] = ()
    ) -> SentMessage:
        """Send a text, with buttons or a list where `options` has `{id, title}` items."""
        ...


class RecordAssignmentsService(Protocol):
    """Who takes care of a contact."""

    def assign_seller(
        self, *, contact_id: str, strategy: str, team: str | None, user_id: str | None
    ) -> Assignment:
        """Assign by `strategy` (`round_robin`, `least_busy`, `user`)."""
        ...


class NotificationsService(Protocol):
    """In-app and e-mail notices to the CRM's users."""

    def notify_user(self, *, user_id: str, text: str, title: str | None, link: str | None) -> str:
        """Notify one user; the notification's id."""
        ...


class ContactsService(Protocol):
    """Facts about contacts."""

    def get(self, *, contact_id: str) -> Mapping[str, Any]:
        """The contact's fields, as in an inbound event."""
        ...


class Services(Protocol):
    """The services of one call, bound to its Auth, idempotency key and deadline."""

    @property
    def honours_keys(self) -> bool:
        """Whether a repeated idempotency key gets the first answer; asked of the CRM's capabilities."""
        ...

    @property
    def interactions(self) -> InteractionsService: ...

    @property
    def assignments(self) -> RecordAssignmentsService: ...

    @property
    def notifications(self) -> NotificationsService: ...

    @property
    def contacts(self) -> ContactsService: ...


class ServicesFactory(Protocol):
    """Opens the services for one call; the dotted path `SERVICES_FACTORY` in settings names one."""

    def __call__(self, *, auth: Auth, idempotency_key: str, deadline_s: float) -> Services: ...
