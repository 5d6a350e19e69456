"""Tell the workers after commit that something can run. A hint may be lost, repeated or late: the sweep finds it."""

from __future__ import annotations

from uuid import UUID

import structlog
from celery import current_app
from django.db import transaction

log = structlog.get_logger(__name__)

ADVANCE = "workflows.advance"


def hint(*, entity_id: int, frame_id: UUID, state_version: int, queue: str = "interactive") -> None:
    """After the present transaction commits, ask `queue` to advance the frame, if it is still at `state_version`."""
    transaction.on_commit(lambda: send(entity_id, frame_id, state_version, queue))


def send(entity_id: int, frame_id: UUID, state_version: int, queue: str) -> None:
    """Send now; a broker that is down costs a log line and the sweep's interval, never the work."""
    try:
        current_app.send_task(
            ADVANCE,
            args=(entity_id, str(frame_id), state_version),
            queue=queue,
            ignore_result=True,
            retry=False,
        )
    except Exception as problem:  # whatever the transport raises: truth is in PostgreSQL
        log.warning("hint_lost", frame_id=str(frame_id), problem=type(problem).__name__)
