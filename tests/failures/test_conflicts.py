"""Reply slots that are taken, freed and given on (A14, decisions 10 and 11); takeover, receipts, collect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from devtools.sandbox.client import Sandbox
from tests.builders import Api, body_of, inbound_event
from tests.failures.conftest import ASK, definition
from tests.failures.test_failure_table import worked
from workflows import tenancy
from workflows.models import Entity, Execution, Timer, Wait, Workflow
from workflows.services import acts, entities, inbound, sweeps
from workflows.services.route import Decision

Settle = Callable[[], None]
Standing = Callable[[UUID], Execution]
WAIT: dict[str, Any] = {"key": "espera", "type": "flow.wait_for_reply", "config": {"timeout": "PT2H"}}


def keyword(word: str, *actions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An automation that one word starts."""
    found = definition(*actions)
    found["trigger"]["filters"] = {"all": [{"field": "message.text", "operator": "equals", "value": word}]}
    return {**found, "name": word, **changes}


@pytest.fixture
def write(entity: Entity, settle: Settle, sandbox: Sandbox) -> Callable[..., Decision]:
    """The contact writes, and all that follows is done."""

    def send(text: str, **changes: Any) -> Decision:
        decision = inbound.receive_message(
            entity=entity, event={**inbound_event(text=text, **changes), "extra": {}}
        )
        settle()
        return decision

    return send


@pytest.fixture
def two(
    publish: Callable[..., Workflow], entity: Entity, settle: Settle, sandbox: Sandbox
) -> Callable[..., tuple[UUID, UUID]]:
    """Two executions of one chat that both want its slot; the first has it."""

    def make(
        second: dict[str, Any], first: tuple[dict[str, Any], ...] = (ASK,), **changes: Any
    ) -> tuple[UUID, UUID]:
        publish(keyword("uno", *first))
        publish(keyword("dos", second, **changes))
        began = [
            inbound.receive_message(
                entity=entity, event={**inbound_event(text=word), "extra": {}}
            ).execution_id
            for word in ("uno", "dos")
        ]
        settle()
        holder, last = began
        assert holder is not None
        assert last is not None
        return holder, last

    return make


@pytest.mark.rule("A14")
@pytest.mark.rule("decision-11")
def test_a_question_whose_chat_is_taken_is_not_sent(
    two: Callable[..., tuple[UUID, UUID]], standing: Standing, sandbox: Sandbox
) -> None:
    first, second = two(ASK)
    assert standing(first).status == "waiting_for_reply"
    assert standing(second).status == "queued_wait_conflict"
    assert worked(sandbox, "send_text") == 1


@pytest.mark.rule("A14")
@pytest.mark.rule("decision-10")
def test_the_next_in_the_queue_gets_the_slot_when_the_turn_of_the_reply_ends(
    two: Callable[..., tuple[UUID, UUID]], standing: Standing, sandbox: Sandbox, write: Callable[..., Any]
) -> None:
    first, second = two(ASK)

    assert write("Sí").execution_id == first

    assert standing(first).status == "completed"
    assert standing(second).status == "waiting_for_reply"
    assert worked(sandbox, "send_text") == 2
    assert write("También").execution_id == second
    assert standing(second).context["reply"]["text"] == "También"


@pytest.mark.rule("decision-10")
def test_a_queued_wait_is_armed_by_promotion_and_its_time_starts_then(
    two: Callable[..., tuple[UUID, UUID]], standing: Standing, entity: Entity, write: Callable[..., Any]
) -> None:
    _first, second = two(WAIT)
    entities.set_clock_offset(offset=timedelta(hours=1))

    write("Sí")

    assert standing(second).status == "waiting_for_reply"
    with tenancy.entity(entity.pk):
        wait = Wait.objects.get(state="open")
        assert wait.armed_at is not None
        assert wait.deadline == wait.armed_at + timedelta(hours=2)
        assert wait.armed_at - wait.created_at > timedelta(minutes=59)
        assert Timer.objects.get().due_at == wait.deadline


@pytest.mark.rule("decision-10")
def test_a_conversation_keeps_its_slot_for_its_next_question(
    two: Callable[..., tuple[UUID, UUID]], standing: Standing, write: Callable[..., Any]
) -> None:
    first, second = two(ASK, first=(ASK, {**ASK, "key": "y_otra"}))

    assert write("Sí").execution_id == first

    assert standing(first).status == "waiting_for_reply"
    assert standing(second).status == "queued_wait_conflict"


