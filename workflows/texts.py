"""The no-op that marks a text for translation in modules that know no Django."""

from __future__ import annotations

from typing import LiteralString


def N_(text: LiteralString) -> LiteralString:
    """Mark a text for translation; the edges translate it when a person sees it."""
    return text
