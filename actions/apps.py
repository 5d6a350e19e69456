"""Plug-ins: actions."""

from django.apps import AppConfig


class ActionsConfig(AppConfig):
    """Registers the actions."""

    name = "actions"
