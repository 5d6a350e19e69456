"""Everything at once: no deadlock, no unknown error, and the invariants hold at the end."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from tests.builders import automation
from tests.concurrency.conftest import Race, action, deliver, one_step, unexpected
from tests.concurrency.test_turns import SENT
from workflows import tenancy
from workflows.contracts import ActionType, Call, Outcome, WaitForReply
from workflows.errors import IllegalTransition, InvalidInput, PermanentFailure
from workflows.integrity import check_integrity
from workflows.models import FINAL, Entity, Execution, Frame, Workflow
from workflows.services import entities, publishing, sweeps, timers
from workflows.services.acts import cancel, resume, retry_wait
from workflows.services.advance import advance
from workflows.services.calls import call_directly

THREADS = 6
OPERATIONS = 85
"""Of each thread; with two seeds more than 1,000 in all."""
AWAIT = {"await_reply": {"timeout": "PT2H"}}


def perform(handler: ActionType[Any], call: Call, config: Any) -> Outcome:
    """Actions as they are, but for messages, which reach nobody."""
    if handler.kind != "comms.send_message":
        return call_directly(handler, call, config)
    if zlib.crc32(call.idempotency_key.encode()) % 5 == 0:  # one in five tries is refused
        raise PermanentFailure("refused", kind="rejected")
    policy = config.response_policy
    return SENT if policy is None else WaitForReply(policy.await_reply, SENT.output)


def documents() -> list[dict[str, Any]]:
    """Workflows that wait, ask, delay, loop and only send."""
    ask = action("pregunta", "comms.send_message", text="¿Sí?", response_policy=AWAIT)
    loop = [
        {"key": "inicio", "actions": [ask, action("otra", "flow.goto_step", step="inicio")]},
    ]
    return [
        one_step(ask, action("pausa", "flow.delay", duration="PT3H"), name="pregunta"),
        one_step(
            action("espera", "flow.wait_for_reply", timeout="PT2H"),
            action("avisa", "comms.send_message", text="Gracias"),
            action("otra", "flow.wait_for_reply", timeout="PT1H"),
            name="espera",
        ),
        automation(name="vueltas", steps=loop, max_step_visits=4),
        one_step(action("pausa", "flow.delay", duration="PT1H"), name="pausa"),
    ]


class Crowd:
    """One thread's share of the operations."""

    def __init__(self, entity: Entity, hints: list[Any], published: list[UUID], seed: int) -> None:
        self.entity = entity
        self.hints = hints
        self.published = published
        self.random = random.Random(seed)
        self.done: Counter[str] = Counter()

    def __call__(self) -> Counter[str]:
        operations: dict[Callable[[], object], int] = {
            self.deliver: 8,
            self.advance: 10,
            self.cancel: 2,
            self.resume: 3,
            self.retry_wait: 2,
            self.sweep: 2,
            self.expire: 1,
            self.publish: 1,
            self.reorder: 1,
            self.create_and_archive: 1,
        }
        chosen = self.random.choices(list(operations), list(operations.values()), k=OPERATIONS)
        for operation in chosen:
            with suppress(IllegalTransition, InvalidInput):  # answers to a person who came late
                operation()
            self.done[getattr(operation, "__name__", "")] += 1
        return self.done

    def deliver(self) -> None:
        contact, chat = self.random.choice("abc"), self.random.choice("12")
        deliver(self.entity, contact_id=f"c-{contact}", chat_id=f"ch-{chat}")

    def advance(self) -> None:
        with suppress(IndexError):
            entity_id, frame_id, state_version, _queue = self.hints.pop(self.random.choice((0, -1)))
            advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=perform)

    def cancel(self) -> None:
        with tenancy.entity(self.entity.pk):
            active = list(Execution.objects.exclude(status__in=FINAL).values_list("pk", flat=True))
        if active:
            chosen = self.random.choice(active)
            cancel(entity=self.entity, execution_id=chosen, actor="test", reason="crowd")

    def resume(self) -> None:
        with tenancy.entity(self.entity.pk):
            paused = list(Execution.objects.filter(status="paused_error").values_list("pk", flat=True))
        if paused:
            how: Any = self.random.choice(("retry", "retry", "skip"))
            chosen = self.random.choice(paused)
            resume(entity=self.entity, execution_id=chosen, how=how, actor="test", reason="crowd")

    def retry_wait(self) -> None:
        with tenancy.entity(self.entity.pk):
            queued = list(
                Execution.objects.filter(status="queued_wait_conflict").values_list("pk", flat=True)
            )
        if queued:
            chosen = self.random.choice(queued)
            retry_wait(entity=self.entity, execution_id=chosen, actor="test", reason="crowd")

    def sweep(self) -> None:
        sweeps.sweep()

    def expire(self) -> None:
        """Hints are lost: leases pass."""
        self.hints.clear()
        with tenancy.entity(self.entity.pk):
            running = (
                Frame.objects.filter(status="running").order_by("pk").select_for_update(skip_locked=True)
            )
            Frame.objects.filter(pk__in=list(running.values_list("pk", flat=True)), open_effect=False).update(
                lease_until="2020-01-01T00:00:00Z"
            )

    def publish(self) -> None:
        chosen = self.random.choice(self.published)
        publishing.publish_workflow(entity=self.entity, workflow_id=chosen, actor="test")

    def reorder(self) -> None:
        with tenancy.entity(self.entity.pk):
            order = list(Workflow.objects.exclude(status="archived").values_list("pk", flat=True))
        self.random.shuffle(order)
        publishing.reorder_workflows(entity=self.entity, workflow_ids=order)

    def create_and_archive(self) -> None:
        made = publishing.create_workflow(entity=self.entity, document=automation(name="breve")).workflow
        publishing.archive_workflow(entity=self.entity, workflow_id=made.pk)


