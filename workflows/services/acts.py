"""What a person does to an execution, whole: the act and all that follows from it in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from workflows import tenancy
from workflows.models import Entity
from workflows.services import conflicts, executions, inbound, resuming
from workflows.services.resuming import ResumeAs


def cancel(
    *, entity: Entity, execution_id: UUID, actor: str, reason: str, state_version: int | None = None
) -> None:
    """End an execution at once; messages that it had kept go on to their next destination (decision 12).

    NotFound, StaleState (the caller saw another `state_version`) or IllegalTransition (it has ended): nothing changed.
    """
    with tenancy.entity(entity.pk):
        ended = executions.cancel_execution(
            entity_id=entity.pk,
            execution_id=execution_id,
            actor=actor,
            reason=reason,
            state_version=state_version,
        )
        inbound.after_end(entity_id=entity.pk, ended=ended)


def resume(
    *,
    entity: Entity,
    execution_id: UUID,
    how: ResumeAs,
    actor: str,
    reason: str,
    state_version: int | None = None,
    output: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> None:
    """Let an execution go on that stands in `paused_error`; see `services.resuming`."""
    with tenancy.entity(entity.pk):
        resuming.resume_execution(
            entity_id=entity.pk,
            execution_id=execution_id,
            how=how,
            actor=actor,
            reason=reason,
            state_version=state_version,
            output=output,
            version=version,
        )


def retry_wait(
    *, entity: Entity, execution_id: UUID, actor: str, reason: str, state_version: int | None = None
) -> None:
    """Give the chat to an execution that queues for it; see `services.conflicts`."""
    with tenancy.entity(entity.pk):
        conflicts.retry_wait(
            entity_id=entity.pk,
            execution_id=execution_id,
            actor=actor,
            reason=reason,
            state_version=state_version,
        )
