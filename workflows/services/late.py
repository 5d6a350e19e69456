"""A call that came back after its execution had moved on: kept on its step run, moving nothing."""

from __future__ import annotations

from workflows import tenancy
from workflows.models import FINAL, Attempt, Execution, StepRun
from workflows.services.turn import Closing, Turn

HARMLESS = ("not_sent", "answered_retry")
"""Kinds of failure after which nothing was done (decision 13)."""


def record(turn: Turn) -> None:
    """Write the result on the announced step run, unless a person has closed it meanwhile."""
    closing = turn.closing
    if closing is None:
        return
    with tenancy.entity(turn.entity_id):
        Attempt.objects.filter(
            entity_id=turn.entity_id, frame_id=turn.frame_id, seq=closing.seq, finished_at__isnull=True
        ).update(finished_at=closing.finished_at, error=closing.error)
        StepRun.objects.filter(
            entity_id=turn.entity_id,
            frame_id=turn.frame_id,
            seq=closing.seq,
            status__in=["open", "cancelled"],
            finished_at__isnull=True,
        ).update(
            status=_status(turn, closing),
            output=closing.output,
            error=closing.error,
            finished_at=closing.finished_at,
        )


def _status(turn: Turn, closing: Closing) -> str:
    """How the call ended. One that was to be made again, or whose outcome is unknown, ends with its execution."""
    if closing.status == "waiting":
        return "done"
    if closing.status != "open" or not _ended(turn):
        return closing.status
    return "cancelled" if _doubtful(turn, closing.seq) else "failed"


def _ended(turn: Turn) -> bool:
    return Execution.objects.filter(pk=turn.execution_id, entity_id=turn.entity_id, status__in=FINAL).exists()


def _doubtful(turn: Turn, seq: int) -> bool:
    attempts = Attempt.objects.filter(entity_id=turn.entity_id, frame_id=turn.frame_id, seq=seq)
    return attempts.exclude(error__kind__in=HARMLESS).exists()
