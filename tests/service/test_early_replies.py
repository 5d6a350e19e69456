"""A reply that comes while the turn that asked still runs belongs to that turn's wait (decision 12)."""

from __future__ import annotations

import pytest

from tests.fakes import Asked
from tests.service.world import World, action, ask, flow, says, send, wait
from workflows.integrity import check_integrity

pytestmark = pytest.mark.rule("decision-12")


def faults() -> list[str]:
    """The checks that found a fault."""
    return [finding.check.code for finding in check_integrity() if finding.count]


def answer_during(world: World, asking: str, **message: object) -> list[str]:
    """Let the contact write while a text is being sent; the outcomes, in order."""
    outcomes: list[str] = []

    def write(asked: Asked) -> None:
        if asked.given.get("text") == asking:
            outcomes.append(world.message(**message).outcome)  # type: ignore[arg-type]

    world.crm.during = write
    return outcomes


def test_a_reply_to_the_first_of_two_messages_is_taken_by_the_wait_after_both(world: World) -> None:
    outcomes = answer_during(world, "uno", text="sí")
    execution_id = world.start(send("uno"), send("dos"), wait())
    assert outcomes == ["kept"]
    assert world.crm.texts() == ["uno", "dos"]
    assert world.status(execution_id) == ("completed", "")
    assert world.context(execution_id)["reply"]["text"] == "sí"
    assert [reply["text"] for reply in world.context(execution_id)["replies"]] == ["sí"]
    assert world.inbound("sí").outcome == "kept"
    assert faults() == []


@pytest.mark.rule("decision-34")
def test_replies_to_both_messages_are_gathered_where_the_wait_collects(world: World) -> None:
    texts = {"uno": "sí", "dos": "claro"}
    outcomes: list[str] = []
    world.crm.during = lambda asked: outcomes.append(world.message(texts[asked.given["text"]]).outcome)
    execution_id = world.start(send("uno"), send("dos"), wait(collect="PT10S"))
    assert outcomes == ["kept", "kept"]
    assert world.status(execution_id) == ("waiting_for_reply", "")  # the window is still open
    assert world.says("gracias").outcome == "resumed"
    world.later(seconds=11)
    assert world.status(execution_id) == ("completed", "")
    assert world.context(execution_id)["reply"]["texts"] == ["sí", "claro", "gracias"]
    assert faults() == []


def test_a_second_reply_goes_to_the_triggers_where_the_wait_does_not_collect(world: World) -> None:
    texts = {"uno": "sí", "dos": "claro"}
    outcomes: list[str] = []
    world.crm.during = lambda asked: outcomes.append(world.message(texts[asked.given["text"]]).outcome)
    execution_id = world.start(send("uno"), send("dos"), wait())
    assert outcomes == ["kept", "unmatched"]
    assert world.verdicts("claro") == ["already_answered", "already_active"]
    assert world.context(execution_id)["reply"]["texts"] == ["sí"]


def test_messages_before_a_wait_leave_one_timer(world: World) -> None:
    execution_id = world.start(send("uno"), send("dos"), wait())
    assert world.status(execution_id) == ("waiting_for_reply", "")
    assert faults() == []
    world.says("sí")
    assert world.status(execution_id) == ("completed", "")
    assert faults() == []


def test_a_reply_kept_for_a_turn_that_fails_at_the_next_message_goes_on_as_ordinary(world: World) -> None:
    world.publish(flow(wait(), name="Otro", filters=says("sí")))
    outcomes = answer_during(world, "uno", text="sí")
    world.publish(
        flow(send("uno"), send("dos", "{{ contact.nope }}"), wait(), name="Falla", filters=says("ya"))
    )
    failed = world.started("ya")
    assert outcomes == ["kept"]
    assert world.status(failed) == ("paused_error", "template_error")
    message = world.inbound("sí")
    assert message.outcome == "started"
    assert world.status(message.execution_id) == ("waiting_for_reply", "")
    assert world.waits(failed) == ["resolved"]
    assert faults() == []


@pytest.mark.rule("decision-32")
def test_a_kept_reply_refreshes_the_contact(world: World) -> None:
    contact = {"id": "c-1", "name": "Ana María"}
    outcomes = answer_during(world, "uno", text="sí", contact=contact)
    execution_id = world.start(ask("uno"), send("dos", "Hola {{ contact.name }}"))
    assert outcomes == ["kept"]
    assert world.crm.texts() == ["uno", "Hola Ana María"]
    assert world.context(execution_id)["contact"]["name"] == "Ana María"
    assert world.context(execution_id)["message"]["text"] == "Hola"  # the one that started it


@pytest.mark.rule("decision-32")
@pytest.mark.rule("decision-34")
def test_gathered_replies_refresh_the_contact(world: World) -> None:
    execution_id = world.start(ask("uno", collect="PT10S"), send("dos", "Hola {{ contact.name }}"))
    world.says("sí")
    world.says("claro", contact={"id": "c-1", "name": "Ana María"})
    world.later(seconds=11)
    assert world.crm.texts() == ["uno", "Hola Ana María"]
    assert world.context(execution_id)["reply"]["texts"] == ["sí", "claro"]


@pytest.mark.rule("decision-10")
@pytest.mark.rule("decision-34")
def test_a_message_between_promotion_and_the_question_is_no_answer_to_it(world: World) -> None:
    pause = action("pausa", "flow.delay", duration="PT1H")
    world.publish(flow(ask("primera", timeout="P2D"), name="Uno", filters=says("uno")))
    world.publish(flow(pause, ask("segunda"), name="Dos", filters=says("dos")))
    queued = world.started("dos")
    holder = world.started("uno")
    world.later(hours=1, seconds=1)
    assert world.status(queued) == ("queued_wait_conflict", "")
    world.message("bien")
    world.run_hint(world.hints.pop(0))
    assert world.status(holder) == ("completed", "")
    assert world.status(queued) == ("running", "")
    assert world.waits(queued) == ["resolved", "reserved"]  # the delay, the question
    decision = world.message("adiós")
    assert (decision.outcome, decision.execution_id) == ("unmatched", None)
    assert world.verdicts("adiós")[0] == "not_waiting"
    world.work()
    assert world.crm.texts() == ["primera", "segunda"]
    assert world.status(queued) == ("waiting_for_reply", "")
    assert world.says("sí").outcome == "resumed"
    assert world.context(queued)["reply"]["text"] == "sí"
    assert faults() == []
