"""Registers the installation's system checks."""

from django.apps import AppConfig


class BoostflowConfig(AppConfig):
    """The installation: settings, logging, health, metrics, checks."""

    name = "boostflow"

    def ready_(self) -> None:
        """Import the checks, which register themselves."""
        from boostflow import checks  # noqa: F401
