"""The app of triggers: importing its modules registers them."""

from __future__ import annotations

from django.apps import AppConfig

from workflows.contracts import import_submodules


class TriggersConfig(AppConfig):
    """Registers every module below `triggers`."""

    name = "triggers"

    def ready(self) -> None:
        import_submodules(self.name)
