"""The first look at a document: only JSON that can be stored, of bounded depth and size, is read further."""

from __future__ import annotations

import math
from typing import Any

from workflows.definitions.violations import Findings, Path
from workflows.errors import N_

MAX_DEPTH = 64
MAX_VALUES = 50_000
MAX_TEXT = 65_536
MAX_NAME = 200
MAX_INTEGER = 2**63


def check_document(document: Any, findings: Findings) -> bool:
    """Whether the document may be read further. Walks without recursion, at most `MAX_VALUES` values."""
    stack: list[tuple[Path, Any]] = [((), document)]
    seen = 0
    while stack:
        path, value = stack.pop()
        seen += 1
        if seen > MAX_VALUES:
            findings.add(
                None, "too_large", (), N_("The document has more than {limit} values."), limit=MAX_VALUES
            )
            return False
        if len(path) > MAX_DEPTH:
            findings.add(
                None, "too_deep", path, N_("The document nests deeper than {limit} levels."), limit=MAX_DEPTH
            )
            return False
        if isinstance(value, dict):
            stack.extend(
                ((*path, key), item) for key, item in value.items() if _check_name(key, path, findings)
            )
        elif isinstance(value, list):
            stack.extend(((*path, index), item) for index, item in enumerate(value))
        else:
            _check_scalar(value, path, findings)
    return not findings.broken


def _check_name(key: Any, path: Path, findings: Findings) -> bool:
    if isinstance(key, str) and len(key) <= MAX_NAME and _storable(key):
        return True
    findings.add(
        None,
        "field_name",
        path,
        N_("The names of fields are texts of at most {limit} characters that can be stored."),
        limit=MAX_NAME,
    )
    return False


def _check_scalar(value: Any, path: Path, findings: Findings) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            findings.add(
                None, "text_too_long", path, N_("The text has more than {limit} characters."), limit=MAX_TEXT
            )
        elif not _storable(value):
            findings.add(
                None, "text_not_storable", path, N_("The text has a character that cannot be stored.")
            )
    elif isinstance(value, int):
        if not -MAX_INTEGER < value < MAX_INTEGER:
            findings.add(None, "number_too_large", path, N_("The number is too large."))
    elif not (isinstance(value, float) and math.isfinite(value)):
        findings.add(
            None, "not_json", path, N_("The value is not JSON; write dates and times as texts in quotes.")
        )


def _storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
