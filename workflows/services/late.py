"""A call that came back after its execution had moved on: kept on its step run, moving nothing."""

from __future__ import annotations

from workflows import tenancy
from workflows.models import Attempt, StepRun
from workflows.services.turn import Turn


def record(turn: Turn) -> None:
    """Write the result on the announced step run, unless a person has closed it meanwhile."""
    closing = turn.closing
    if closing is None:
        return
    status = "done" if closing.status == "waiting" else closing.status
    with tenancy.entity(turn.entity_id):
        StepRun.objects.filter(
            entity_id=turn.entity_id,
            frame_id=turn.frame_id,
            seq=closing.seq,
            status__in=["open", "cancelled"],
            finished_at__isnull=True,
        ).update(status=status, output=closing.output, error=closing.error, finished_at=closing.finished_at)
        Attempt.objects.filter(
            entity_id=turn.entity_id, frame_id=turn.frame_id, seq=closing.seq, finished_at__isnull=True
        ).update(finished_at=closing.finished_at, error=closing.error)
