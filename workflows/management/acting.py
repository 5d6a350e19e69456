"""Commands that act on many executions: the same selection, dry run, progress and exit code for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from pydantic_core import PydanticCustomError

from workflows import clock, tenancy
from workflows.contracts import parse_duration
from workflows.errors import WorkflowError
from workflows.management.output import find_entity
from workflows.models import Entity, Execution


class ActingCommand(BaseCommand, ABC):
    """Chooses executions of one entity and does one act to each; only with --commit."""

    statuses: ClassVar[tuple[str, ...]]
    verb: ClassVar[str]
    youngest_only: ClassVar[bool] = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Which executions, why, and whether it is meant."""
        parser.add_argument("--entity", required=True, help="the CRM's id of the entity")
        parser.add_argument(
            "--execution", action="append", default=[], type=UUID, help="an id; may be repeated"
        )
        parser.add_argument("--workflow", type=UUID, help="only executions of this workflow")
        parser.add_argument("--contact", help="only executions of this contact")
        parser.add_argument("--reason", help="only executions that stand for this reason")
        parser.add_argument(
            "--younger-than",
            default="PT24H" if self.youngest_only else None,
            help="ISO 8601 duration; only executions that have stood for less (default: %(default)s)",
        )
        parser.add_argument("--why", default="", help="kept with the act; needed with --commit")
        parser.add_argument(
            "--commit", action="store_true", help="do it; without it only say what would be done"
        )

    @abstractmethod
    def act(self, entity: Entity, execution_id: UUID, options: dict[str, Any]) -> None:
        """Do the act to one execution."""

    def handle(self, *args: Any, **options: Any) -> None:
        """A line an execution; exit code 1 if any was refused."""
        entity = find_entity(options["entity"])
        if options["commit"] and not options["why"].strip():
            raise CommandError(_("--commit needs --why: the reason is kept with every act."))
        chosen = self._choose(entity, options)
        done, refused = self._each(chosen, lambda pk: self.act(entity, pk, options), commit=options["commit"])
        word = self.verb if options["commit"] else _("would be chosen; add --commit to act")
        self.stdout.write(f"{done} {word}, {refused} {_('refused')}")
        if refused:
            raise CommandError(_("Some executions were refused; see the lines above."))

    def _choose(self, entity: Entity, options: dict[str, Any]) -> list[tuple[UUID, str, str, timedelta]]:
        with tenancy.entity(entity.pk):
            now = clock.now()
            rows = Execution.objects.filter(entity_id=entity.pk, status__in=self.statuses)
            for name, column in (
                ("workflow", "workflow_id"),
                ("contact", "contact_id"),
                ("reason", "reason"),
            ):
                if options[name]:
                    rows = rows.filter(**{column: options[name]})
            if options["execution"]:
                rows = rows.filter(pk__in=options["execution"])
            elif options["younger_than"]:
                rows = rows.filter(status_at__gt=now - _duration(options["younger_than"]))
            found = rows.order_by("status_at").values_list("pk", "status", "reason", "status_at")
            return [(pk, status, reason, now - since) for pk, status, reason, since in found]

    def _each(
        self, chosen: list[tuple[UUID, str, str, timedelta]], act: Callable[[UUID], None], *, commit: bool
    ) -> tuple[int, int]:
        done = refused = 0
        for number, (pk, status, reason, age) in enumerate(chosen, start=1):
            line = f"{number}/{len(chosen)} {pk} {status} {reason or '-'} {str(age).partition('.')[0]}"
            try:
                if commit:
                    act(pk)
            except WorkflowError as problem:
                refused += 1
                self.stderr.write(f"{line} {problem.code}: {_(problem.detail)}")
                continue
            done += 1
            self.stdout.write(line)
        return done, refused


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except PydanticCustomError as problem:
        raise CommandError(f"--younger-than: {problem.message()}") from None
