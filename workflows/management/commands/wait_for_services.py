"""Wait until database, migrations and broker are in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from kombu import Connection

PAUSE_SECONDS = 0.5
CONNECT_SECONDS = 2


class Command(BaseCommand):
    """`wait_for_services --timeout 60`: exit code 1 when the time is over."""

    help = "Wait until the database answers with every migration applied and the broker answers."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """A limit."""
        parser.add_argument("--timeout", type=float, default=60.0, help="seconds (60)")

    def handle(self, *args: Any, **options: Any) -> None:
        """A line per service, once it is there."""
        until = time.monotonic() + options["timeout"]
        for name, check in PARTS.items():
            while (problem := check()) is not None:
                if time.monotonic() >= until:
                    raise CommandError(_("%(name)s: %(problem)s") % {"name": name, "problem": problem})
                time.sleep(PAUSE_SECONDS)
            self.stdout.write(f"ok {name}")


def database() -> str | None:
    """What keeps the database from answering."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError as problem:
        connection.close()
        return str(problem).strip()
    return None


def migrations() -> str | None:
    """How many migrations are missing."""
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError as problem:
        connection.close()
        return str(problem).strip()
    return f"{missing} not applied" if missing else None


def broker() -> str | None:
    """What keeps the broker from answering."""
    try:
        with Connection(settings.REDIS_URL, connect_timeout=CONNECT_SECONDS) as conn:
            conn.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS)
    except Exception as problem:  # whatever the transport raises
        return str(problem).strip() or type(problem).__name__
    return None


PARTS: dict[str, Callable[[], str | None]] = {
    "database": database,
    "migrations": migrations,
    "broker": broker,
}
