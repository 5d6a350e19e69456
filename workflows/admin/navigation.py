"""django-unfold's settings: the console's names, its side bar and its style sheet."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def is_superuser(request: HttpRequest) -> bool:
    """Whether the accounts' pages are shown."""
    return bool(request.user.is_active and request.user.is_superuser)


def style_sheet(request: HttpRequest) -> str:
    """Ours, beside unfold's."""
    return static("workflows/console.css")


def icon(request: HttpRequest) -> str:
    """Shown by the browser beside the title."""
    return static("workflows/icon.svg")


def _item(title: Any, icon: str, table: str, permission: str | None = None) -> dict[str, Any]:
    item = {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{table}_changelist")}
    return item if permission is None else {**item, "permission": permission}


_SUPERUSER = "workflows.admin.navigation.is_superuser"

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "boostflow",
    "SITE_HEADER": "boostflow",
    "SITE_SYMBOL": "account_tree",
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_LANGUAGES": True,
    "STYLES": [style_sheet],
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": icon}],
    "SIDEBAR": {
        "navigation": [
            {
                "title": _("Workflows"),
                "items": [
                    _item(_("Executions"), "play_circle", "workflows_execution"),
                    _item(_("Workflows"), "account_tree", "workflows_workflow"),
                    _item(_("Messages"), "chat", "workflows_inboundmessage"),
                    _item(_("Incidents"), "warning", "workflows_incident"),
                ],
            },
            {
                "title": _("Access"),
                "separator": True,
                "items": [
                    _item(_("Entities"), "apartment", "workflows_entity", _SUPERUSER),
                    _item(_("API keys"), "key", "workflows_apikey", _SUPERUSER),
                    _item(_("People"), "person", "auth_user", _SUPERUSER),
                    _item(_("Memberships"), "badge", "workflows_membership", _SUPERUSER),
                ],
            },
        ],
    },
}
