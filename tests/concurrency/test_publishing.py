"""People who change the same entity's workflows at once (decisions 5 and 22)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.builders import automation
from tests.concurrency.conftest import Race, unexpected
from workflows import tenancy
from workflows.errors import InvalidInput
from workflows.models import Action, Entity, Step, Version, VersionTrigger, Workflow
from workflows.services import publishing

ROUNDS = 15
Make = Callable[..., Workflow]


def priorities(entity: Entity) -> list[int]:
    with tenancy.entity(entity.pk):
        return sorted(Workflow.objects.exclude(status="archived").values_list("priority", flat=True))


@pytest.mark.rule("decision-22")
def test_publishers_at_once_give_versions_in_order(entity: Entity, make_workflow: Make, race: Race) -> None:
    workflow = make_workflow()
    runners = [
        lambda n=n: publishing.publish_workflow(entity=entity, workflow_id=workflow.pk, actor=f"p-{n}")
        for n in range(2)
    ]
    assert unexpected(race(*runners)) == []
    with tenancy.entity(entity.pk):
        versions = list(Version.objects.order_by("number"))
        assert [version.number for version in versions] == [1, 2]
        assert {version.published_by for version in versions} == {"p-0", "p-1"}
        assert Workflow.objects.get().current_version_id == versions[1].pk
        assert VersionTrigger.objects.count() == Step.objects.count() == 2
        assert Action.objects.count() == 4


@pytest.mark.rule("decision-5")
def test_creators_at_once_get_priorities_of_their_own(entity: Entity, race: Race) -> None:
    runners = [
        lambda n=n: publishing.create_workflow(entity=entity, document=automation(name=f"w-{n}"))
        for n in range(6)
    ]
    assert unexpected(race(*runners)) == []
    assert priorities(entity) == [1, 2, 3, 4, 5, 6]


@pytest.mark.rule("decision-5")
def test_reorder_against_create(entity: Entity, make_workflow: Make, race: Race) -> None:
    order = [make_workflow(automation(name=f"w-{n}")).pk for n in range(3)]
    for number in range(ROUNDS):
        order.reverse()
        reordered, created = race(
            lambda: publishing.reorder_workflows(entity=entity, workflow_ids=order),
            lambda: publishing.create_workflow(entity=entity, document=automation(name="nuevo")),
        )
        assert reordered is None or isinstance(reordered, InvalidInput)
        assert unexpected([created]) == []
        assert priorities(entity) == list(range(1, number + 5))
        order.append(created.workflow.pk)


@pytest.mark.rule("decision-5")
def test_reorders_at_once_leave_one_of_the_orders(entity: Entity, make_workflow: Make, race: Race) -> None:
    order = [make_workflow(automation(name=f"w-{n}")).pk for n in range(6)]
    orders = [order, order[::-1], order[3:] + order[:3]]
    for _ in range(ROUNDS):
        results = race(
            *[
                lambda chosen=chosen: publishing.reorder_workflows(entity=entity, workflow_ids=chosen)
                for chosen in orders
            ]
        )
        assert unexpected(results) == []
        with tenancy.entity(entity.pk):
            assert list(Workflow.objects.order_by("priority").values_list("pk", flat=True)) in orders


@pytest.mark.rule("decision-5")
def test_reorder_against_archive(entity: Entity, make_workflow: Make, race: Race) -> None:
    """The order is of those that are not archived when it is made: the reorder comes first or is refused."""
    kept = [make_workflow(automation(name=f"w-{n}")).pk for n in range(3)]
    for _ in range(ROUNDS):
        leaving = make_workflow().pk
        reordered, archived = race(
            lambda leaving=leaving: publishing.reorder_workflows(
                entity=entity, workflow_ids=[*kept[::-1], leaving]
            ),
            lambda leaving=leaving: publishing.archive_workflow(entity=entity, workflow_id=leaving),
        )
        assert reordered is None or isinstance(reordered, InvalidInput)
        assert unexpected([archived]) == []
        assert len(priorities(entity)) == 3
