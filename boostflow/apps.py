"""Registers the installation's system checks, and the actions' tasks once every action is known."""

from django.apps import AppConfig


class BoostflowConfig(AppConfig):
    """The installation: settings, logging, health, metrics, checks. Last in INSTALLED_APPS."""

    name = "boostflow"

    def ready(self) -> None:
        """Import the checks, which register themselves; give each action its task."""
        from boostflow import checks  # noqa: F401
        from workflows import tasks

        tasks.register_actions()
