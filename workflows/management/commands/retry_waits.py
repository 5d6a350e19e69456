"""Give the chat to executions that queue for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from workflows.management.acting import ActingCommand
from workflows.models import Entity
from workflows.services import acts


class Command(ActingCommand):
    """`retry_waits --entity 101 --contact c-7 --why "the other one is stuck" --commit`."""

    help = "Retry the wait of queued executions, oldest first. Dry run unless --commit."
    statuses = ("queued_wait_conflict",)
    verb = "retried"

    def act(self, entity: Entity, execution_id: UUID, options: dict[str, Any]) -> None:
        """The same service as the interface's; refused while another execution has the chat."""
        acts.retry_wait(
            entity=entity, execution_id=execution_id, actor="command:retry_waits", reason=options["why"]
        )
