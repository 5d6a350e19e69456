"""What a person does to an execution, whole: the act and all that follows from it in one transaction."""

from __future__ import annotations

from uuid import UUID

from workflows import tenancy
from workflows.models import Entity
from workflows.services import executions, inbound


def cancel(
    *, entity: Entity, execution_id: UUID, actor: str, reason: str, state_version: int | None = None
) -> None:
    """End an execution at once; messages that it had kept go on to their next destination (decision 12).

    NotFound, StaleState (the caller saw another `state_version`) or IllegalTransition (it has ended): nothing changed.
    """
    with tenancy.entity(entity.pk):
        kept = executions.cancel_execution(
            entity_id=entity.pk,
            execution_id=execution_id,
            actor=actor,
            reason=reason,
            state_version=state_version,
        )
        inbound.route_on(entity_id=entity.pk, message_ids=kept)
