"""Workflows that change, pause and are reordered while executions run (decisions 5, 19, 21 and 22)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.service.world import World, flow, publish_each, send, wait
from workflows import tenancy
from workflows.errors import InvalidDefinition, InvalidInput, NotFound
from workflows.models import Entity, Workflow
from workflows.services import acts, publishing


@pytest.mark.rule("T6")
@pytest.mark.rule("decision-5")
def test_reordering_changes_who_wins(world: World) -> None:
    first, second, third = publish_each(world, None, None, None)
    publishing.reorder_workflows(entity=world.entity, workflow_ids=[third.pk, first.pk, second.pk])
    assert world.says(contact_id="c-1").workflow_id == third.pk
    publishing.reorder_workflows(entity=world.entity, workflow_ids=[second.pk, third.pk, first.pk])
    assert world.says(contact_id="c-2").workflow_id == second.pk


def priorities(world: World) -> dict[UUID, int | None]:
    with tenancy.entity(world.entity.pk):
        return dict(Workflow.objects.values_list("pk", "priority"))


@pytest.mark.rule("decision-5")
def test_a_new_workflow_goes_last_and_a_partial_order_is_refused(world: World, other_entity: Entity) -> None:
    first, second, third = publish_each(world, None, None, None)
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
