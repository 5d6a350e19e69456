"""One message, one destination: waits before triggers, priority, first match (A12, T6, G3)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.service.world import World, action, flow, says, send, wait
from workflows import tenancy
from workflows.errors import IllegalTransition, InvalidDefinition, InvalidInput, NotFound
from workflows.models import Entity, InboundMessage, Workflow
from workflows.services import acts, publishing


def three(world: World, *filters: dict[str, Any] | None) -> list[Workflow]:
    """Workflows of one wait each, in this order of priority."""
    found = []
    for number, chosen in enumerate(filters):
        changes = {} if chosen is None else {"filters": chosen}
        found.append(world.publish(flow(wait(), name=f"w-{number}", **changes)))
    return found


@pytest.mark.rule("A12")
@pytest.mark.rule("T6")
@pytest.mark.rule("decision-29")
def test_an_open_wait_comes_before_every_trigger(world: World) -> None:
    execution_id = world.start(wait("uno"), wait("dos"), filters=says("Hola"))
    world.publish(flow(wait(), name="siempre"))
    decision = world.says("otra cosa")
    assert (decision.outcome, decision.execution_id) == ("resumed", execution_id)
    assert world.verdicts("otra cosa") == ["resumed"]
    assert [found.pk for found in world.executions()] == [execution_id]
    assert world.context(execution_id)["reply"]["text"] == "otra cosa"


@pytest.mark.rule("A12")
@pytest.mark.parametrize("changes", [{"chat_id": "ch-2"}, {"contact_id": "c-2"}], ids=["chat", "contact"])
def test_a_wait_is_for_its_contact_and_chat_only(world: World, changes: dict[str, Any]) -> None:
    execution_id = world.start(wait("uno"), filters=says("Hola"))
    decision = world.says("otra cosa", **changes)
    assert (decision.outcome, decision.execution_id) == ("unmatched", None)
    assert world.status(execution_id) == ("waiting_for_reply", "")


@pytest.mark.rule("T6")
def test_the_first_match_by_priority_wins_and_is_the_only_one(world: World) -> None:
    first, second, third = three(world, says("no"), says("Hola"), None)
    decision = world.says("Hola")
    assert (decision.outcome, decision.workflow_id) == ("started", second.pk)
    assert world.verdicts("Hola") == ["none", "filter_false", "started"]
    assert [found.workflow_id for found in world.executions()] == [second.pk]
    assert {first.pk, third.pk} & {found.workflow_id for found in world.executions()} == set()


@pytest.mark.rule("T6")
@pytest.mark.rule("decision-5")
def test_reordering_changes_who_wins(world: World) -> None:
    first, second, third = three(world, None, None, None)
    publishing.reorder_workflows(entity=world.entity, workflow_ids=[third.pk, first.pk, second.pk])
    assert world.says(contact_id="c-1").workflow_id == third.pk
    publishing.reorder_workflows(entity=world.entity, workflow_ids=[second.pk, third.pk, first.pk])
    assert world.says(contact_id="c-2").workflow_id == second.pk


def priorities(world: World) -> dict[UUID, int | None]:
    with tenancy.entity(world.entity.pk):
        return dict(Workflow.objects.values_list("pk", "priority"))


@pytest.mark.rule("decision-5")
def test_a_new_workflow_goes_last_and_a_partial_order_is_refused(world: World, other_entity: Entity) -> None:
    first, second, third = three(world, None, None, None)
    foreign = world.publish(flow(wait()), of=other_entity)
    before = priorities(world)
    assert before == {first.pk: 1, second.pk: 2, third.pk: 3}
    for wrong in (
        [third.pk, first.pk],
        [third.pk, first.pk, first.pk],
        [third.pk, first.pk, second.pk, foreign.pk],
        [third.pk, first.pk, foreign.pk],
    ):
        with pytest.raises(InvalidInput):
            publishing.reorder_workflows(entity=world.entity, workflow_ids=wrong)
        assert priorities(world) == before


@pytest.mark.rule("T6")
def test_without_a_match_nothing_happens(world: World) -> None:
    three(world, says("no"))
    decision = world.says("Hola")
    assert (decision.outcome, decision.execution_id, decision.workflow_id) == ("unmatched", None, None)
    assert world.executions() == []
    assert world.inbound("Hola").outcome == "unmatched"


@pytest.mark.rule("G3")
@pytest.mark.rule("decision-3")
def test_an_active_execution_lets_the_next_workflow_have_the_message(world: World) -> None:
    world.publish(flow(action("pausa", "flow.delay", duration="P2D"), name="primero"))
    second = world.publish(flow(wait(), name="segundo"))
    first_id = world.started()
    decision = world.says("otra")
    assert (decision.outcome, decision.workflow_id) == ("started", second.pk)
    assert world.verdicts("otra") == ["none", "already_active", "started"]
    assert world.status(first_id) == ("delayed", "")


@pytest.mark.rule("G3")
@pytest.mark.rule("decision-4")
@pytest.mark.parametrize(
    "status", ["running", "waiting_for_reply", "delayed", "queued_wait_conflict", "paused_error"]
)
def test_every_status_that_is_not_final_is_active(world: World, status: str) -> None:
    execution_id = world.stand_in(status)
    decision = world.message("Hola", chat_id="ch-2")
    assert (decision.outcome, decision.execution_id) == ("unmatched", None)
    assert "already_active" in world.verdicts("Hola")
    world.cancel(execution_id)
    assert world.message("Hola", chat_id="ch-2").outcome == "started"


@pytest.mark.parametrize(
    "status", ["running", "waiting_for_reply", "delayed", "queued_wait_conflict", "paused_error"]
)
def test_cancel_is_immediate_from_every_status_and_only_once(world: World, status: str) -> None:
    execution_id = world.stand_in(status)
    world.cancel(execution_id)
    found = world.execution(execution_id)
    assert (found.status, found.finished_at is not None) == ("cancelled", True)
    assert world.frame(execution_id).status == "done"
    assert not {"waiting", "open"} & {run for _key, run in world.runs(execution_id)}
    assert not {"open", "queued", "reserved", "held"} & set(world.waits(execution_id))
    events = world.events(execution_id)
    world.work()
    world.later(days=31)
    with pytest.raises(IllegalTransition):
        world.cancel(execution_id)
    assert world.status(execution_id) == ("cancelled", "")
    assert world.events(execution_id) == events


@pytest.mark.rule("decision-30")
def test_a_second_delivery_gets_the_first_answer_and_moves_nothing(world: World) -> None:
    world.publish(flow(wait("uno"), wait("dos")))
    first = world.says(message_id="m-1")
    second = world.says("otra cosa", message_id="m-1")
    assert (second.outcome, second.execution_id, second.duplicate) == ("started", first.execution_id, True)
    assert world.frame(first.execution_id).action == 1
    with tenancy.entity(world.entity.pk):
        assert InboundMessage.objects.count() == 1
    assert world.says("respuesta", message_id="m-1", channel="sms").outcome == "resumed"


@pytest.mark.rule("decision-7")
@pytest.mark.parametrize(
    "changes",
    [
        {"direction": "outbound"},
        {"author": "agent", "direction": "outbound"},
        {"author": "automation"},
        {"kind": "reaction"},
        {"kind": "edit"},
        {"kind": "receipt"},
        {"author": "system", "kind": "system"},
    ],
)
def test_what_no_contact_wrote_is_ignored(world: World, changes: dict[str, Any]) -> None:
    execution_id = world.start(wait())
    for contact in ("c-1", "c-2"):
        decision = world.says("eco", contact_id=contact, **changes)
        assert (decision.outcome, decision.reason, decision.execution_id) == ("ignored", "ignored_kind", None)
    assert world.verdicts("eco") == ["ignored_kind"]
    assert len(world.executions()) == 1
    assert world.status(execution_id) == ("waiting_for_reply", "")


@pytest.mark.rule("decision-7")
@pytest.mark.parametrize("kind", ["text", "media", "audio", "location", "button", "list", "template_reply"])
def test_every_kind_that_a_person_writes_counts(world: World, kind: str) -> None:
    world.publish(flow(wait()))
    assert world.says(kind=kind).outcome == "started"
    assert world.says(kind=kind).outcome == "resumed"


@pytest.mark.rule("decision-34")
def test_the_next_message_of_a_running_or_delayed_execution_follows_the_pipeline(world: World) -> None:
    """It starts another workflow or nothing, and no later wait is given it."""
    world.publish(flow(action("pausa", "flow.delay", duration="PT2H"), wait(), filters=says("Hola")))
    execution_id = world.message("Hola").execution_id
    assert world.says("mientras corre").outcome == "unmatched"
    assert world.status(execution_id) == ("delayed", "")
    assert world.says("mientras espera").outcome == "unmatched"
    world.publish(flow(send("a"), name="otro"))
    assert world.says("Hola").outcome == "started"
    assert world.verdicts("Hola") == ["none", "already_active", "started"]
    world.later(hours=3)
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert "reply" not in world.context(execution_id)


@pytest.mark.rule("decision-37")
def test_cooldown_keeps_a_contact_from_starting_again_too_soon(world: World) -> None:
    trigger = {"type": "message.inbound", "config": {"cooldown": "PT12H"}}
    first = world.publish(flow(send("a"), name="primero", trigger=trigger))
    second = world.publish(flow(send("b"), name="segundo", filters=says("otra vez")))
    assert world.says().workflow_id == first.pk
    world.later(hours=11)
    assert world.says("otra vez").workflow_id == second.pk
    assert world.verdicts("otra vez") == ["none", "cooldown", "started"]
    assert world.says(contact_id="c-2").workflow_id == first.pk
    world.later(hours=2)
    assert world.says().workflow_id == first.pk


def amended(world: World, workflow: Workflow, document: dict[str, Any]) -> Workflow:
    publishing.save_draft(entity=world.entity, workflow_id=workflow.pk, document=document)
    return publishing.publish_workflow(entity=world.entity, workflow_id=workflow.pk, actor="ana").workflow


@pytest.mark.rule("decision-22")
def test_an_execution_stays_on_its_version(world: World) -> None:
    workflow = world.publish(flow(wait(), send("a", "uno")))
    old = world.started()
    amended(world, workflow, flow(wait(), send("a", "dos")))
    new = world.started(contact_id="c-2")
    world.says("ok")
    world.says("ok", contact_id="c-2")
    assert world.crm.texts() == ["uno", "dos"]
    assert [world.context(one)["workflow"]["version"] for one in (old, new)] == [1, 2]


@pytest.mark.rule("decision-22")
def test_pausing_stops_the_trigger_only_and_activation_replays_nothing(world: World) -> None:
    workflow = world.publish(flow(wait(), send("a")))
    execution_id = world.started()
    publishing.pause_workflow(entity=world.entity, workflow_id=workflow.pk)
    assert world.says("perdida", contact_id="c-2").outcome == "unmatched"
    assert world.says("ok").execution_id == execution_id
    assert world.status(execution_id) == ("completed", "")
    publishing.activate_workflow(entity=world.entity, workflow_id=workflow.pk)
    world.later(minutes=5)
    assert [found.pk for found in world.executions()] == [execution_id]
    assert world.says("nueva", contact_id="c-2").outcome == "started"


@pytest.mark.rule("decision-19")
@pytest.mark.rule("decision-22")
def test_a_broken_draft_is_never_stored_and_the_published_version_goes_on(world: World) -> None:
    workflow = world.publish(flow(send("a", "uno")))
    broken = flow(send("a", "dos"))
    broken["steps"][0]["actions"].pop()
    with pytest.raises(InvalidDefinition) as caught:
        publishing.save_draft(entity=world.entity, workflow_id=workflow.pk, document=broken)
    assert "S4" in {violation.rule for violation in caught.value.extra["violations"]}
    with pytest.raises(InvalidDefinition):
        publishing.create_workflow(entity=world.entity, document=broken)
    with tenancy.entity(world.entity.pk):
        assert Workflow.objects.get().draft == flow(send("a", "uno"))
    world.started()
    assert world.crm.texts() == ["uno"]


@pytest.mark.rule("decision-21")
@pytest.mark.rule("G6")
def test_ids_of_another_entity_are_not_found(world: World, other_entity: Entity) -> None:
    workflow = world.publish(flow(wait()))
    execution_id = world.started()
    before = world.execution(execution_id).state_version
    for act in (publishing.pause_workflow, publishing.activate_workflow, publishing.archive_workflow):
        with pytest.raises(NotFound):
            act(entity=other_entity, workflow_id=workflow.pk)
    with pytest.raises(NotFound):
        acts.cancel(entity=other_entity, execution_id=execution_id, actor="x", reason="x")
    with pytest.raises(NotFound):
        acts.resume(entity=other_entity, execution_id=execution_id, how="retry", actor="x", reason="x")
    with pytest.raises(NotFound):
        acts.retry_wait(entity=other_entity, execution_id=execution_id, actor="x", reason="x")
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert world.execution(execution_id).state_version == before
    with tenancy.entity(world.entity.pk):
        assert Workflow.objects.get().status == "published"


@pytest.mark.rule("decision-35")
@pytest.mark.parametrize(("policy", "status"), [("ignore", "waiting_for_reply"), ("cancel", "cancelled")])
def test_an_agent_that_writes_may_take_over(world: World, policy: str, status: str) -> None:
    execution_id = world.start(wait(), on_agent_message=policy)
    decision = world.says("yo sigo", author="agent", direction="outbound")
    assert decision.outcome == "ignored"
    assert world.status(execution_id)[0] == status
