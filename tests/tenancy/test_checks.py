"""What a row can show, the table refuses: statuses, ends, waits, frames (A5, A6, G3, A14)."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from tests.tenancy.conftest import Tenant
from workflows import tenancy

END = "2026-01-01T00:00:00Z"


def refused(table: str, changes: dict[str, Any], constraint: str) -> Any:
    name = f"{table}-" + "-".join(f"{key}={value}" for key, value in changes.items())
    return pytest.param(table, changes, constraint, id=name)


DELAY = {"kind": "delay", "state": "open", "created_at": "2026-01-01T00:00:00Z", "armed_at": END}


@pytest.mark.rule("A5")
@pytest.mark.rule("A6")
@pytest.mark.parametrize(
    ("table", "changes", "constraint"),
    [
        refused("execution", {"status": "completed"}, "execution_final_has_end"),
        refused("execution", {"status": "cancelled"}, "execution_final_has_end"),
        refused("execution", {"finished_at": END}, "execution_final_has_end"),
        refused("execution", {"status": "asleep"}, "execution_status_known"),
        refused("execution", {"status": "paused_error"}, "execution_error_has_reason"),
        refused("execution", {"status": "pending_approval"}, "execution_status_of_kind"),
        refused(
            "execution",
            {"status": "failed", "reason": "rejected", "finished_at": END},
            "execution_status_of_kind",
        ),
        refused("frame", {"status": "asleep"}, "frame_status_known"),
        refused("steprun", {"status": "asleep"}, "step_run_status_known"),
        refused("workflow", {"status": "asleep"}, "workflow_status_known"),
        refused("workflow", {"kind": "ritual"}, "workflow_kind_known"),
        refused("workflow", {"current_version_id": None}, "workflow_published_has_version"),
        refused("workflow", {"priority": None}, "workflow_published_has_version"),
        refused("workflow", {"status": "archived"}, "workflow_archived_has_no_priority"),
        refused("inboundmessage", {"outcome": "lost"}, "inbound_outcome_known"),
        refused("wait", {"state": "asleep"}, "wait_state_known"),
        refused("wait", {"kind": "moon"}, "wait_kind_known"),
        refused("wait", {"deadline": None}, "wait_open_has_deadline"),
        refused("wait", {"armed_at": None}, "wait_open_has_deadline"),
        refused("wait", {"timeout": None}, "wait_reply_has_timeout"),
        refused("wait", {"timeout": "00:59:59"}, "wait_reply_has_timeout"),
        refused("wait", {"timeout": "30 days 00:00:01"}, "wait_reply_has_timeout"),
        refused("wait", {"contact_id": None}, "wait_reply_has_timeout"),
        refused("wait", {"chat_id": None}, "wait_reply_has_timeout"),
        refused("wait", {**DELAY, "deadline": "2026-01-31T00:00:01Z"}, "wait_delay_within_30_days"),
        refused("wait", {**DELAY, "state": "resolved", "deadline": None}, "wait_delay_within_30_days"),
    ],
)
def test_the_table_refuses(
    tenants: tuple[Tenant, Tenant], table: str, changes: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=f'"{constraint}"'), tenancy.entity(tenants[0].entity.pk):
        change(table, changes)


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("execution", {"status": "completed", "finished_at": END}),
        ("execution", {"status": "paused_error", "reason": "rejected"}),
        ("execution", {"kind": "pipeline", "status": "pending_approval"}),
        ("workflow", {"status": "archived", "priority": None}),
        ("wait", {"timeout": "01:00:00"}),
        ("wait", {"timeout": "30 days"}),
        ("wait", {**DELAY, "deadline": "2026-01-31T00:00:00Z"}),
        ("wait", {"state": "queued", "deadline": None, "armed_at": None}),
    ],
)
def test_the_table_takes_what_stands_at_the_limit(
    tenants: tuple[Tenant, Tenant], table: str, changes: dict[str, Any]
) -> None:
    with tenancy.entity(tenants[0].entity.pk), transaction.atomic():
        assert change(table, changes) == 1
        transaction.set_rollback(True)


def change(table: str, changes: dict[str, Any]) -> int:
    """Change one row of the entity in scope; how many were."""
    columns = ", ".join(f'"{name}" = r."{name}"' for name in changes)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""update workflows_{table} t set {columns}
            from (select * from jsonb_populate_record(null::workflows_{table}, %s::jsonb)) r
            where t.id = (select id from workflows_{table} order by id limit 1)""",
            [json.dumps(changes)],
        )
        return int(cursor.rowcount)


