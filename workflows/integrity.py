"""Proof of the invariants over the whole database: one statement a check, each naming the rows that break it.

Reads under the fleet's scope and writes nothing. A statement sees one snapshot, so that a busy installation shows no
false fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from workflows import tenancy
from workflows.texts import N_

SHOWN = 20
"""Faults named for each check; the count is exact."""


@dataclass(frozen=True, slots=True)
class Check:
    """`statement` gives (entity id, row id, detail) for every row that breaks the `sentence`."""

    code: str
    sentence: str
    statement: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that breaks an invariant."""

    entity: int
    row: str
    detail: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A check with what it found: the exact number and the first faults."""

    check: Check
    count: int
    faults: tuple[Fault, ...]


_REFERENCES = (
    ("workflow", "current_version_id", "version"),
    ("version", "workflow_id", "workflow"),
    ("versiontrigger", "version_id", "version"),
    ("step", "version_id", "version"),
    ("action", "step_id", "step"),
    ("execution", "workflow_id", "workflow"),
    ("execution", "version_id", "version"),
    ("execution", "trigger_message_id", "inboundmessage"),
    ("frame", "execution_id", "execution"),
    ("frame", "parent_id", "frame"),
    ("steprun", "frame_id", "frame"),
    ("attempt", "frame_id", "frame"),
    ("event", "execution_id", "execution"),
    ("wait", "frame_id", "frame"),
    ("wait", "kept_message_id", "inboundmessage"),
    ("inboundmessage", "execution_id", "execution"),
    ("inboundmessage", "workflow_id", "workflow"),
)


def _dangling() -> str:
    return " union all ".join(
        f"""select c.entity_id, c.id::text, '{child}.{column}' from workflows_{child} c
        where c.{column} is not null and not exists (
            select from workflows_{parent} p where p.id = c.{column} and p.entity_id = c.entity_id)"""  # noqa: S608
        for child, column, parent in _REFERENCES
    )


CHECKS = (
    Check(
        "one_active_per_contact",
        N_("A contact has at most one active execution of a workflow (G3)."),
        """select entity_id, min(id::text), count(*) || ' of contact ' || contact_id from workflows_execution
        where contact_id is not null and status not in ('completed', 'cancelled', 'failed')
        group by entity_id, workflow_id, contact_id having count(*) > 1""",
    ),
    Check(
        "one_slot_per_chat",
        N_("At most one execution waits for a reply of a contact in a chat (A14)."),
        """select entity_id, min(id::text), count(*) || ' in chat ' || chat_id from workflows_wait
        where kind = 'reply' and state in ('reserved', 'open', 'held')
        group by entity_id, contact_id, chat_id having count(*) > 1""",
    ),
    Check(
        "one_root_frame",
        N_("An execution has exactly one root frame."),
        """select e.entity_id, e.id::text, count(f.id) || ' root frames' from workflows_execution e
        left join workflows_frame f on f.execution_id = e.id and f.parent_id is null
        group by e.entity_id, e.id having count(f.id) <> 1""",
    ),
    Check(
        "final_has_end",
        N_("An execution has an end if and only if its status is final."),
        """select entity_id, id::text, status from workflows_execution
        where (status in ('completed', 'cancelled', 'failed')) <> (finished_at is not null)""",
    ),
    Check(
        "final_is_at_rest",
        N_("A final execution has no frame that could run and no wait that could end."),
        """select e.entity_id, e.id::text, e.status from workflows_execution e
        where e.status in ('completed', 'cancelled', 'failed') and (
            exists (select from workflows_frame f where f.execution_id = e.id and f.status <> 'done')
            or exists (select from workflows_wait w join workflows_frame f on f.id = w.frame_id
                       where f.execution_id = e.id and w.state in ('queued', 'reserved', 'open', 'held')))""",
    ),
    Check(
        "running_has_frame",
        N_("A running execution has a running frame, which has a lease."),
        """select e.entity_id, e.id::text, 'no running frame' from workflows_execution e
        where e.status = 'running' and not exists (
            select from workflows_frame f
            where f.execution_id = e.id and f.status = 'running' and f.lease_until is not null)""",
    ),
    Check(
        "paused_is_at_rest",
        N_("An execution that is paused has no running frame."),
        """select e.entity_id, e.id::text, e.status from workflows_execution e
        where e.status not in ('running', 'completed', 'cancelled', 'failed') and exists (
            select from workflows_frame f where f.execution_id = e.id and f.status = 'running')""",
    ),
    Check(
        "waiting_has_wait",
        N_("An execution that waits for a reply or a time has exactly one open wait of that kind."),
        """select e.entity_id, e.id::text, e.status || ', ' || count(w.id) || ' open waits' from workflows_execution e
        join workflows_frame f on f.execution_id = e.id
        left join workflows_wait w on w.frame_id = f.id and w.state = 'open'
            and w.kind = case e.status when 'delayed' then 'delay' else 'reply' end
        where e.kind = 'automation' and e.status in ('waiting_for_reply', 'delayed')
        group by e.entity_id, e.id, e.status having count(w.id) <> 1""",
    ),
    Check(
        "queued_has_wait",
        N_("An execution that is queued for a chat has exactly one queued wait."),
        """select e.entity_id, e.id::text, count(w.id) || ' queued waits' from workflows_execution e
        join workflows_frame f on f.execution_id = e.id
        left join workflows_wait w on w.frame_id = f.id and w.state = 'queued'
        where e.status = 'queued_wait_conflict' group by e.entity_id, e.id having count(w.id) <> 1""",
    ),
    Check(
        "open_wait_is_waited_for",
        N_("An open or queued wait belongs to an execution with the status that goes with it."),
        """select w.entity_id, w.id::text, w.kind || ' ' || w.state || ', execution ' || e.status from workflows_wait w
        join workflows_frame f on f.id = w.frame_id join workflows_execution e on e.id = f.execution_id
        where e.kind = 'automation' and (w.state = 'open' and e.status <> case w.kind when 'delay' then 'delayed'
                when 'reply' then 'waiting_for_reply' else 'pending_approval' end
            or w.state = 'queued' and e.status <> 'queued_wait_conflict')""",
    ),
    Check(
        "wait_has_timer",
        N_("An open or reserved wait has its timer, due at its deadline."),
        """select w.entity_id, w.id::text, case when t.id is null then 'no timer' else 'due at another time' end
        from workflows_wait w left join workflows_timer t on t.wait_id = w.id and t.entity_id = w.entity_id
        where w.state in ('open', 'reserved') and (t.id is null or t.due_at <> w.deadline)""",
    ),
    Check(
        "timer_has_wait",
        N_("A timer belongs to a wait that is open or reserved."),
        """select t.entity_id, t.id::text, coalesce(w.state, 'no wait') from workflows_timer t
        left join workflows_wait w on w.id = t.wait_id and w.entity_id = t.entity_id
        where w.id is null or w.state not in ('open', 'reserved')""",
    ),
    Check(
        "step_runs_without_gap",
        N_("The step runs of a frame are numbered from 0 without a gap, up to the frame's own count."),
        """select f.entity_id, f.id::text,
            f.seq || ' counted, ' || count(r.id) || ' stored, last ' || coalesce(max(r.seq), -1)
        from workflows_frame f left join workflows_steprun r on r.frame_id = f.id
        group by f.entity_id, f.id, f.seq
        having count(r.id) <> f.seq or coalesce(max(r.seq), -1) <> f.seq - 1 or coalesce(min(r.seq), 0) <> 0""",
    ),
    Check(
        "visits_within_limit",
        N_("No step was visited more often than its workflow allows (F2)."),
        """select f.entity_id, e.id::text, v.key || ': ' || v.value from workflows_frame f
        join workflows_execution e on e.id = f.execution_id join workflows_version n on n.id = e.version_id
        cross join lateral jsonb_each_text(f.visits) v
        where f.engine = 'automation' and v.value::int > coalesce((n.definition ->> 'max_step_visits')::int, 10)""",
    ),
    Check(
        "context_within_limit",
        N_("No stored context is larger than 256 KiB."),
        """select entity_id, id::text, octet_length(context::text) || ' bytes' from workflows_execution
        where octet_length(context::text) > 262144
            and octet_length(replace(replace(context::text, '": ', '":'), ', ', ',')) > 262144""",
    ),
    Check(
        "message_has_execution",
        N_("A message that started, resumed or was kept for an execution names one of the same contact."),
        """select m.entity_id, m.id::text,
            m.outcome || case when e.id is null then ', no execution' else ', another contact' end
        from workflows_inboundmessage m
        left join workflows_execution e on e.id = m.execution_id and e.entity_id = m.entity_id
        where m.outcome in ('started', 'resumed', 'kept')
            and (e.id is null or e.contact_id is distinct from m.contact_id)""",
    ),
    Check(
        "started_by_message",
        N_("An execution that a message started has that message's contact, and the message says so."),
        """select e.entity_id, e.id::text, 'message ' || m.id || ' says ' || m.outcome from workflows_execution e
        join workflows_inboundmessage m on m.id = e.trigger_message_id
        where m.outcome <> 'started' or m.contact_id is distinct from e.contact_id""",
    ),
    Check(
        "references_stay_inside",
        N_("No row refers to a row of another entity, or to one that is gone (G6)."),
        _dangling(),
    ),
)


def check_integrity() -> list[Finding]:
    """What each check found; no faults where the invariant holds."""
    with tenancy.fleet("check_integrity"):
        return [_run(check) for check in CHECKS]


def _run(check: Check) -> Finding:
    counted = f"select *, count(*) over () from ({check.statement}) found limit {SHOWN}"  # noqa: S608 - constants only
    with connection.cursor() as cursor:
        cursor.execute(counted)
        rows = cursor.fetchall()
    faults = tuple(Fault(int(entity), str(row), str(detail)) for entity, row, detail, _count in rows)
    return Finding(check, rows[0][3] if rows else 0, faults)
