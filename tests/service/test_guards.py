"""What stops an execution by itself: size, visits, budgets, bugs (G5, F2, decisions 1, 2 and 20)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import Asked
from tests.service.world import World, action, ask, rounds, says, send, wait
from workflows import tenancy
from workflows.context import MAX_CONTEXT_BYTES
from workflows.models import Incident
from workflows.services import advance as advancing


def large(share: float) -> str:
    return "x" * int(MAX_CONTEXT_BYTES * share)


@pytest.mark.rule("decision-20")
def test_an_output_that_does_not_fit_pauses_behind_the_action_that_happened(world: World) -> None:
    world.crm.user_id = large(1)
    execution_id = world.start(action("vende", "crm.assign_seller", strategy="round_robin"), send("b"))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.crm.texts() == []
    assert world.runs(execution_id) == [("vende", "done")]
    assert "crm" not in world.context(execution_id)


@pytest.mark.rule("decision-20")
def test_a_reply_that_does_not_fit_pauses_and_is_not_lost(world: World) -> None:
    execution_id = world.start(wait(), send("b"))
    before = world.context(execution_id)
    decision = world.says(large(0.9))
    assert (decision.outcome, decision.execution_id) == ("resumed", execution_id)
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.context(execution_id) == before
    assert world.inbound(large(0.9)).execution_id == execution_id
    assert world.waits(execution_id) == ["resolved"]
    assert world.runs(execution_id) == [("espera", "done")]
    assert world.crm.texts() == []


@pytest.mark.rule("decision-20")
@pytest.mark.rule("decision-12")
def test_a_kept_reply_that_does_not_fit_pauses_and_is_not_lost(world: World) -> None:
    def meanwhile(_asked: Asked) -> None:
        world.crm.during = None
        world.message(large(0.9))

    world.crm.during = meanwhile
    execution_id = world.start(ask("a"), send("b"), filters=says("Hola"))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.crm.texts() == ["a"]
    assert world.runs(execution_id) == [("a", "done")]
    assert world.waits(execution_id) == ["resolved"]
    assert "replies" not in world.context(execution_id)


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-1")
@pytest.mark.rule("decision-2")
def test_the_eleventh_visit_pauses_and_the_tenth_ran(world: World) -> None:
    world.publish(rounds(send("a")))
    execution_id = world.started()
    assert world.crm.texts() == ["a"] * 10
    found = world.execution(execution_id)
    assert (found.status, found.reason) == ("paused_error", "max_step_visits_exceeded")
    assert found.error["step"] == "s0"
    assert world.frame(execution_id).visits == {"s0": 10, "s1": 10}
    assert found.context["workflow"]["step_visits"] == {"s0": 10, "s1": 10}


@pytest.mark.rule("decision-2")
def test_more_than_200_actions_without_a_pause_are_a_loop(world: World) -> None:
    world.publish(rounds(length=25))
    execution_id = world.started()
    assert world.status(execution_id) == ("paused_error", "action_budget_exceeded")
    assert len(world.runs(execution_id)) == 200


@pytest.mark.rule("decision-2")
def test_one_execution_sends_at_most_a_hundred_messages(world: World) -> None:
    pause = action("pausa", "flow.delay", duration="PT1H")
    world.publish(rounds(send("a"), send("b"), pause, max_step_visits=60))
    execution_id = world.started()
    for _ in range(50):
        world.later(hours=1, seconds=1)
    assert world.status(execution_id) == ("paused_error", "send_budget_exceeded")
    assert len(world.crm.texts()) == 100


def test_the_turn_gives_way_after_50_actions(world: World) -> None:
    world.publish(rounds(length=25))
    execution_id = world.message().execution_id
    seen = []
    while world.hints:
        world.run_hint(world.hints.pop())
        seen.append(len(world.runs(execution_id)))
    assert advancing.TURN_ACTIONS == 50
    assert seen == [50, 100, 150, 200]
    assert world.status(execution_id) == ("paused_error", "action_budget_exceeded")


@pytest.mark.rule("G5")
def test_a_bug_pauses_with_an_incident_and_no_locals(world: World) -> None:
    secret = "the-password-of-somebody"

    def broken(_asked: Any) -> None:
        raise KeyError(secret)

    world.crm.during = broken
    execution_id = world.start(send("a"), send("b"))
    found = world.execution(execution_id)
    assert (found.status, found.reason) == ("paused_error", "unexpected")
    assert found.error["detail"] == "KeyError in comms.send_message"
    assert len(found.error["incident"]) == 36
    run = world.run(execution_id, "a")
    assert (run.status, run.error["incident"]) == ("failed", found.error["incident"])
    assert secret not in str([found.error, found.context, run.error, run.input, run.output])
    with tenancy.entity(world.entity.pk):
        assert Incident.objects.get().reason == "unexpected"


@pytest.mark.rule("decision-20")
def test_a_start_that_does_not_fit_calls_nothing_and_is_not_lost(world: World) -> None:
    execution_id = world.start(send("saluda"), text=large(1))
    assert world.status(execution_id) == ("paused_error", "context_too_large")
    assert world.crm.texts() == []
    assert world.runs(execution_id) == []