@pytest.mark.parametrize(
    ("table", "changes", "constraint"),
    [
        ("frame", {}, "frame_one_root"),
        ("frame", {"engine": "pipeline"}, "frame_one_root"),
        pytest.param(
            "execution", {}, "execution_one_active_per_contact", marks=pytest.mark.rule("G3"), id="active"
        ),
        pytest.param("wait", {}, "wait_one_slot_per_chat", marks=pytest.mark.rule("A14"), id="open"),
        pytest.param(
            "wait",
            {"state": "reserved"},
            "wait_one_slot_per_chat",
            marks=pytest.mark.rule("A14"),
            id="reserved",
        ),
        pytest.param(
            "wait", {"state": "held"}, "wait_one_slot_per_chat", marks=pytest.mark.rule("A14"), id="held"
        ),
        pytest.param(
            "inboundmessage",
            {},
            "inbound_one_per_message_id",
            marks=pytest.mark.rule("decision-30"),
            id="message",
        ),
        pytest.param(
            "versiontrigger", {}, "trigger_one_per_version", marks=pytest.mark.rule("T2"), id="trigger"
        ),
        ("version", {}, "version_one_per_number"),
        ("step", {"key": "otra"}, "step_one_per_position"),
        ("step", {"position": 9, "key": "INICIO"}, "step_one_per_key"),
        ("action", {"key": "otra"}, "action_one_per_position"),
        ("steprun", {}, "step_run_one_per_seq"),
        ("attempt", {}, "attempt_one_per_number"),
    ],
)
def test_the_table_refuses_a_second_one(
    tenants: tuple[Tenant, Tenant], table: str, changes: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=f'"{constraint}"'), tenancy.entity(tenants[0].entity.pk):
        copy(table, changes)


def test_a_frame_inside_a_frame_is_refused_in_an_automation(tenants: tuple[Tenant, Tenant]) -> None:
    parent = {"parent_id": str(tenants[0].frame_id)}
    entity_id = tenants[0].entity.pk
    with (
        pytest.raises(IntegrityError, match='"frame_automation_has_root_only"'),
        tenancy.entity(entity_id),
    ):
        copy("frame", parent)
    with tenancy.entity(entity_id), transaction.atomic():
        copy("frame", {**parent, "engine": "pipeline"})
        transaction.set_rollback(True)


@pytest.mark.rule("decision-5")
def test_two_workflows_cannot_end_with_one_priority(tenants: tuple[Tenant, Tenant]) -> None:
    with (
        pytest.raises(IntegrityError, match='"workflow_one_per_priority"'),
        tenancy.entity(tenants[0].entity.pk),
    ):
        copy("workflow", {})


def copy(table: str, changes: dict[str, Any]) -> None:
    """Insert a copy of one row of the entity in scope with changes and an id of its own."""
    uuids = {"workflow", "execution", "frame", "inboundmessage", "wait"}
    new = str(uuid4()) if table in uuids else 10**12
    with connection.cursor() as cursor:
        cursor.execute(
            f"""insert into workflows_{table} select (jsonb_populate_record(null::workflows_{table},
                to_jsonb(t) || %s::jsonb)).* from workflows_{table} t order by id limit 1""",
            [json.dumps({**changes, "id": new})],
        )
