"""Create a tenant."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from workflows.management.output import reported
from workflows.services.entities import create_entity


class Command(BaseCommand):
    """`create_entity 101 --name "Clínica" --timezone America/Guatemala`; one that exists stays as it is."""

    help = "Create an entity (tenant) under the CRM's id; one that exists is left as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        """The CRM's id, and what the engine must know of it."""
        parser.add_argument("id", help="the CRM's id of the entity")
        parser.add_argument("--name", required=True)
        parser.add_argument("--timezone", required=True, help="IANA name, for example America/Guatemala")
        parser.add_argument("--system-user", default="", help="CRM user in whose name automations act")
        parser.add_argument("--system-employee", default="", help="that user's employee id")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line."""
        if options["timezone"] not in available_timezones():
            raise CommandError(_("%(name)s is no IANA time zone.") % {"name": options["timezone"]})
        with reported():
            entity, created = create_entity(
                external_id=options["id"],
                name=options["name"],
                timezone=options["timezone"],
                system_user_id=options["system_user"],
                system_employee_id=options["system_employee"],
            )
        self.stdout.write(f"{'created' if created else 'exists'} {entity.external_id} {entity.name}")
