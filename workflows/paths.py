"""Dotted paths such as `contact.tags.0` into JSON-like data; shared by filters and context."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

MAX_PATH_LENGTH: Final = 200
_FORBIDDEN = frozenset("*{}[]|\"'")

Path = tuple[tuple[str, int], ...]
"""Each segment as text and as a list index; the index is -1 where the text is none."""


class Missing(Enum):
    """What a lookup returns for a field that is not there; null is a value, this is none."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING


def parse_path(text: str) -> Path:
    """Split a path once, for many lookups; a leading `context.` is dropped. ValueError when it is no path."""
    if not text or len(text) > MAX_PATH_LENGTH or not _FORBIDDEN.isdisjoint(text):
        raise ValueError(text)
    segments = text.split(".")
    if segments[0] == "context" and len(segments) > 1:
        del segments[0]
    if any(not segment or segment != segment.strip() for segment in segments):
        raise ValueError(text)
    return tuple((segment, _index(segment)) for segment in segments)


def find(data: Mapping[str, Any], path: Path) -> Any:
    """The value at the path, or MISSING. Objects are read by key, lists by index; nothing else is entered."""
    value: Any = data
    for key, index in path:
        if isinstance(value, dict | Mapping):
            if key not in value:
                return MISSING
            value = value[key]
        elif isinstance(value, list | tuple) and 0 <= index < len(value):
            value = value[index]
        else:
            return MISSING
    return value


def _index(segment: str) -> int:
    return int(segment) if segment.isascii() and segment.isdigit() and len(segment) < 10 else -1
