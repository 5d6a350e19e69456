"""Plug-ins: triggers."""

from django.apps import AppConfig


class TriggersConfig(AppConfig):
    """Registers the triggers."""

    name = "triggers"
