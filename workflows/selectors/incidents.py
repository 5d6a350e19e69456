"""Reads of incidents."""

from __future__ import annotations

from workflows.models import Incident
from workflows.selectors.paging import Page, Position, read_page

COLUMNS = (
    "id",
    "cause",
    "reason",
    "execution_id",
    "count",
    "data",
    "opened_at",
    "last_at",
    "closed_at",
    "closed_by",
)


def list_incidents(*, entity_id: int, is_open: bool | None, after: Position | None, limit: int) -> Page:
    """Incidents, the latest to happen first."""
    rows = Incident.objects.filter(entity_id=entity_id)
    if is_open is not None:
        rows = rows.filter(closed_at__isnull=is_open)
    return read_page(rows.values(*COLUMNS), by="last_at", tie="id", descending=True, after=after, limit=limit)
