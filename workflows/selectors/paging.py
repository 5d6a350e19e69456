"""Pages by position, not by offset: a row that comes or goes shifts no page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

Row = dict[str, Any]
Position = tuple[Any, ...]
"""The ordering values of the last row that was seen."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, and the position to go on from; None: there are no more."""

    rows: list[Row]
    after: Position | None


def read_page(
    rows: QuerySet[Any, Row], *, by: str, tie: str, descending: bool, after: Position | None, limit: int
) -> Page:
    """One page ordered by two columns; `by` bounds the scan, `tie` is unique, so that the order is stable."""
    if after is not None:
        word = "lt" if descending else "gt"
        beyond = Q(**{f"{by}__{word}": after[0]}) | Q(**{f"{tie}__{word}": after[1]})
        rows = rows.filter(Q(**{f"{by}__{word}e": after[0]}) & beyond)
    sign = "-" if descending else ""
    found = list(rows.order_by(f"{sign}{by}", f"{sign}{tie}")[: limit + 1])
    more = len(found) > limit
    page = found[:limit]
    return Page(page, (page[-1][by], page[-1][tie]) if more else None)
