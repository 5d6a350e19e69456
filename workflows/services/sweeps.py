"""Find what no living worker has in hand and hint again: with the broker emptied, this alone finishes everything."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from django.db import connection

from workflows import hints, tenancy
from workflows.services import timers
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
    return {"timers": fired, "frames": hint_expired()}
