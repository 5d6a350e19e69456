"""`executions/`: lists, detail, timeline, context, cancelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.builders import Api, automation, body_of
from workflows import tenancy
from workflows.models import Entity, Execution, Frame, StepRun, Workflow
from workflows.services.inbound import receive_message

Build = Callable[..., dict[str, Any]]
Clients = Callable[..., Api]
Publish = Callable[..., Workflow]


@pytest.fixture
def waiting(entity: Entity, publish: Publish, event: Build, work: Callable[[], int]) -> str:
    """The id of an execution that waits for a reply."""
    publish()
    decision = receive_message(entity=entity, event={**event(), "extra": {}})
    work()
    return str(decision.execution_id)


def test_detail_says_where_it_stands(api: Clients, waiting: str) -> None:
    found = body_of(api("viewer").get(f"executions/{waiting}/"))
    assert (found["status"], found["reason"], found["contact_id"], found["chat_id"]) == (
        "waiting_for_reply",
        None,
        "c-1",
        "ch-1",
    )
    assert found["workflow"]["version"] == 1
    assert found["status_text"]["acts"] == ["cancel"]
    assert (found["wait"]["kind"], found["wait"]["state"]) == ("reply", "open")
    assert (found["wait"]["step"], found["wait"]["action"]) == ("inicio", "espera")
    assert found["wait"]["deadline"] > found["wait"]["armed_at"]
    assert (found["position"]["step"], found["position"]["action"]) == ("inicio", "fin")
    assert found["position"]["visits"] == {"inicio": 1}


def test_a_reason_comes_in_words(api: Clients, entity: Entity, waiting: str) -> None:
    with tenancy.entity(entity.pk):
        Execution.objects.filter(pk=waiting).update(status="paused_error", reason="no_chat")
    found = body_of(api("viewer").get(f"executions/{waiting}/"))
    assert found["reason_text"] == {
        "code": "no_chat",
        "cause": "The contact has no chat to write to.",
        "next_step": "Open a chat with the contact in the CRM, then resume; or cancel.",
        "acts": ["resume", "cancel"],
    }


def test_the_timeline_is_in_order_and_pages_do_not_repeat(api: Clients, waiting: str) -> None:
    client = api("viewer")
    whole = body_of(client.get(f"executions/{waiting}/timeline/"))["results"]
    assert [item["at"] for item in whole] == sorted(item["at"] for item in whole)
    assert sorted(item["item"] for item in whole) == ["event", "event", "step_run", "wait"]
    run = next(item for item in whole if item["item"] == "step_run")
    assert (run["step"], run["action"], run["status"]) == ("inicio", "espera", "waiting")
    page = body_of(client.get(f"executions/{waiting}/timeline/?limit=1"))
    pages = page["results"]
    while page["next_cursor"]:
        page = body_of(client.get(f"executions/{waiting}/timeline/?limit=1&cursor={page['next_cursor']}"))
        pages += page["results"]
    assert pages == whole
    for junk in (
        "W10",
        "WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsIndhaXQiLCI3Il0",
        "WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsIngiLCI3Il0",
    ):
        assert client.get(f"executions/{waiting}/timeline/?cursor={junk}").status_code == 422


@pytest.mark.rule("G4")
def test_context_adds_the_outputs_since_the_last_pause(api: Clients, entity: Entity, waiting: str) -> None:
    with tenancy.entity(entity.pk):
        frame = Frame.objects.get(execution_id=waiting)
        row = StepRun.objects.get(frame_id=frame.pk)
        StepRun.objects.create(
            entity_id=entity.pk, frame_id=frame.pk, seq=frame.seq, step_key="inicio", action_key="asigna", visit=1,
            type="crm.assign_seller", status="done", output={"user_id": "u-9"}, started_at=row.started_at,
        )  # fmt: skip
    context = body_of(api("viewer").get(f"executions/{waiting}/context/"))
    assert context["message"]["text"] == "Hola"
    assert context["crm"] == {"asigna": {"user_id": "u-9"}}
    assert context["workflow"]["step_visits"] == {"inicio": 1}


def test_cancel_ends_it_and_frees_the_chat(api: Clients, entity: Entity, waiting: str, event: Build) -> None:
    client = api("operator")
    present = body_of(client.get(f"executions/{waiting}/"))["state_version"]
    stale = client.post(f"executions/{waiting}/cancel/", {"reason": "no", "state_version": present + 1})
    assert (stale.status_code, body_of(stale)["code"], body_of(stale)["state_version"]) == (
        409,
        "stale_state",
        present,
    )
    assert body_of(client.get(f"executions/{waiting}/"))["status"] == "waiting_for_reply"
    done = body_of(
        client.post(f"executions/{waiting}/cancel/", {"reason": "pidió baja", "state_version": present})
    )
    assert (done["status"], done["wait"], done["state_version"]) == ("cancelled", None, present + 1)
    again = client.post(f"executions/{waiting}/cancel/", {"reason": "x", "state_version": present + 1})
    assert (again.status_code, body_of(again)["code"]) == (409, "illegal_transition")
    last = body_of(client.get(f"executions/{waiting}/timeline/"))["results"][-1]
    assert (last["kind"], last["actor"], last["data"]["why"]) == (
        "cancelled",
        "key:test operator",
        "pidió baja",
    )
    assert body_of(client.post("events/messages/", event()))["outcome"] == "started"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"state_version": 0}, "reason"),
        ({"reason": " ", "state_version": 0}, "reason"),
        ({"reason": "x"}, "state_version"),
        ({"reason": "x", "state_version": "0"}, "state_version"),
        ({"reason": "x", "state_version": 0, "force": True}, "force"),
    ],
)
def test_a_cancel_says_why_and_what_it_saw(
    api: Clients, waiting: str, body: dict[str, Any], field: str
) -> None:
    response = api("operator").post(f"executions/{waiting}/cancel/", body)
    assert (response.status_code, list(body_of(response)["fields"])) == (422, [field])


def test_lists_are_narrowed_and_paged(api: Clients, entity: Entity, publish: Publish, event: Build) -> None:
    workflow = publish()
    for number in range(5):
        receive_message(
            entity=entity, event={**event(contact_id=f"c-{number}", chat_id=f"ch-{number}"), "extra": {}}
        )
    client = api("viewer")
    with CaptureQueriesContext(connection) as queries:
        page = body_of(client.get("executions/?limit=2"))
    assert not [query["sql"] for query in queries if '"context"' in query["sql"]]
    contacts = [row["contact_id"] for row in page["results"]]
    while page["next_cursor"]:
        page = body_of(client.get(f"executions/?limit=2&cursor={page['next_cursor']}"))
        contacts += [row["contact_id"] for row in page["results"]]
    assert contacts == ["c-4", "c-3", "c-2", "c-1", "c-0"]

    def narrowed(query: str) -> int:
        return len(body_of(client.get(f"executions/?{query}"))["results"])

    assert [
        narrowed(query) for query in ("status=running", "status=completed", "contact=c-3", "reason=no_chat")
    ] == [5, 0, 1, 0]
    assert [narrowed(f"workflow={workflow.pk}"), narrowed("created_to=2020-01-01T00:00:00Z")] == [5, 0]


def test_a_finished_one_has_its_end(
    api: Clients, entity: Entity, publish: Publish, event: Build, work: Callable[[], int]
) -> None:
    publish(automation(steps=[{"key": "uno", "actions": [{"key": "fin", "type": "flow.end", "config": {}}]}]))
    decision = receive_message(entity=entity, event={**event(), "extra": {}})
    work()
    found = body_of(api("viewer").get(f"executions/{decision.execution_id}/"))
    assert (found["status"], found["wait"], found["finished_at"] is None) == ("completed", None, False)
