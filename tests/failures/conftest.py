"""An engine whose actions call a real sandbox CRM, with one action of each effect, and retries that need no waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar
from uuid import UUID

import pytest
from pydantic import SecretStr
from pytest_django import Settings

from boostflow.gateways.crm import Crm, CrmServices
from boostflow.gateways.http import JsonClient
from devtools.processes import free_port
from devtools.sandbox.client import Sandbox, running
from tests.builders import inbound_event
from workflows import tenancy
from workflows.contracts import ActionType, Call, Config, Continue, Effect, Outcome, Output, action_registry
from workflows.engine import retry
from workflows.models import Entity, Execution, Workflow
from workflows.ports import Auth
from workflows.services import inbound, sweeps

_crm: dict[str, Crm] = {}


def open_services(*, auth: Auth, idempotency_key: str, deadline_s: float) -> CrmServices:
    """The `SERVICES_FACTORY` of these tests."""
    return _crm["present"].open_services(auth=auth, idempotency_key=idempotency_key, deadline_s=deadline_s)


class LookConfig(Config):
    """Nothing to set."""


class LookOutput(Output):
    """The contact's name."""

    name: str | None


class Look(ActionType[LookConfig]):
    """A read: the effect that no shipped action of this release has."""

    kind: ClassVar[str] = "crm.look"
    label = "Look"
    config = LookConfig
    output = LookOutput
    effect = Effect.READ

    def run(self, call: Call, config: LookConfig) -> Outcome:
        contact = call.crm.contacts.get(contact_id=call.context["contact"]["id"])
        return Continue({"name": contact["name"]})


@pytest.fixture(autouse=True)
def _reading_action(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(action_registry._items, "crm.look", Look())


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry is due at once; how long it really waits is tested by itself."""
    monkeypatch.setattr(retry, "delay", lambda *args, **options: 0.0)


@pytest.fixture(scope="session")
def sandbox_process() -> Iterator[Sandbox]:
    with running() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(sandbox_process: Sandbox, settings: Settings) -> Sandbox:
    """The sandbox as new, honouring keys, with the entity of the test."""
    sandbox_process.reset()
    sandbox_process.capabilities(idempotency_keys=True)
    sandbox_process.seed(
        "acme",
        contacts=[{"id": "c-1", "name": "Ana"}],
        chats=[{"id": "ch-1", "contact_id": "c-1"}],
        users=[{"id": "u-1", "name": "Sistema", "employee_id": "e-1"}],
        teams={"ventas": ["u-1"]},
    )
    settings.SERVICES_FACTORY = "tests.failures.conftest.open_services"
    _crm["present"] = Crm(JsonClient(sandbox_process.base_url, SecretStr(sandbox_process.token)), limit_s=1.0)
    return sandbox_process


@pytest.fixture
def unreachable(sandbox: Sandbox) -> None:
    """Nobody listens where the CRM should be; what it can do was asked before."""
    known = _crm["present"].capabilities()
    gone = Crm(JsonClient(f"http://127.0.0.1:{free_port()}", SecretStr("x")), limit_s=1.0)
    gone._known, gone._asked_at = known, float("inf")
    _crm["present"] = gone


def definition(action: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
    """An automation whose first action is the one that fails."""
    last = {"key": "fin", "type": "flow.end", "config": {}}
    return {
        "format": 1,
        "kind": "automation",
        "name": "Falla",
        "trigger": {"type": "message.inbound", "config": {}},
        "steps": [{"key": "uno", "actions": [action, *more, last]}],
    }


SEND: dict[str, Any] = {"key": "saluda", "type": "comms.send_message", "config": {"text": "Hola"}}
LOOK: dict[str, Any] = {"key": "mira", "type": "crm.look", "config": {}}
ASK: dict[str, Any] = {
    "key": "pregunta",
    "type": "comms.send_message",
    "config": {"text": "¿Sí?", "response_policy": {"await_reply": {"timeout": "PT2H"}}},
}


@pytest.fixture
def start(publish: Callable[..., Workflow], entity: Entity, sandbox: Sandbox) -> Callable[..., UUID]:
    """Publish a definition and start it by a message; the execution's id."""

    def run(document: dict[str, Any]) -> UUID:
        publish(document)
        decision = inbound.receive_message(entity=entity, event={**inbound_event(), "extra": {}})
        assert decision.outcome == "started"
        assert decision.execution_id is not None
        return decision.execution_id

    return run


@pytest.fixture
def settle(work: Callable[[], int]) -> Callable[[], None]:
    """Let workers and sweeps do all that is due."""

    def run() -> None:
        for _ in range(20):
            work()
            if not sweeps.hint_expired():
                return
        raise AssertionError("the sweep finds work for ever")

    return run


@pytest.fixture
def standing(entity: Entity) -> Callable[[UUID], Execution]:
    """The execution as it is stored."""

    def read(execution_id: UUID) -> Execution:
        with tenancy.entity(entity.pk):
            found: Execution = Execution.objects.get(pk=execution_id)
            return found

    return read