@pytest.mark.rule("decision-29")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_crowd_leaves_the_invariants_whole(
    entity: Entity,
    publish: Callable[..., Workflow],
    hints: list[Any],
    race: Race,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr(settings, "SERVICES_FACTORY", "tests.concurrency.conftest.no_services")
    failures: list[str] = []
    monkeypatch.setattr(timers.log, "exception", lambda event, **_more: failures.append(event))
    published = [publish(document).pk for document in documents()]
    crowds = [Crowd(entity, hints, published, seed * 100 + number) for number in range(THREADS)]

    def jump() -> None:
        for hours in range(2, 22, 2):
            entities.set_clock_offset(offset=timedelta(hours=hours))
            sweeps.sweep()

    results = race(*crowds, jump)
    assert unexpected(results) == []
    assert failures == []
    assert sum(sum(done.values()) for done in results[:-1]) == THREADS * OPERATIONS
    assert faults() == []
    settle(entity, hints)
    assert faults() == []
    with tenancy.entity(entity.pk):
        assert not Execution.objects.filter(status="running").exists()
        assert not Execution.objects.filter(reason__in=["unexpected", "poisoned"]).exists()
        assert Execution.objects.count() > 5


def settle(entity: Entity, hints: list[Any]) -> None:
    """Let the sweep find what was lost, and do it, until nothing runs."""
    for _ in range(40):
        with tenancy.entity(entity.pk):
            Frame.objects.filter(status="running").update(lease_until="2020-01-01T00:00:00Z")
        sweeps.sweep()
        while hints:
            entity_id, frame_id, state_version, _queue = hints.pop()
            advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, perform=perform)
        with tenancy.entity(entity.pk):
            if not Frame.objects.filter(status="running").exists():
                return
    raise AssertionError("frames went on running")


def faults() -> list[str]:
    """What `check_integrity` finds."""
    return [
        f"{finding.check.code} {fault.row} {fault.detail}"
        for finding in check_integrity()
        for fault in finding.faults
    ]
