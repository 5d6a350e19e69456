"""Messages that arrive at once: one delivery counts, and one chat's messages are decided one after another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.builders import inbound_event
from tests.concurrency.conftest import (
    Race,
    action,
    deliver,
    event_kinds,
    execution_of,
    unexpected,
)
from workflows import tenancy
from workflows.integrity import check_integrity
from workflows.models import Entity, InboundMessage, Workflow
from workflows.services import slots
from workflows.services.inbound import receive_message

ROUNDS = 25
HINT = ("entity_id", "frame_id", "state_version", "queue")
Publish = Callable[..., Workflow]
Work = Callable[[], int]
WAIT = action("espera", "flow.wait_for_reply", timeout="PT24H")


def faults() -> list[str]:
    """The checks that found a fault."""
    return [finding.check.code for finding in check_integrity() if finding.count]


def messages(entity: Entity) -> list[InboundMessage]:
    with tenancy.entity(entity.pk):
        return list(InboundMessage.objects.order_by("id"))


@pytest.mark.rule("decision-30")
def test_a_message_id_is_one_message_in_its_channel_and_entity_only(
    entity: Entity, other_entity: Entity, race: Race
) -> None:
    event = {**inbound_event(), "extra": {}}
    elsewhere = {**event, "channel": "telegram"}
    decisions = race(
        lambda: receive_message(entity=entity, event=event),
        lambda: receive_message(entity=entity, event=elsewhere),
        lambda: receive_message(entity=other_entity, event=event),
    )
    assert [(decision.outcome, decision.duplicate) for decision in decisions] == [("unmatched", False)] * 3


@pytest.mark.rule("decision-30")
def test_deliveries_of_one_reply_resume_once(
    entity: Entity, publish: Publish, work: Work, race: Race
) -> None:
    publish()
    for number in range(5):
        contact = f"c-{number}"
        execution_id = deliver(entity, contact_id=contact).execution_id
        work()
        event = {**inbound_event(contact_id=contact, text="sí"), "extra": {}}
        decisions = race(*[lambda event=event: receive_message(entity=entity, event=event)] * 6)
        assert unexpected(decisions) == []
        assert {(d.outcome, d.execution_id) for d in decisions} == {("resumed", execution_id)}
        assert Counter(decision.duplicate for decision in decisions) == {False: 1, True: 5}
        work()
        assert event_kinds(entity, execution_id) == ["started", "waiting", "resumed", "completed"]
        assert len(execution_of(entity, execution_id).context["replies"]) == 1


@pytest.mark.rule("decision-29")
def test_a_message_waits_until_the_one_before_it_in_its_chat_is_decided(entity: Entity, race: Race) -> None:
    """Other chats, contacts and entities do not wait."""
    locked, others_done, released = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with tenancy.entity(entity.pk):
            slots.lock_chat(entity_id=entity.pk, contact_id="c-1", chat_id="ch-1")
            locked.set()
            assert others_done.wait(20)
            time.sleep(0.2)
            released.set()

    def same_chat() -> bool:
        assert locked.wait(20)
        deliver(entity, contact_id="c-1", chat_id="ch-1")
        return released.is_set()

    def others() -> bool:
        assert locked.wait(20)
        deliver(entity, contact_id="c-1", chat_id="ch-2")
        deliver(entity, contact_id="c-2", chat_id="ch-1")
        done_before = not released.is_set()
        others_done.set()
        return done_before

    assert race(hold, same_chat, others) == [None, True, True]
