"""The app of actions: importing its modules registers them."""

from __future__ import annotations

from django.apps import AppConfig

from workflows.contracts import import_submodules


class ActionsConfig(AppConfig):
    """Registers every module below `actions`."""

    name = "actions"

    def ready(self) -> None:
        import_submodules(self.name)
