"""Every reason that this release can give, produced, and told with its cause and next step in interface and console."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from devtools.sandbox.client import Sandbox
from tests.builders import Api, automation, body_of, inbound_event
from tests.failures.conftest import ASK, LOOK, SEND, definition
from workflows import tenancy
from workflows.errors import REASONS
from workflows.models import Entity, Frame, Workflow
from workflows.services import executions, inbound
from workflows.services.turn import claim
from workflows.services.versions import load_version

LATER = {"auth_not_configured", "auth_revoked", "contact_merged", "held"}
"""Reasons whose cause comes with a later part of the product; their texts are here already."""

GOTO: dict[str, Any] = {"type": "flow.goto_step"}


def ring(size: int, *before: dict[str, Any], visits: int = 100) -> dict[str, Any]:
    """Steps that lead to each other for ever."""
    steps = []
    for n in range(size):
        own = [{**action, "key": f"{action['key']}_{n}"} for action in before]
        goto = {"key": f"sigue_{n}", **GOTO, "config": {"step": f"s{(n + 1) % size}"}}
        steps.append({"key": f"s{n}", "actions": [*own, goto]})
    return automation(steps=steps, max_step_visits=visits)


def with_config(action: dict[str, Any], **config: Any) -> dict[str, Any]:
    return {**action, "config": config}


DOCUMENTS: dict[str, dict[str, Any]] = {
    "max_step_visits_exceeded": ring(1, visits=3),
    "action_budget_exceeded": ring(3),
    "send_budget_exceeded": ring(1, SEND, {**SEND, "key": "otra"}),
    "template_error": definition(with_config(SEND, text="Hola {{ contact.apodo }}")),
    "template_type_error": definition(with_config(SEND, text="{{ contact.tags }}")),
    "delay_too_long": definition(
        {"key": "espera", "type": "flow.delay", "config": {"until": "{{ message.payload.until }}"}}
    ),
    "bad_response": definition(LOOK),
    "human_takeover": {**definition(ASK), "on_agent_message": "cancel"},
}
FAULTS: dict[str, dict[str, Any]] = {
    "rejected": {"status": 422},
    "unavailable": {"status": 503, "times": None},
    "bad_response": {"operation": "get_contact", "wrong_types": True},
    "window_closed": {"status": 422, "code": "window_closed"},
    "contact_opted_out": {"status": 422, "code": "contact_opted_out"},
    "contact_blocked": {"status": 422, "code": "contact_blocked"},
    "contact_deleted": {"status": 422, "code": "contact_deleted"},
}
SPECIAL = {"outcome_unknown", "context_too_large", "no_chat", "poisoned", "unexpected"}
PRODUCED = sorted({*DOCUMENTS, *FAULTS, *SPECIAL})


def test_no_reason_is_left_out() -> None:
    codes = {code for code, reason in REASONS.items() if reason.family == "reason"}
    assert set(PRODUCED) | LATER == codes
    assert all(reason.cause and reason.next_step for reason in REASONS.values())


@pytest.fixture
def produce(
    sandbox: Sandbox,
    publish: Callable[..., Workflow],
    entity: Entity,
    settle: Callable[[], None],
    work: Callable[[], int],
    hints: list[Any],
    settings: Settings,
) -> Callable[[str], UUID]:
    """Bring an execution to a stand for this reason."""

    def run(reason: str) -> UUID:
        workflow = publish(DOCUMENTS.get(reason, definition(SEND)))
        if reason in FAULTS:
            sandbox.fault(**{"operation": "send_text", **FAULTS[reason]})
        if reason == "outcome_unknown":
            sandbox.capabilities(idempotency_keys=False)
            sandbox.fault("send_text", drop="after")
        if reason == "unexpected":
            settings.SERVICES_FACTORY = "tests.failures.test_reasons.broken"
        if reason == "no_chat":
            return without_chat(workflow)
        changes: dict[str, Any] = {"text": "x" * 300_000 if reason == "context_too_large" else "Hola"}
        event = {**inbound_event(**changes), "extra": {}, "payload": {"until": "2099-01-01T08:00"}}
        event["contact"]["tags"] = ["vip"]
        found = inbound.receive_message(entity=entity, event=event).execution_id
        assert found is not None
        if reason == "poisoned":
            wear_out()
        settle()
        if reason == "human_takeover":
            agent = {**inbound_event(author="agent", direction="outbound"), "extra": {}}
            inbound.receive_message(entity=entity, event=agent)
        return found

    def without_chat(workflow: Workflow) -> UUID:
        with tenancy.entity(entity.pk):
            version_id: Any = Workflow.objects.values_list("current_version_id", flat=True).get(
                pk=workflow.pk
            )
            started = executions.start_execution(
                entity_id=entity.pk,
                version=load_version(entity_id=entity.pk, version_id=version_id),
                context={"contact": {"id": "c-1"}},
                contact_id="c-1",
                chat_id=None,
                message_id=None,
                actor="test",
            )
        assert started is not None
        settle()
        return started

    def wear_out() -> None:
        """Workers take the frame and die, again and again."""
        hints.clear()
        with tenancy.entity(entity.pk):
            frame = Frame.objects.get()
        for state_version in range(3):
            assert claim(entity_id=entity.pk, frame_id=frame.pk, state_version=state_version)
        with tenancy.entity(entity.pk):
            Frame.objects.update(lease_until="2020-01-01T00:00:00Z")

    return run


def broken(**_given: Any) -> object:
    """A factory with a bug."""
    raise RuntimeError("secret of a frame")


@pytest.mark.rule("G5")
@pytest.mark.parametrize("reason", PRODUCED)
def test_reason_is_told_in_interface_and_console(
    produce: Callable[[str], UUID], api: Callable[..., Api], reason: str
) -> None:
    execution = produce(reason)

    for language in ("en", "es"):
        answer = api("viewer", language=language).get(f"executions/{execution}/")
        found = body_of(answer)
        assert found["status"] == ("cancelled" if reason == "human_takeover" else "paused_error")
        assert found["reason"] == reason
        text = found["reason_text"]
        assert text["code"] == reason
        assert text["cause"]
        assert text["next_step"]
        assert "secret of a frame" not in json.dumps(found)

    client = Client(headers={"accept-language": "en"})
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(f"/admin/workflows/execution/{execution}/change/").content.decode()
    assert reason in page
    assert REASONS[reason].cause.replace("'", "&#x27;") in page
