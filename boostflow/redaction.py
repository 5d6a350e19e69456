"""Keeps secrets out of the log: by the name of a field, and by what a credential looks like inside a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

HIDDEN = "[redacted]"
MAX_DEPTH = 6

_SECRET_NAMES = re.compile(
    r"(^|[_-])(pass(word|wd|phrase)?|secret|token|authorization|api[_-]?key|secret[_-]?key|private[_-]?key|jwt|cookies?"
    r"|session[_-]?(id|key)|credentials?)$",
    re.IGNORECASE,
)
_IN_TEXT = (
    (re.compile(r"\b(Bearer|Basic|Token)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
    (re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), rf"\1:{HIDDEN}@"),
)


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: the event without secrets."""
    for key, value in event.items():
        event[key] = _clean(key, value, MAX_DEPTH)
    return event


def redact_text(text: str) -> str:
    """A text without bearer credentials, JWTs and passwords in addresses."""
    for pattern, replacement in _IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _clean(key: str, value: Any, depth: int) -> Any:
    if value and _SECRET_NAMES.search(key):
        return HIDDEN
    if isinstance(value, str):
        return redact_text(value)
    if depth == 0:
        return value
    if isinstance(value, Mapping):
        return {name: _clean(str(name), item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean("", item, depth - 1) for item in value]
    return value
