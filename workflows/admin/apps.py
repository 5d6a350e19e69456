"""The console in place of Django's default admin."""

from __future__ import annotations

from importlib import import_module

from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    """Serves `ConsoleSite`; its pages are registered after those of all apps, some of which they replace."""

    default_site = "workflows.admin.site.ConsoleSite"

    def ready(self) -> None:
        """Register what the apps bring, then ours."""
        super().ready()
        import_module("workflows.admin.pages")
