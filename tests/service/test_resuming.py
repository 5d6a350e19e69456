"""What an operator does with an execution that stands in `paused_error` (decision 14)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.builders import automation
from tests.fakes import refused, transient
from tests.service.world import World, action, ask, flow, says, send, step, wait
from workflows import tenancy
from workflows.errors import IllegalTransition, InvalidInput, StaleState
from workflows.models import Event
from workflows.services import acts, publishing

OUTPUT = {"message_id": "m-9", "status": "sent", "accepted_at": "2026-01-01T00:00:00Z"}


def resume(world: World, execution_id: UUID, how: Any = "retry", **more: Any) -> None:
    acts.resume(entity=world.entity, execution_id=execution_id, how=how, actor="ana", reason="visto", **more)
    world.work()


def failed(world: World, *actions: dict[str, Any], failure: Exception | None = None, **changes: Any) -> UUID:
    """An execution whose first call failed."""
    world.crm.fail(failure or refused())
    execution_id = world.start(*actions, filters=says("Hola"), **changes)
    assert world.status(execution_id)[0] == "paused_error"
    return execution_id


def unknown(world: World, *actions: dict[str, Any], **changes: Any) -> UUID:
    world.crm.honours_keys = False
    return failed(world, *actions, failure=transient("unknown", sent=True), **changes)


def unchanged(world: World, execution_id: UUID) -> Any:
    found, frame = world.execution(execution_id), world.frame(execution_id)
    return (
        found.status, found.reason, found.state_version, found.version_id, found.context, frame.action, frame.visits,
        frame.state_version, world.runs(execution_id), world.waits(execution_id), world.events(execution_id),
    )  # fmt: skip


@pytest.mark.rule("decision-14")
@pytest.mark.rule("G5")
def test_retry_repeats_the_action_under_a_new_key(world: World) -> None:
    execution_id = failed(world, send("a"), send("b"))
    resume(world, execution_id)
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.keys() == [f"{execution_id}:inicio:1:{one}" for one in ("a:0", "a:1", "b:0")]
    assert world.runs(execution_id) == [("a", "failed"), ("a", "done"), ("b", "done"), ("fin_inicio", "done")]
    with tenancy.entity(world.entity.pk):
        told = Event.objects.get(kind="resumed")
    assert (told.actor, told.data) == ("ana", {"by": "retry", "why": "visto", "action": "a"})


@pytest.mark.rule("decision-14")
def test_skip_goes_on_without_effect_and_output(world: World) -> None:
    execution_id = failed(world, ask("a"), send("b"))
    resume(world, execution_id, "skip")
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["a", "b"]
    assert world.context(execution_id)["comms"].keys() == {"b"}
    assert ("a", "skipped") in world.runs(execution_id)


@pytest.mark.rule("decision-14")
def test_done_merges_the_output_and_arms_the_wait(world: World) -> None:
    execution_id = unknown(world, ask("a"), send("b", "{{ comms.a.message_id }}"))
    resume(world, execution_id, "done", output=OUTPUT)
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert world.crm.texts() == ["a"]
    world.says("ok")
    assert world.crm.texts() == ["a", "m-9"]
    assert world.context(execution_id)["reply"]["text"] == "ok"
    assert world.runs(execution_id) == [("a", "done"), ("b", "done"), ("fin_inicio", "done")]


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-12")
def test_done_takes_the_answer_that_came_meanwhile(world: World) -> None:
    execution_id = unknown(world, ask("a"), send("b", "{{ reply.text }}"))
    assert world.says("respuesta").outcome == "kept"
    resume(world, execution_id, "done", output=OUTPUT)
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["a", "respuesta"]


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-12")
def test_done_of_a_plain_message_keeps_its_answer_for_the_wait_of_the_step(world: World) -> None:
    execution_id = unknown(world, send("a"), wait(), send("b", "{{ reply.text }}"))
    assert world.says("respuesta").outcome == "kept"
    resume(world, execution_id, "done", output=OUTPUT)
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["a", "respuesta"]


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-12")
@pytest.mark.parametrize("how", ["retry", "skip"])
def test_retry_and_skip_route_the_kept_answer_on(world: World, how: str) -> None:
    other = world.publish(flow(send("o"), name="otro", filters=says("respuesta")))
    execution_id = unknown(world, ask("a"))
    assert world.says("respuesta").outcome == "kept"
    resume(world, execution_id, how)
    assert world.inbound("respuesta").workflow_id == other.pk
    assert world.status(execution_id)[0] == ("waiting_for_reply" if how == "retry" else "completed")


@pytest.mark.rule("decision-14")
@pytest.mark.parametrize(
    "given",
    [{"how": "done", "output": {"message_id": 7}}, {"how": "done"}, {"how": "retry", "version": 9}],
    ids=["wrong", "absent", "version"],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(world: World, given: dict[str, Any]) -> None:
    execution_id = unknown(world, send("a"), send("b"))
    before = unchanged(world, execution_id)
    with pytest.raises(InvalidInput):
        resume(world, execution_id, **given)
    assert unchanged(world, execution_id) == before


@pytest.mark.rule("decision-14")
def test_a_stale_or_misplaced_act_is_refused_and_changes_nothing(world: World) -> None:
    execution_id = failed(world, send("a"))
    before = unchanged(world, execution_id)
    with pytest.raises(StaleState):
        resume(world, execution_id, state_version=before[2] - 1)
    assert unchanged(world, execution_id) == before
    resume(world, execution_id, state_version=before[2])
    after = unchanged(world, execution_id)
    with pytest.raises(IllegalTransition):
        resume(world, execution_id)
    assert unchanged(world, execution_id) == after


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-1")
def test_retry_of_too_many_visits_sets_that_counter_to_zero(world: World) -> None:
    world.publish(automation(max_step_visits=2, steps=[
        step("uno", send("a"), action("va", "flow.goto_step", step="dos")),
        step("dos", action("vuelve", "flow.goto_step", step="uno")),
    ]))  # fmt: skip
    execution_id = world.started()
    assert world.status(execution_id) == ("paused_error", "max_step_visits_exceeded")
    for how in ("skip", "done"):
        before = unchanged(world, execution_id)
        with pytest.raises(IllegalTransition):
            resume(world, execution_id, how)
        assert unchanged(world, execution_id) == before
    resume(world, execution_id)
    assert world.crm.texts() == ["a"] * 3
    assert world.frame(execution_id).visits == {"uno": 1, "dos": 2}
    assert world.execution(execution_id).error["step"] == "dos"


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-22")
def test_another_version_mends_those_inside(world: World) -> None:
    workflow = world.publish(flow(send("a", "{{ contact.email }}"), send("b"), filters=says("Hola")))
    execution_id = world.started()
    mended = flow(send("nueva"), send("a", "{{ contact.name }}"), send("b"), filters=says("Hola"))
    publishing.save_draft(entity=world.entity, workflow_id=workflow.pk, document=mended)
    publishing.publish_workflow(entity=world.entity, workflow_id=workflow.pk, actor="ana")
    resume(world, execution_id, version=2)
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.texts() == ["Ana", "b"]
    assert world.events(execution_id) == ["started", "paused", "resumed", "completed"]


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-20")
def test_an_action_that_did_happen_is_not_repeated(world: World) -> None:
    world.crm.user_id = "x" * 300_000
    execution_id = world.start(action("vende", "crm.assign_seller", strategy="round_robin"), send("b"))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    resume(world, execution_id)
    assert world.status(execution_id) == ("completed", "")
    assert world.crm.operations() == ["assign_seller", "send_text"]
    assert "crm" not in world.context(execution_id)
    assert len(world.run(execution_id, "vende").output["user_id"]) == 300_000


@pytest.mark.rule("decision-14")
@pytest.mark.rule("decision-11")
def test_a_resumed_question_queues_where_the_slot_was_taken_meanwhile(world: World) -> None:
    execution_id = failed(world, ask("a"))
    holder = world.start(wait(), name="otro", filters=says("otro"), text="otro")
    resume(world, execution_id)
    assert world.status(execution_id) == ("queued_wait_conflict", "")
    assert world.crm.texts() == ["a"]
    world.says("ok")
    assert world.status(holder) == ("completed", "")
    assert world.crm.texts() == ["a", "a"]
    assert world.status(execution_id) == ("waiting_for_reply", "")
