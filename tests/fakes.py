"""A CRM in this process that records what it is asked, answers as it is told, and shows that it was asked meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from workflows.errors import PermanentFailure, TransientFailure
from workflows.ports import Assignment, Auth, SentMessage

ACCEPTED = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: what was asked, with whose rights and which key."""

    operation: str
    given: Mapping[str, Any]
    auth: Auth
    key: str


@dataclass(slots=True)
class FakeCrm:
    """`failures` are raised by the next calls, oldest first, None being a success; `during` runs within each call."""

    honours_keys: bool = True
    asked: list[Asked] = field(default_factory=list)
    failures: deque[BaseException | None] = field(default_factory=deque)
    during: Callable[[Asked], None] | None = None
    user_id: str = "u-7"

    def fail(self, *failures: BaseException | None) -> None:
        self.failures.extend(failures)

    def texts(self) -> list[str]:
        """What the contact was sent, in order."""
        return [asked.given["text"] for asked in self.asked if asked.operation == "send_text"]

    def operations(self) -> list[str]:
        return [asked.operation for asked in self.asked]

    def keys(self) -> list[str]:
        return [asked.key for asked in self.asked]

    def take(self, asked: Asked) -> None:
        self.asked.append(asked)
        if self.during is not None:
            self.during(asked)
        failure = self.failures.popleft() if self.failures else None
        if failure is not None:
            raise failure


@dataclass(frozen=True, slots=True)
class FakeServices:
    """The services of one call: all four are this object."""

    crm: FakeCrm
    auth: Auth
    key: str

    @property
    def honours_keys(self) -> bool:
        return self.crm.honours_keys

    @property
    def interactions(self) -> FakeServices:
        return self

    @property
    def assignments(self) -> FakeServices:
        return self

    @property
    def notifications(self) -> FakeServices:
        return self

    @property
    def contacts(self) -> FakeServices:
        return self

    def _take(self, operation: str, given: Mapping[str, Any]) -> None:
        self.crm.take(Asked(operation, given, self.auth, self.key))

    def send_text(self, **given: Any) -> SentMessage:
        self._take("send_text", given)
        return SentMessage(f"out-{len(self.crm.asked)}", "accepted", ACCEPTED)

    def assign_seller(self, **given: Any) -> Assignment:
        self._take("assign_seller", given)
        return Assignment("e-7", self.crm.user_id)

    def notify_user(self, **given: Any) -> str:
        self._take("notify_user", given)
        return f"n-{len(self.crm.asked)}"

    def get(self, *, contact_id: str) -> Mapping[str, Any]:
        self._take("get", {"contact_id": contact_id})
        return {"id": contact_id}


CRM = FakeCrm()
"""The one that `open_services` opens; the fixture `crm` makes it new for each test."""


def open_services(*, auth: Auth, idempotency_key: str, deadline_s: float) -> FakeServices:
    """The `SERVICES_FACTORY` of tests."""
    assert deadline_s > 0
    return FakeServices(CRM, auth, idempotency_key)


def transient(kind: str, **more: Any) -> TransientFailure:
    """A failure of a row of decision 13, as a gateway raises it."""
    return TransientFailure("did not work", kind=kind, **more)


def refused(reason: str = "rejected") -> PermanentFailure:
    """A business refusal."""
    return PermanentFailure("refused", reason=reason, kind="rejected")
