"""A sandbox CRM in a process of its own, seeded with two entities, for every contract test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from boostflow.gateways.crm import Crm, CrmServices
from boostflow.gateways.http import JsonClient
from devtools.sandbox.client import Sandbox, running
from workflows.ports import Auth

TEAM = [
    {"id": "u-1", "name": "Luis", "employee_id": "e-1", "zauru_user_id": "z-1"},
    {"id": "u-2", "name": "Eva", "employee_id": "e-2"},
    {"id": "u-3", "name": "Retired", "active": False},
]

Open = Callable[..., CrmServices]


@pytest.fixture(scope="session")
def sandbox_process() -> Iterator[Sandbox]:
    with running() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(sandbox_process: Sandbox) -> Sandbox:
    """The sandbox as new: entity `e` with contacts, `other` with a contact of its own."""
    sandbox_process.reset()
    sandbox_process.seed(
        "e",
        contacts=[
            {"id": "c-1", "name": "Ana", "phone": "+50211112222", "tags": ["vip"]},
            {"id": "c-2", "name": "Beto", "opted_out": True},
            {"id": "c-3", "blocked": True},
            {"id": "c-4", "deleted": True},
            {"id": "a/b?c#d", "name": "Odd"},
        ],
        chats=[
            *({"id": f"ch-{number}", "contact_id": f"c-{number}"} for number in (1, 2, 3, 4)),
            {"id": "ch-old", "contact_id": "c-1", "window_open_until": "2020-01-01T00:00:00Z"},
        ],
        users=TEAM,
        teams={"ventas": ["u-1", "u-2", "u-3"]},
        templates=[{"name": "hola", "body": "Hola {{1}}", "parameters": 1}],
    )
    sandbox_process.seed(
        "other", contacts=[{"id": "c-9"}], chats=[{"id": "ch-9", "contact_id": "c-9"}], users=[{"id": "u-9"}]
    )
    return sandbox_process


@pytest.fixture
def crm(sandbox: Sandbox) -> Crm:
    return Crm(JsonClient(sandbox.base_url, SecretStr(sandbox.token)), limit_s=5.0)


@pytest.fixture
def services(crm: Crm) -> Open:
    """Opens services of entity `e`, or of another, with a key and a deadline."""

    def opened(
        key: str = "k-1", *, entity: str = "e", user: str | None = "u-1", seconds: float = 5.0
    ) -> CrmServices:
        auth = Auth(entity, user, "e-1" if user else None)
        return crm.open_services(auth=auth, idempotency_key=key, deadline_s=seconds)

    return opened
