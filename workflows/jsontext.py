"""JSON text of what PostgreSQL can store. Pure."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

REPLACEMENT: Final = "\ufffd"
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """The value with U+FFFD for what PostgreSQL cannot store: NUL and lone surrogates."""
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value


def dumps(value: Any) -> str:
    """JSON text for the engine's own statements; instants become RFC 3339."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    if "\\u0000" in text or not _encodable(text):
        return json.dumps(storable(json.loads(text)), ensure_ascii=False)
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
