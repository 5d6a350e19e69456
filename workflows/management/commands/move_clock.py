"""Move the clock of waits, delays and schedules, in demo and test installations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_duration
from django.utils.translation import gettext as _

from workflows.management.output import reported
from workflows.models import Clock
from workflows.services.entities import set_clock_offset


class Command(BaseCommand):
    """`move_clock --by PT25H`, as often as needed, then `move_clock --reset`."""

    help = (
        "Move the engine's clock forward, or back to real time; refused outside demo and test installations."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """How far, or back."""
        move = parser.add_mutually_exclusive_group(required=True)
        move.add_argument(
            "--by", metavar="ISO8601", help="a duration such as PT25H or P3D, added to the present offset"
        )
        move.add_argument("--reset", action="store_true", help="back to real time")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line: the new offset."""
        present = Clock.objects.filter(id=1).values_list("offset", flat=True).first() or timedelta(0)
        offset = timedelta(0) if options["reset"] else present + _duration(options["by"])
        with reported():
            set_clock_offset(offset=offset)
        self.stdout.write(f"offset {offset}")


def _duration(text: str) -> timedelta:
    found = parse_duration(text) if text.upper().startswith("P") else None
    if found is None or found <= timedelta(0):
        raise CommandError(_("%(text)s is no ISO 8601 duration above zero.") % {"text": text})
    return found
