"""Find what no living worker has in hand and hint again: with the broker emptied, this alone finishes everything."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from django.db import connection

from workflows import hints, tenancy
from workflows.services import timers
from workflows.services.incidents import raise_incident
from workflows.services.statements import LEASE_SECONDS

BATCH = 500

_EXPIRED = """
select entity_id, id from workflows_frame
where status = 'running' and lease_until < clock_timestamp() limit %s
"""
_RENEW = """
update workflows_frame set lease_until = clock_timestamp() + make_interval(secs => %s)
where entity_id = %s and id = any(%s) and status = 'running' and lease_until < clock_timestamp()
returning id, state_version
"""


_OLD_QUEUES = """
select w.entity_id, f.execution_id, w.contact_id, w.chat_id from workflows_wait w
    join workflows_frame f on f.id = w.frame_id and f.entity_id = w.entity_id
where w.state = 'queued' and w.created_at < boostflow_now() - interval '30 days'
    and not exists (select from workflows_incident i where i.entity_id = w.entity_id and i.closed_at is null
                    and i.cause = 'queued_wait_conflict:' || f.execution_id) limit 100
"""


def hint_expired(*, limit: int = BATCH) -> int:
    """Renew the lease of running frames that nobody works on, and hint each; how many."""
    with tenancy.fleet("sweep"), connection.cursor() as cursor:
        cursor.execute(_EXPIRED, [limit])
        found: dict[int, list[UUID]] = defaultdict(list)
        for entity_id, frame_id in cursor.fetchall():
            found[entity_id].append(frame_id)
    hinted = 0
    for entity_id, frames in found.items():
        for frame_id, state_version in tenancy.run_statement(
            entity_id, _RENEW, [LEASE_SECONDS, entity_id, frames]
        ):
            hints.send(entity_id, frame_id, state_version, "interactive")
            hinted += 1
    return hinted


def sweep() -> dict[str, int]:
    """One tick: due timers until none is left (bounded), then expired leases."""
    fired = 0
    for _ in range(10):
        taken = timers.fire_due()
        fired += taken
        if taken < timers.BATCH:
            break
    return {"timers": fired, "frames": hint_expired(), "queued_too_long": report_old_queues()}


def report_old_queues() -> int:
    """An incident for each chat whose queue is older than 30 days: only an operator ends it (decision 10)."""
    with tenancy.fleet("old queues"), connection.cursor() as cursor:
        cursor.execute(_OLD_QUEUES)
        found = cursor.fetchall()
    for entity_id, execution_id, contact_id, chat_id in found:
        with tenancy.entity(entity_id):
            raise_incident(
                entity_id=entity_id,
                cause=f"queued_wait_conflict:{execution_id}",
                reason="queued_wait_conflict",
                execution_id=execution_id,
                data={"contact": contact_id, "chat": chat_id},
            )
    return len(found)
