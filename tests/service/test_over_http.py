"""The same, with the sandbox CRM behind HTTP: what it got is what counts (decision 13, A3, A15)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from pydantic import SecretStr

from boostflow.gateways.crm import Crm
from boostflow.gateways.http import JsonClient
from devtools.sandbox.client import Sandbox, running
from tests.service.world import World, action, ask, flow, send
from workflows.ports import Auth, Services

USERS = [
    {"id": "u-1", "name": "Luis", "employee_id": "e-1"},
    {"id": "u-2", "name": "Eva", "employee_id": "e-2"},
]
_opened: list[Crm] = []


def open_services(*, auth: Auth, idempotency_key: str, deadline_s: float) -> Services:
    """The `SERVICES_FACTORY` of these tests: the gateway to the sandbox of the present one."""
    return _opened[-1].open_services(auth=auth, idempotency_key=idempotency_key, deadline_s=deadline_s)


@pytest.fixture(scope="module")
def sandbox_process() -> Iterator[Sandbox]:
    with running() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(sandbox_process: Sandbox, world: World, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The sandbox as new, with the entity, contact and chat of the test; the engine's services lead to it."""
    sandbox_process.reset()
    sandbox_process.seed(
        "acme",
        contacts=[{"id": "c-1", "name": "Ana"}, {"id": "c-2", "blocked": True}],
        chats=[{"id": "ch-1", "contact_id": "c-1"}, {"id": "ch-2", "contact_id": "c-2"}],
        users=USERS,
        teams={"ventas": ["u-2"]},
    )
    _opened.append(Crm(JsonClient(sandbox_process.base_url, SecretStr(sandbox_process.token)), limit_s=2.0))
    monkeypatch.setattr(settings, "SERVICES_FACTORY", f"{__name__}.open_services")
    return sandbox_process


def texts(sandbox: Sandbox) -> list[str]:
    """What the contact has got."""
    return [message["text"] for message in sandbox.conversation("acme", "c-1")]


@pytest.mark.rule("A3")
@pytest.mark.rule("A15")
@pytest.mark.rule("G1")
def test_a_workflow_from_message_to_end(world: World, sandbox: Sandbox) -> None:
    execution_id = world.start(
        ask("pregunta", text="Hola {{ contact.name }}"),
        action("vende", "crm.assign_seller", strategy="round_robin", team="ventas"),
        action(
            "avisa", "notification.notify_user", user_id="{{ crm.vende.user_id }}", text="{{ reply.text }}"
        ),
    )
    world.says("sí")
    assert world.status(execution_id) == ("completed", "")
    assert texts(sandbox) == ["Hola Ana"]
    assert [notice["text"] for notice in sandbox.notifications("acme")] == ["sí"]
    assert world.context(execution_id)["crm"]["vende"] == {"employee_id": "e-2", "user_id": "u-2"}
    calls = [call for call in sandbox.calls("acme") if call["operation"] != "get_capabilities"]
    assert [call["operation"] for call in calls] == ["send_text", "assign_seller", "notify_user"]


@pytest.mark.rule("decision-13")
@pytest.mark.rule("decision-23")
def test_an_answer_lost_after_the_work_sends_one_message(world: World, sandbox: Sandbox) -> None:
    sandbox.fault("send_text", drop="after")
    execution_id = world.start(send("a"), send("b"))
    assert world.status(execution_id) == ("running", "")
    world.retried()
    assert world.status(execution_id) == ("completed", "")
    assert texts(sandbox) == ["a", "b"]
    assert world.attempts(execution_id) == [(1, "unknown"), (2, None), (1, None)]


@pytest.mark.rule("decision-13")
def test_an_answer_lost_without_keys_is_a_persons_to_judge(world: World, sandbox: Sandbox) -> None:
    sandbox.capabilities(idempotency_keys=False)
    sandbox.fault("send_text", drop="after")
    execution_id = world.start(send("a"), send("b"))
    world.retried()
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert texts(sandbox) == ["a"]


@pytest.mark.rule("decision-13")
def test_a_busy_crm_is_asked_again(world: World, sandbox: Sandbox) -> None:
    sandbox.fault("send_text", status=429, retry_after=1, times=2)
    execution_id = world.start(send("a"))
    world.retried()
    world.retried()
    assert world.status(execution_id) == ("completed", "")
    assert texts(sandbox) == ["a"]
    assert world.attempts(execution_id) == [(1, "answered_retry"), (2, "answered_retry"), (3, None)]


@pytest.mark.rule("A4")
@pytest.mark.rule("G5")
def test_a_refusal_pauses_with_the_crms_reason(world: World, sandbox: Sandbox) -> None:
    world.publish(flow(send("a"), send("b")))
    execution_id = world.started(contact_id="c-2", chat_id="ch-2")
    assert world.status(execution_id) == ("paused_error", "contact_blocked")
    assert world.runs(execution_id) == [("a", "failed")]
    assert sandbox.conversation("acme", "c-2") == []


@pytest.mark.rule("decision-13")
def test_an_answer_that_does_not_fit_the_contract_is_kept(world: World, sandbox: Sandbox) -> None:
    sandbox.fault("send_text", wrong_types=True)
    execution_id = world.start(send("a"), send("b"))
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert texts(sandbox) == ["a"]
    assert "message_id" in world.run(execution_id, "a").error["body"]
