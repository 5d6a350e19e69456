"""Messages at once: one decision each, one after the other within a chat (decisions 29 and 30, G3)."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from devtools.installation import HOST, start_web
from devtools.processes import Processes, free_port
from tests.builders import Api, body_of, inbound_event
from tests.concurrency.conftest import Race, action, deliver, execution_of, one_step, unexpected, verdicts
from workflows import tenancy
from workflows.models import Entity, Execution, InboundMessage, Workflow
from workflows.services import inbound
from workflows.services.route import Decision

ROUNDS = 25
DELIVERIES = 20
Publish = Callable[..., Workflow]


def assert_one_decision(entity: Entity, workflow: Workflow, answers: list[Any]) -> None:
    """Twenty answers that differ in `duplicate` only, and what they tell of."""
    assert unexpected(answers) == []
    assert [status for status, _body in answers] == [200] * DELIVERIES
    assert Counter(body.pop("duplicate") for _status, body in answers) == {False: 1, True: DELIVERIES - 1}
    with tenancy.entity(entity.pk):
        execution = Execution.objects.get()
        assert InboundMessage.objects.count() == 1
    expected = {
        "outcome": "started",
        "execution_id": str(execution.pk),
        "workflow_id": str(workflow.pk),
        "reason": None,
    }
    assert [body for _status, body in answers] == [expected] * DELIVERIES


@pytest.mark.rule("decision-30")
def test_identical_deliveries_at_once(
    entity: Entity, publish: Publish, api: Callable[..., Api], race: Race, hints: list[Any]
) -> None:
    workflow, client, message = publish(), api("events"), inbound_event()
    secret = client.headers["Authorization"].removeprefix("Bearer ")

    def deliver_once() -> tuple[int, Any]:
        response = Api(secret).post("events/messages/", message)
        return response.status_code, body_of(response)

    assert_one_decision(entity, workflow, race(*[deliver_once] * DELIVERIES))
    assert len(hints) == 1


def database_address() -> str:
    """libpq's address of this run's database, as the application role."""
    known = connection.settings_dict
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return make_conninfo("", **{names[key]: known[key] for key in names if known[key]})


@pytest.mark.rule("decision-30")
def test_identical_deliveries_at_once_to_a_web_server(
    entity: Entity, publish: Publish, api: Callable[..., Api], race: Race
) -> None:
    workflow, client, message = publish(), api("events"), inbound_event()
    body, port = json.dumps(message), free_port()

    def deliver_once() -> tuple[int, Any]:
        caller = http.client.HTTPConnection(HOST, port, timeout=20)
        try:
            headers = {**client.headers, "Content-Type": "application/json"}
            caller.request("POST", "/api/v1/events/messages/", body, headers)
            response = caller.getresponse()
            return response.status, json.loads(response.read())
        finally:
            caller.close()

    with Processes({"DATABASE_URL": database_address(), "ENV": "test"}) as processes:
        start_web(processes, port)
        answers = race(*[deliver_once] * DELIVERIES)
    assert_one_decision(entity, workflow, answers)


class Watch:
    """When each message was being decided; a decision is made slow, so that two at once would overlap."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spans: list[tuple[float, float]] = []
        decide = inbound._decide

        def slow(*given: Any, **more: Any) -> Decision:
            began = time.monotonic()
            time.sleep(0.01)
            decision = decide(*given, **more)
            self.spans.append((began, time.monotonic()))
            return decision

        monkeypatch.setattr(inbound, "_decide", slow)

    def overlaps(self) -> int:
        """How many decisions began before the one before had been made."""
        ordered = sorted(self.spans)
        return sum(later[0] < earlier[1] for earlier, later in pairwise(ordered))


def looks(entity: Entity, contact: str) -> list[list[str]]:
    """The verdicts of the contact's messages but the first, sorted."""
    with tenancy.entity(entity.pk):
        messages = list(InboundMessage.objects.filter(contact_id=contact).order_by("id"))
    return sorted(verdicts(message) for message in messages)


@pytest.mark.rule("decision-29")
@pytest.mark.rule("A12")
def test_two_messages_of_one_chat_resume_once_and_in_order(
    entity: Entity,
    publish: Publish,
    work: Callable[[], int],
    hints: list[Any],
    race: Race,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second one's trace shows what the first one did: its wait is gone, its execution still active."""
    publish()
    watch = Watch(monkeypatch)
    for number in range(ROUNDS):
        contact = f"c-{number}"
        execution_id = deliver(entity, contact_id=contact, text="Hola").execution_id
        work()
        watch.spans.clear()
        decisions = race(
            *[
                lambda text=text, contact=contact: deliver(entity, contact_id=contact, text=text)
                for text in "ab"
            ]
        )
        assert unexpected(decisions) == []
        assert watch.overlaps() == 0
        assert sorted(decision.outcome for decision in decisions) == ["resumed", "unmatched"]
        assert looks(entity, contact) == [["none", "already_active"], ["none", "started"], ["resumed"]]
        winner = "ab"[[decision.outcome for decision in decisions].index("resumed")]
        assert execution_of(entity, execution_id).context["reply"]["text"] == winner
        assert len(hints) == 1
        work()
        assert execution_of(entity, execution_id).status == "completed"


@pytest.mark.rule("decision-29")
@pytest.mark.rule("G3")
def test_two_first_messages_of_one_chat_start_once_and_in_order(
    entity: Entity, publish: Publish, race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish()
    watch = Watch(monkeypatch)
    for number in range(ROUNDS):
        contact = f"c-{number}"
        watch.spans.clear()
        decisions = race(*[lambda contact=contact: deliver(entity, contact_id=contact)] * 2)
        assert unexpected(decisions) == []
        assert watch.overlaps() == 0
        assert sorted(decision.outcome for decision in decisions) == ["started", "unmatched"]
        assert looks(entity, contact) == [["none", "already_active"], ["none", "started"]]


@pytest.mark.rule("G3")
@pytest.mark.rule("decision-3")
def test_two_chats_of_one_contact_start_a_workflow_once(
    entity: Entity, publish: Publish, race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loser of the first workflow goes on to the next one."""
    for name in ("uno", "dos"):
        publish(one_step(action("espera", "flow.wait_for_reply", timeout="PT24H"), name=name))
    watch = Watch(monkeypatch)
    overlapped = 0
    for number in range(ROUNDS):
        contact = f"c-{number}"
        watch.spans.clear()
        decisions = race(
            *[
                lambda chat=chat, contact=contact: deliver(entity, contact_id=contact, chat_id=chat)
                for chat in ("ch-1", "ch-2", "ch-3")
            ]
        )
        assert unexpected(decisions) == []
        overlapped += watch.overlaps()
        assert sorted(decision.outcome for decision in decisions) == ["started", "started", "unmatched"]
        assert len({decision.workflow_id for decision in decisions}) == 3
        with tenancy.entity(entity.pk):
            assert Execution.objects.filter(contact_id=contact).count() == 2
    assert overlapped > 0  # chats are not serialised: the unique index decides
