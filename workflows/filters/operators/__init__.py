"""The operators; importing this package registers all of them."""

from __future__ import annotations

from workflows.filters.operators import date, number, presence, text

__all__ = ["date", "number", "presence", "text"]
