"""Failure x effect (decision 13), each cell over HTTP, the sandbox counting what arrived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from devtools.sandbox.client import Sandbox
from tests.failures.conftest import LOOK, SEND, definition
from workflows import tenancy
from workflows.models import Attempt, Entity, Execution, StepRun

Settle = Callable[[], None]
Start = Callable[[dict[str, Any]], UUID]
Standing = Callable[[UUID], Execution]

READ, KEYS, NO_KEYS = "read", "keys", "no keys"
OPERATION = {READ: "get_contact", KEYS: "send_text", NO_KEYS: "send_text"}
ACTION = {READ: LOOK, KEYS: SEND, NO_KEYS: SEND}

BUSY = {"status": 503}
BROKEN = {"status": 500}
LOST = {"drop": "after"}
REFUSED = {"status": 422, "code": "invalid"}
GARBLED = {"wrong_types": True}
IN_FLIGHT = {"status": 409, "code": "in_flight"}

# effect, fault, how often (None: always) -> status, reason, attempts, how often the work was done
CELLS: list[tuple[str, dict[str, Any], int | None, str, str, int, int]] = [
    (READ, BUSY, 2, "completed", "", 3, 1),
    (READ, BUSY, None, "paused_error", "unavailable", 3, 0),
    (KEYS, BUSY, 2, "completed", "", 3, 1),
    (KEYS, BUSY, None, "paused_error", "unavailable", 3, 0),
    (NO_KEYS, BUSY, 2, "completed", "", 3, 1),
    (NO_KEYS, BUSY, None, "paused_error", "unavailable", 3, 0),
    (READ, BROKEN, 2, "completed", "", 3, 1),
    (READ, BROKEN, None, "paused_error", "unavailable", 3, 0),
    (KEYS, BROKEN, 1, "completed", "", 2, 1),
    (KEYS, BROKEN, None, "paused_error", "outcome_unknown", 2, 0),
    (NO_KEYS, BROKEN, 1, "paused_error", "outcome_unknown", 1, 0),
    (READ, LOST, 2, "completed", "", 3, 3),
    (READ, LOST, None, "paused_error", "unavailable", 3, 3),
    (KEYS, LOST, 1, "completed", "", 2, 1),
    (KEYS, LOST, None, "paused_error", "outcome_unknown", 2, 1),
    (NO_KEYS, LOST, 1, "paused_error", "outcome_unknown", 1, 1),
    (KEYS, IN_FLIGHT, 3, "completed", "", 4, 1),
    (KEYS, IN_FLIGHT, None, "paused_error", "outcome_unknown", 4, 0),
    (NO_KEYS, IN_FLIGHT, 1, "paused_error", "rejected", 1, 0),
    (READ, REFUSED, 1, "paused_error", "rejected", 1, 0),
    (KEYS, REFUSED, 1, "paused_error", "rejected", 1, 0),
    (NO_KEYS, REFUSED, 1, "paused_error", "rejected", 1, 0),
    (READ, GARBLED, 1, "paused_error", "bad_response", 1, 1),
    (KEYS, GARBLED, 1, "paused_error", "outcome_unknown", 1, 1),
    (NO_KEYS, GARBLED, 1, "paused_error", "outcome_unknown", 1, 1),
]


@pytest.mark.rule("decision-13")
@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    ("effect", "fault", "times", "status", "reason", "attempts", "done"),
    CELLS,
    ids=[f"{c[0]} {'-'.join(map(str, c[1].values()))} x{c[2]}" for c in CELLS],
)
def test_cell(
    start: Start,
    settle: Settle,
    standing: Standing,
    sandbox: Sandbox,
    entity: Entity,
    effect: str,
    fault: dict[str, Any],
    times: int | None,
    status: str,
    reason: str,
    attempts: int,
    done: int,
) -> None:
    sandbox.capabilities(idempotency_keys=effect != NO_KEYS)
    sandbox.fault(OPERATION[effect], times=times, **fault)

    execution = start(definition(ACTION[effect]))
    settle()

    found = standing(execution)
    assert (found.status, found.reason) == (status, reason)
    with tenancy.entity(entity.pk):
        run = StepRun.objects.get(action_key=ACTION[effect]["key"])
        made = list(Attempt.objects.order_by("number").values_list("number", "idempotency_key"))
    assert [number for number, _ in made] == list(range(1, attempts + 1))
    assert {key for _, key in made} == {f"{execution}:uno:1:{ACTION[effect]['key']}:0"}
    assert run.attempts == attempts
    assert worked(sandbox, OPERATION[effect]) == done
    after = "done" if status == "completed" else "open" if reason == "outcome_unknown" else "failed"
    assert run.status == after


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize("effect", [READ, KEYS, NO_KEYS])
@pytest.mark.usefixtures("unreachable")
def test_what_was_never_sent_is_tried_three_times(
    start: Start, settle: Settle, standing: Standing, sandbox: Sandbox, entity: Entity, effect: str
) -> None:
    execution = start(definition(ACTION[effect]))
    settle()

    found = standing(execution)
    assert (found.status, found.reason) == ("paused_error", "unavailable")
    assert found.error is not None
    assert found.error["kind"] == "not_sent"
    with tenancy.entity(entity.pk):
        assert Attempt.objects.count() == 3
    assert worked(sandbox, OPERATION[effect]) == 0


@pytest.mark.rule("decision-13")
def test_the_body_of_an_unusable_answer_is_kept(
    start: Start, settle: Settle, standing: Standing, sandbox: Sandbox
) -> None:
    sandbox.fault("send_text", wrong_types=True)

    execution = start(definition(SEND))
    settle()

    error = standing(execution).error
    assert error is not None
    assert "message_id" in error["body"]


@pytest.mark.rule("decision-13")
def test_a_doubtful_call_followed_by_one_that_was_not_sent_stays_doubtful(
    start: Start, settle: Settle, standing: Standing, sandbox: Sandbox
) -> None:
    sandbox.fault("send_text", drop="after", times=1)
    sandbox.fault("send_text", status=503, times=None)

    execution = start(definition(SEND))
    settle()

    found = standing(execution)
    assert (found.status, found.reason) == ("paused_error", "outcome_unknown")
    assert worked(sandbox, "send_text") == 1


def worked(sandbox: Sandbox, operation: str) -> int:
    """How often the sandbox did the work, whatever it answered."""
    calls = sandbox.calls("acme", operation=operation)
    return sum(1 for call in calls if call["outcome"] == "accepted")
