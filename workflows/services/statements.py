"""The hot path's SQL: one text per shape, so that each is prepared once."""

from __future__ import annotations

LEASE_SECONDS = 60
"""A fresh hint's lease; an action's own limit + 15 s while it runs."""

CLAIM = """
with f as (
    update workflows_frame set state_version = state_version + 1, claims = claims + 1,
        lease_until = clock_timestamp() + make_interval(secs => %s)
    where id = %s and entity_id = %s and state_version = %s and status = 'running'
    returning id, execution_id, state_version, step, action, visits, actions, sends, seq, claims, open_effect,
        attempt, retry)
select f.execution_id, f.state_version, f.step, f.action, f.visits, f.actions, f.sends, f.seq, f.claims, f.open_effect,
    f.attempt, f.retry,
    e.version_id, e.contact_id, e.chat_id, e.context, boostflow_now(),
    exists (select from workflows_wait w
            where w.frame_id = f.id and w.state in ('queued', 'reserved', 'open', 'held')),
    (select jsonb_agg(jsonb_build_array(r.step_key, r.action_key, r.output) order by r.seq) from workflows_steprun r
     where r.frame_id = f.id and r.seq >= e.context_seq and r.status in ('done', 'waiting') and r.output is not null),
    n.external_id, n.timezone, n.workflow_system_user_id, n.workflow_system_employee_id
from f join workflows_execution e on e.id = f.execution_id and e.entity_id = %s
    join workflows_entity n on n.id = e.entity_id
"""

_RUNS = """
runs as (
    insert into workflows_steprun (entity_id, frame_id, seq, step_key, action_key, visit, type, status, retry, attempts,
        input, output, error, started_at, finished_at)
    select %s, u.id, r.seq, r.step_key, r.action_key, r.visit, r.type, r.status, r.retry, 1,
        r.input, r.output, r.error, r.started_at, r.finished_at
    from u, jsonb_to_recordset(%s) as r(seq int, step_key text, action_key text, visit smallint, type text, status text,
        retry smallint, input jsonb, output jsonb, error jsonb, started_at timestamptz, finished_at timestamptz))
"""

_CLOSED = """
closed as (
    update workflows_steprun r set status = %s, output = %s, error = %s, finished_at = %s
    from u where r.entity_id = %s and r.frame_id = u.id and r.seq = %s and r.status = 'open'),
called as (
    update workflows_attempt a set finished_at = %s, error = %s
    from u where a.entity_id = %s and a.frame_id = u.id and a.seq = %s and a.finished_at is null)
"""

_ANNOUNCED = """
announced as (
    insert into workflows_attempt (entity_id, frame_id, seq, number, idempotency_key, started_at)
    select %s, u.id, %s, %s, %s, %s from u),
counted as (
    update workflows_steprun r set attempts = %s
    from u where r.entity_id = %s and r.frame_id = u.id and r.seq = %s and r.attempts <> %s)
"""

_MOVE = """
u as (
    update workflows_frame f set step = %s, action = %s, visits = %s, actions = %s, sends = %s, seq = %s, claims = 0,
        attempt = %s, retry = %s, open_effect = %s, status = %s, state_version = f.state_version + 1,
        lease_until = clock_timestamp() + make_interval(secs => %s)
    {source}
    where f.id = %s and f.entity_id = %s and f.state_version = %s and f.status = 'running'
    returning f.id)
"""

_STATUS = """
x as (
    update workflows_execution set status = %s, reason = %s, error = %s, context = %s, context_seq = %s,
        state_version = state_version + 1, status_at = boostflow_now(),
        finished_at = case when %s then boostflow_now() end
    where id = %s and entity_id = %s and status = 'running'
    returning id)
"""

_EVENT = """
told as (
    insert into workflows_event (entity_id, execution_id, kind, status, reason, actor, data, at)
    select %s, x.id, %s, %s, %s, 'engine', %s, boostflow_now() from x, u)
"""


def flush(*, close: bool, announce: bool) -> str:
    """Move the frame, insert step runs, record a finished effect, announce the next: one commit; 1 row or stale."""
    parts = [_MOVE.format(source=""), _RUNS]
    parts += [_CLOSED] if close else []
    parts += [_ANNOUNCED] if announce else []
    return "with" + ",".join(parts) + "select id from u"


def settle(*, close: bool) -> str:
    """`flush` together with the execution's status and its event. Where only one of the two rows is as expected
    the statement fails (division by zero) and nothing is written; 0 rows: stale."""
    parts = [_STATUS, _MOVE.format(source="from x"), _RUNS]
    parts += [_CLOSED] if close else []
    parts += [_EVENT]
    return (
        "with"
        + ",".join(parts)
        + (
            "select count(*) / (case when count(*) = (select count(*) from x) then 1 else count(*) end) from u"
        )
    )


FLUSH = {
    (close, announce): flush(close=close, announce=announce)
    for close in (False, True)
    for announce in (False, True)
}
SETTLE = {close: settle(close=close) for close in (False, True)}
