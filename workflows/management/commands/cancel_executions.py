"""End executions at once, whatever they wait for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from workflows.management.acting import ActingCommand
from workflows.models import ACTIVE, Entity
from workflows.services import acts


class Command(ActingCommand):
    """`cancel_executions --entity 101 --workflow ID --why "campaign withdrawn" --commit`."""

    help = "Cancel active executions. Dry run unless --commit."
    statuses = ACTIVE
    verb = "cancelled"

    def act(self, entity: Entity, execution_id: UUID, options: dict[str, Any]) -> None:
        """The same service as the interface's."""
        acts.cancel(
            entity=entity,
            execution_id=execution_id,
            actor="command:cancel_executions",
            reason=options["why"],
        )
