"""Every test of the interface starts with empty tables."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _empty_tables(clean: object) -> None:
    """See `clean`."""
