"""`check_integrity`: sound data passes, and each check finds the fault that it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from tests.commands.conftest import Ran
from workflows import tenancy
from workflows.integrity import CHECKS, Check
from workflows.models import Entity, Execution, InboundMessage, StepRun, Timer, Wait

COPY = """
insert into workflows_{0}
select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).* from workflows_{0} r
"""
FORGERIES = {
    "one_active_per_contact": ["drop index execution_one_active_per_contact", COPY.format("execution")],
    "one_slot_per_chat": ["drop index wait_one_slot_per_chat", COPY.format("wait")],
    "one_root_frame": ["delete from workflows_frame"],
    "final_has_end": [
        "alter table workflows_execution drop constraint execution_final_has_end",
        "update workflows_execution set finished_at = now()",
    ],
    "final_is_at_rest": ["update workflows_execution set status = 'completed', finished_at = now()"],
    "running_has_frame": ["update workflows_execution set status = 'running'"],
    "paused_is_at_rest": ["update workflows_frame set status = 'running'"],
    "waiting_has_wait": ["update workflows_wait set state = 'resolved'"],
    "queued_has_wait": ["update workflows_execution set status = 'queued_wait_conflict'"],
    "open_wait_is_waited_for": ["update workflows_execution set status = 'delayed'"],
    "wait_has_timer": ["delete from workflows_timer"],
    "timer_has_wait": ["update workflows_timer set wait_id = gen_random_uuid()"],
    "step_runs_without_gap": ["update workflows_steprun set seq = seq + 1"],
    "visits_within_limit": ["update workflows_frame set visits = '{\"inicio\": 11}'"],
    "context_within_limit": [
        "update workflows_execution set context = jsonb_build_object('x', repeat('x', 262144))"
    ],
    "message_has_execution": ["update workflows_inboundmessage set contact_id = 'c-2'"],
    "started_by_message": ["update workflows_inboundmessage set outcome = 'ignored'"],
    "references_stay_inside": [
        "alter table workflows_event drop constraint event_execution_same_entity",
        "update workflows_event set execution_id = gen_random_uuid()",
    ],
}


@contextmanager
def owner_of(entity: Entity) -> Iterator[CursorWrapper]:
    """A transaction of the owner role, which may take constraints away; nothing of it stays."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("select set_config('boostflow.entity', %s, true)", [str(entity.pk)])
        yield cursor
        transaction.set_rollback(True, using="owner")


def test_sound_data_passes(waiting: Entity, run: Callable[..., Ran]) -> None:
    ran = run("check_integrity")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("ok ") == len(CHECKS)


def test_every_check_has_its_forgery() -> None:
    assert {check.code for check in CHECKS} == set(FORGERIES)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_each_fault_is_found(check: Check, waiting: Entity) -> None:
    code, statement = check.code, check.statement
    with owner_of(waiting) as cursor:
        cursor.execute(statement)
        assert cursor.fetchall() == []
        for forgery in FORGERIES[code]:
            cursor.execute(forgery)
        cursor.execute(statement)
        found = cursor.fetchall()
    assert {entity for entity, _row, _detail in found} == {waiting.pk}


@pytest.mark.parametrize("seconds", [-1, 1])
def test_a_timer_that_is_due_at_another_time_is_found(
    seconds: int, waiting: Entity, run: Callable[..., Ran]
) -> None:
    timer = Timer.objects.get()
    Timer.objects.update(due_at=timer.due_at.replace(second=(timer.due_at.second + seconds) % 60))
    ran = run("check_integrity")
    assert ran.code == 1
    assert "BROKEN 1 wait_has_timer" in ran.out
    assert "due at another time" in ran.out


def test_a_reference_to_another_entity_is_found(waiting: Entity, other_entity: Entity) -> None:
    statement = next(check.statement for check in CHECKS if check.code == "references_stay_inside")
    with owner_of(waiting) as cursor:
        cursor.execute("alter table workflows_steprun drop constraint steprun_frame_same_entity")
        cursor.execute("drop policy tenant_update on workflows_steprun")
        cursor.execute(
            "create policy tenant_update on workflows_steprun for update using (true) with check (true)"
        )
        cursor.execute("update workflows_steprun set entity_id = %s", [other_entity.pk])
        cursor.execute("select set_config('boostflow.fleet', 'test', true)")
        cursor.execute(statement)
        found = cursor.fetchall()
    assert [(entity, detail) for entity, _row, detail in found] == [(other_entity.pk, "steprun.frame_id")]


def test_json_names_the_rows(waiting: Entity, run: Callable[..., Ran]) -> None:
    with tenancy.entity(waiting.pk):
        InboundMessage.objects.update(outcome="ignored")
        execution = str(Execution.objects.get().pk)
    ran = run("check_integrity", "--json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert document["sound"] is False
    broken = {check["code"]: check for check in document["checks"] if check["count"]}
    assert set(broken) == {"started_by_message"}
    assert [(fault["entity"], fault["row"]) for fault in broken["started_by_message"]["faults"]] == [
        (waiting.pk, execution)
    ]


def test_a_check_changes_nothing(waiting: Entity, run: Callable[..., Ran]) -> None:
    def rows() -> list[str]:
        with tenancy.entity(waiting.pk):
            return [str(model.objects.order_by("pk").values()) for model in (Execution, StepRun, Wait, Timer)]

    before = rows()
    run("check_integrity")
    assert rows() == before
