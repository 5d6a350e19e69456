"""Resume executions that stand in `paused_error`, in place."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from workflows.management.acting import ActingCommand
from workflows.models import Entity
from workflows.services import acts


class Command(ActingCommand):
    """`resume_executions --entity 101 --reason unavailable --why "CRM is back" --commit`."""

    help = "Resume paused executions: retry, done or skip. Dry run unless --commit; by default younger than 24 h."
    statuses = ("paused_error",)
    verb = "resumed"
    youngest_only = True

    def add_arguments(self, parser: CommandParser) -> None:
        """How to go on, besides the selection."""
        super().add_arguments(parser)
        parser.add_argument("--as", dest="how", choices=["retry", "done", "skip"], default="retry")
        parser.add_argument("--output", help="JSON object, for --as done")
        parser.add_argument("--to-version", type=int, help="move to this published version first")

    def act(self, entity: Entity, execution_id: UUID, options: dict[str, Any]) -> None:
        """The same service as the interface's."""
        acts.resume(
            entity=entity,
            execution_id=execution_id,
            how=options["how"],
            actor="command:resume_executions",
            reason=options["why"],
            output=_output(options["output"]),
            version=options["to_version"],
        )


def _output(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise CommandError(f"--output: {problem}") from None
    if not isinstance(found, dict):
        raise CommandError(_("--output is a JSON object."))
    return found