@pytest.mark.rule("decision-10")
def test_manual_conflicts_wait_for_an_operator(
    two: Callable[..., tuple[UUID, UUID]],
    standing: Standing,
    settle: Settle,
    api: Callable[..., Api],
    write: Callable[..., Any],
) -> None:
    _first, second = two(ASK, wait_conflict="manual")
    operator = api(role="operator")
    body = {"reason": "now", "state_version": standing(second).state_version}
    refused = operator.post(f"executions/{second}/retry-wait/", body)
    assert (refused.status_code, body_of(refused)["code"]) == (409, "illegal_transition")
    write("Sí")
    assert standing(second).status == "queued_wait_conflict"

    assert operator.post(f"executions/{second}/retry-wait/", body).status_code == 200
    settle()

    assert standing(second).status == "waiting_for_reply"


@pytest.mark.rule("decision-10")
def test_cancelling_the_holder_promotes_the_next(
    two: Callable[..., tuple[UUID, UUID]], standing: Standing, entity: Entity, settle: Settle
) -> None:
    first, second = two(ASK)

    acts.cancel(entity=entity, execution_id=first, actor="test", reason="stuck")
    settle()

    assert standing(first).status == "cancelled"
    assert standing(second).status == "waiting_for_reply"


@pytest.mark.rule("decision-10")
def test_a_queue_older_than_30_days_is_left_to_an_operator_with_one_incident(
    two: Callable[..., tuple[UUID, UUID]],
    standing: Standing,
    entity: Entity,
    settle: Settle,
) -> None:
    first, second = two(ASK)
    entities.set_clock_offset(offset=timedelta(days=31))

    assert [sweeps.report_old_queues() for _ in range(2)] == [1, 0]
    acts.cancel(entity=entity, execution_id=first, actor="test", reason="old")
    settle()

    assert standing(second).status == "queued_wait_conflict"


@pytest.mark.rule("decision-35")
@pytest.mark.parametrize(
    ("policy", "outcome", "status"),
    [("cancel", "human_takeover", "cancelled"), ("ignore", "ignored_kind", "waiting_for_reply")],
)
def test_an_agent_who_writes_takes_over_where_the_workflow_says_so(
    publish: Callable[..., Workflow],
    standing: Standing,
    write: Callable[..., Any],
    policy: str,
    outcome: str,
    status: str,
) -> None:
    publish(keyword("uno", ASK, on_agent_message=policy))
    execution = write("uno").execution_id

    decision = write("Hola, soy Vera", direction="outbound", author="agent")

    assert (decision.outcome, decision.reason) == ("ignored", outcome)
    assert standing(execution).status == status


@pytest.mark.rule("decision-36")
def test_a_failed_receipt_of_the_question_takes_the_time_out_path(
    publish: Callable[..., Workflow], standing: Standing, write: Callable[..., Any]
) -> None:
    publish(keyword("uno", ASK))
    execution = write("uno").execution_id
    sent = standing(execution).context["comms"]["pregunta"]["message_id"]
    receipt = {"kind": "receipt", "author": "system", "payload": {"status": "failed"}}

    other = write("", **{**receipt, "reply_to": "wamid.of-another"})
    assert (other.outcome, standing(execution).status) == ("ignored", "waiting_for_reply")

    decision = write("", **{**receipt, "reply_to": sent})

    assert (decision.outcome, decision.execution_id) == ("resumed", execution)
    reply = standing(execution).context["reply"]
    assert (reply["delivery_failed"], reply["timed_out"]) == (True, True)
    assert standing(execution).status == "completed"


@pytest.mark.rule("decision-34")
def test_collect_gathers_the_messages_of_its_window(
    publish: Callable[..., Workflow], standing: Standing, settle: Settle, write: Callable[..., Any]
) -> None:
    policy = {"await_reply": {"timeout": "PT2H", "collect": "PT30S"}}
    publish(keyword("uno", {**ASK, "config": {"text": "¿Sí?", "response_policy": policy}}))
    execution = write("uno").execution_id

    assert [write(text).outcome for text in ("quiero", "el plan")] == ["resumed", "resumed"]
    assert standing(execution).status == "waiting_for_reply"
    entities.set_clock_offset(offset=timedelta(seconds=31))
    sweeps.sweep()
    settle()

    reply = standing(execution).context["reply"]
    assert (reply["text"], reply["texts"], reply["timed_out"]) == ("quiero", ["quiero", "el plan"], False)
    assert standing(execution).status == "completed"
