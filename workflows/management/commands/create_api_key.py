"""Create a bearer key and show its secret, once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workflows.management.output import find_entity, reported
from workflows.models import Role
from workflows.services.entities import create_api_key


class Command(BaseCommand):
    """`create_api_key --entity 101 --name crm --role events`: the secret alone on stdout, the rest on stderr."""

    help = "Create an API key; its secret is printed once and stored nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        """One entity, or the platform."""
        scope = parser.add_mutually_exclusive_group(required=True)
        scope.add_argument("--entity", help="the CRM's id of the one entity that the key acts in")
        scope.add_argument(
            "--platform",
            nargs="*",
            metavar="ID",
            help="a key that names an entity in each request: one of these CRM ids, or any if none is given",
        )
        parser.add_argument("--name", required=True, help="who uses it")
        parser.add_argument("--role", required=True, choices=Role.values)

    def handle(self, *args: Any, **options: Any) -> None:
        """The secret on stdout, so that a script can take it."""
        entity = find_entity(options["entity"]) if options["entity"] else None
        listed = [find_entity(external_id) for external_id in options["platform"] or ()]
        with reported():
            key, secret = create_api_key(
                entity=entity, name=options["name"], role=options["role"], entities=listed or None
            )
        self.stderr.write(
            f"created {key.name} {key.role} {entity.external_id if entity else 'platform'}; shown once:"
        )
        self.stdout.write(secret)
