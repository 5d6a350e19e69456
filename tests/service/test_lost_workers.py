"""What becomes of the slot, and of the frame, where a worker does not say how it ended (decisions 10, 12, 13, G5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import transient
from tests.service.world import World, action, ask, flow, says, send, wait
from workflows import tenancy
from workflows.errors import IllegalTransition
from workflows.integrity import check_integrity
from workflows.models import Incident
from workflows.services import turn


def faults() -> list[str]:
    """The checks that found a fault."""
    return [finding.check.code for finding in check_integrity() if finding.count]


@pytest.mark.rule("decision-10")
@pytest.mark.rule("decision-13")
def test_an_unknown_outcome_frees_the_slot_that_its_turn_held(world: World) -> None:
    world.crm.honours_keys = False
    execution_id = world.start(wait(), send("gracias"))
    world.crm.fail(transient("unknown"))
    world.says("sí")
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.waits(execution_id) == ["resolved"]
    assert world.wait(execution_id).resolution == "reply"
    assert world.runs(execution_id) == [("espera", "done"), ("gracias", "open")]
    assert faults() == []


@pytest.mark.rule("decision-10")
def test_the_slot_of_an_unknown_outcome_goes_to_the_next_in_the_queue(world: World) -> None:
    world.crm.honours_keys = False
    pause = action("pausa", "flow.delay", duration="PT1H")
    world.publish(flow(wait(), send("gracias"), name="Uno", filters=says("uno")))
    world.publish(flow(pause, ask("segunda"), name="Dos", filters=says("dos")))
    queued = world.started("dos")
    holder = world.started("uno")
    world.later(hours=1, seconds=1)
    assert world.status(queued) == ("queued_wait_conflict", "")
    world.crm.fail(transient("unknown"))
    world.says("bien")
    assert world.status(holder) == ("paused_error", "outcome_unknown")
    assert world.status(queued) == ("waiting_for_reply", "")
    assert world.says("sí").execution_id == queued
    assert faults() == []


@pytest.mark.rule("decision-12")
def test_an_unknown_outcome_keeps_the_reservation_of_its_question(world: World) -> None:
    world.crm.honours_keys = False
    world.crm.fail(transient("unknown"))
    execution_id = world.start(ask("uno", timeout="PT2H"))
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")
    assert world.waits(execution_id) == ["reserved"]
    assert world.says("sí").outcome == "kept"
    world.later(hours=2, seconds=1)
    assert world.waits(execution_id) == ["cancelled"]
    assert world.inbound("sí").outcome == "unmatched"
    assert world.status(execution_id) == ("paused_error", "outcome_unknown")


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No version can be compiled, as after a release that lacks an action type."""

    def refuse(*_given: Any) -> Any:
        raise LookupError("no such action type")

    monkeypatch.setattr(turn, "cached_or_loaded", refuse)


@pytest.mark.rule("G5")
def test_a_frame_that_cannot_be_read_is_set_aside_after_three_claims(world: World, unreadable: None) -> None:
    world.publish(flow(send("uno")))
    execution_id = world.message("Hola").execution_id
    for _claim in range(3):
        world.retried()
        assert world.status(execution_id) == ("running", "")
    world.retried()
    assert world.status(execution_id) == ("paused_error", "poisoned")
    assert world.frame(execution_id).status == "waiting"
    assert world.events(execution_id) == ["started", "paused"]
    assert world.crm.asked == []
    with tenancy.entity(world.entity.pk):
        assert list(Incident.objects.values_list("reason", "execution_id", "count")) == [
            ("poisoned", execution_id, 1)
        ]
    assert faults() == []
    world.retried()
    assert world.hints == []
    assert execution_id is not None
    world.cancel(execution_id)
    assert world.status(execution_id) == ("cancelled", "")
    with pytest.raises(IllegalTransition):
        world.cancel(execution_id)


@pytest.mark.rule("G5")
def test_a_frame_that_cannot_be_read_gives_its_slot_to_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution_id = world.start(wait())
    world.message("sí")
    assert world.waits(execution_id) == ["held"]
    known = turn.cached_or_loaded
    monkeypatch.setattr(turn, "cached_or_loaded", lambda *_given: 1 / 0)
    for _claim in range(3):
        world.retried()
    world.retried()
    assert world.status(execution_id) == ("paused_error", "poisoned")
    assert world.waits(execution_id) == ["resolved"]
    monkeypatch.setattr(turn, "cached_or_loaded", known)
    assert faults() == []


@pytest.mark.rule("G5")
def test_claims_before_the_fourth_that_succeeds_are_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(flow(send("uno"), action("pausa", "flow.delay", duration="PT1H")))
    execution_id = world.message("Hola").execution_id
    known = turn.cached_or_loaded
    monkeypatch.setattr(turn, "cached_or_loaded", lambda *_given: 1 / 0)
    for _claim in range(2):
        world.retried()
    assert world.frame(execution_id).claims == 2
    monkeypatch.setattr(turn, "cached_or_loaded", known)
    world.retried()
    assert world.status(execution_id) == ("delayed", "")
    assert world.frame(execution_id).claims == 0
    assert world.crm.texts() == ["uno"]
