"""What operators do with a paused execution (decision 14), through the interface, against a real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from devtools.sandbox.client import Sandbox
from tests.builders import Api, body_of, inbound_event
from tests.failures.conftest import ASK, SEND, definition
from tests.failures.test_failure_table import worked
from workflows import tenancy
from workflows.models import Entity, Event, Execution, Frame, StepRun, Timer, Wait, Workflow
from workflows.services import inbound, publishing

Settle = Callable[[], None]
Start = Callable[[dict[str, Any]], UUID]
Standing = Callable[[UUID], Execution]
SENT = {"message_id": "wamid.9", "status": "accepted", "accepted_at": "2026-11-30T14:03:05Z"}


@pytest.fixture
def operator(api: Callable[..., Api]) -> Api:
    return api(role="operator")


@pytest.fixture
def act(operator: Api, standing: Standing) -> Callable[..., Any]:
    """Post an act with the state it is decided on; the answer."""

    def post(execution: UUID, verb: str = "resume", **body: Any) -> Any:
        seen = body.pop("state_version", standing(execution).state_version)
        sent = {"reason": "checked", "state_version": seen, **body}
        return operator.post(f"executions/{execution}/{verb}/", sent)

    return post


@pytest.fixture
def unknown(sandbox: Sandbox, start: Start, settle: Settle) -> Callable[[dict[str, Any]], UUID]:
    """An execution whose first action was done and never answered."""

    def run(action: dict[str, Any]) -> UUID:
        sandbox.capabilities(idempotency_keys=False)
        sandbox.fault("send_text", drop="after")
        execution = start(definition(action))
        settle()
        return execution

    return run


@pytest.mark.rule("decision-14")
@pytest.mark.rule("G5")
def test_retry_repeats_the_action_under_a_new_key(
    start: Start, settle: Settle, standing: Standing, sandbox: Sandbox, act: Callable[..., Any]
) -> None:
    sandbox.fault("send_text", status=422)
    execution = start(definition(SEND))
    settle()
    assert standing(execution).reason == "rejected"

    answer = act(execution)
    assert (answer.status_code, body_of(answer)["status"]) == (200, "running")
    settle()

    assert standing(execution).status == "completed"
    assert worked(sandbox, "send_text") == 1
    keys = [call["idempotency_key"][-1] for call in sandbox.calls("acme", operation="send_text")]
    assert keys == ["0", "1"]


@pytest.mark.rule("decision-14")
def test_done_merges_the_output_and_goes_on(
    unknown: Callable[..., UUID],
    settle: Settle,
    standing: Standing,
    sandbox: Sandbox,
    act: Callable[..., Any],
) -> None:
    execution = unknown(SEND)
    assert standing(execution).reason == "outcome_unknown"

    assert act(execution, **{"as": "done", "output": SENT}).status_code == 200
    settle()

    found = standing(execution)
    assert found.status == "completed"
    assert found.context["comms"]["saluda"]["message_id"] == "wamid.9"
    assert worked(sandbox, "send_text") == 1


@pytest.mark.rule("decision-14")
def test_done_of_a_question_arms_its_wait_and_the_reply_resumes(
    unknown: Callable[..., UUID],
    settle: Settle,
    standing: Standing,
    entity: Entity,
    act: Callable[..., Any],
) -> None:
    execution = unknown(ASK)

    answer = body_of(act(execution, **{"as": "done", "output": SENT}))
    assert answer["status"] == "waiting_for_reply"

    decision = inbound.receive_message(entity=entity, event={**inbound_event(text="Sí"), "extra": {}})
    settle()
    assert (decision.outcome, decision.execution_id) == ("resumed", execution)
    assert standing(execution).context["reply"]["text"] == "Sí"
    assert standing(execution).status == "completed"


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-12")
def test_a_reply_that_came_while_the_outcome_was_unknown_is_taken_by_done(
    unknown: Callable[..., UUID], settle: Settle, standing: Standing, entity: Entity, act: Callable[..., Any]
) -> None:
    execution = unknown(ASK)
    kept = inbound.receive_message(entity=entity, event={**inbound_event(text="Sí"), "extra": {}})
    assert kept.outcome == "kept"

    assert body_of(act(execution, **{"as": "done", "output": SENT}))["status"] == "running"
    settle()

    assert standing(execution).context["reply"]["text"] == "Sí"
    assert standing(execution).status == "completed"


@pytest.mark.rule("decision-14")
def test_skip_leaves_the_action_and_its_wait_out(
    unknown: Callable[..., UUID], settle: Settle, standing: Standing, entity: Entity, act: Callable[..., Any]
) -> None:
    execution = unknown(ASK)

    assert act(execution, **{"as": "skip"}).status_code == 200
    settle()

    found = standing(execution)
    assert found.status == "completed"
    assert "comms" not in found.context
    with tenancy.entity(entity.pk):
        assert StepRun.objects.get(action_key="pregunta").status == "skipped"
        assert not Wait.objects.filter(state__in=["reserved", "open", "held", "queued"]).exists()
        assert not Timer.objects.exists()


@pytest.mark.rule("decision-14")
def test_an_act_on_a_state_that_has_changed_is_refused(
    unknown: Callable[..., UUID], standing: Standing, act: Callable[..., Any]
) -> None:
    execution = unknown(SEND)
    before = standing(execution)

    answer = act(execution, state_version=before.state_version - 1)

    assert (answer.status_code, body_of(answer)["code"]) == (409, "stale_state")
    assert body_of(answer)["state_version"] == before.state_version
    assert standing(execution).status == "paused_error"
    assert standing(execution).state_version == before.state_version


@pytest.mark.rule("decision-14")
def test_done_without_the_outputs_fields_names_them(
    unknown: Callable[..., UUID], standing: Standing, act: Callable[..., Any]
) -> None:
    execution = unknown(SEND)

    answer = act(execution, **{"as": "done", "output": {"message_id": "m"}})

    assert answer.status_code == 422
    assert set(body_of(answer)["fields"]) == {"output.status", "output.accepted_at"}
    assert standing(execution).status == "paused_error"


@pytest.mark.rule("decision-14")
def test_a_terminal_action_cannot_be_skipped(
    start: Start, settle: Settle, standing: Standing, act: Callable[..., Any]
) -> None:
    document = looping(3)
    execution = start(document)
    settle()
    assert standing(execution).reason == "max_step_visits_exceeded"

    answer = act(execution, **{"as": "skip"})

    assert (answer.status_code, body_of(answer)["code"]) == (409, "illegal_transition")
    assert standing(execution).status == "paused_error"


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-1")
def test_retry_after_too_many_visits_sets_the_counter_of_that_step_to_0(
    start: Start, settle: Settle, standing: Standing, entity: Entity, act: Callable[..., Any]
) -> None:
    execution = start(looping(3))
    settle()
    with tenancy.entity(entity.pk):
        assert Frame.objects.get().visits == {"uno": 3}

    assert act(execution).status_code == 200
    with tenancy.entity(entity.pk):
        assert Frame.objects.get().visits == {"uno": 0}
    settle()

    assert standing(execution).reason == "max_step_visits_exceeded"
    with tenancy.entity(entity.pk):
        assert StepRun.objects.filter(status="done").count() == 2 + 3


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-22")
def test_a_wrong_definition_is_mended_for_those_inside_by_another_version(
    start: Start,
    settle: Settle,
    standing: Standing,
    entity: Entity,
    sandbox: Sandbox,
    act: Callable[..., Any],
) -> None:
    wrong = definition({**SEND, "config": {"text": "Hola {{ contact.apodo }}"}})
    execution = start(wrong)
    settle()
    assert standing(execution).reason == "template_error"
    with tenancy.entity(entity.pk):
        workflow = Workflow.objects.get()
    publishing.save_draft(entity=entity, workflow_id=workflow.pk, document=definition(SEND))
    publishing.publish_workflow(entity=entity, workflow_id=workflow.pk, actor="test")

    assert act(execution, version=7).status_code == 422
    assert act(execution, version=2).status_code == 200
    settle()

    assert standing(execution).status == "completed"
    assert worked(sandbox, "send_text") == 1


@pytest.mark.rule("decision-14")
def test_every_act_is_audited_with_actor_and_reason(
    unknown: Callable[..., UUID], entity: Entity, act: Callable[..., Any]
) -> None:
    execution = unknown(SEND)

    act(execution, **{"as": "skip", "reason": "the contact called"})

    with tenancy.entity(entity.pk):
        event = Event.objects.filter(execution_id=execution, kind="resumed").get()
    assert event.data == {"by": "skip", "why": "the contact called", "action": "saluda"}
    assert event.actor.startswith("key:")


@pytest.mark.rule("decision-14")
def test_only_a_paused_execution_is_resumed(
    start: Start, settle: Settle, standing: Standing, act: Callable[..., Any]
) -> None:
    execution = start(definition(SEND))
    settle()
    assert standing(execution).status == "completed"

    assert act(execution).status_code == 409
    assert standing(execution).status == "completed"


def looping(visits: int) -> dict[str, Any]:
    """One step that goes to itself for ever."""
    again = {"key": "otra_vez", "type": "flow.goto_step", "config": {"step": "uno"}}
    return {
        **definition(SEND),
        "max_step_visits": visits,
        "steps": [{"key": "uno", "actions": [again]}],
    }
