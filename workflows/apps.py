"""The domain and the durable core."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkflowsConfig(AppConfig):
    """Models, services, API, console and commands."""

    name = "workflows"
    verbose_name = _("Workflows")
