"""How values become text: objects and lists as JSON, booleans as true and false, null never."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from markupsafe import Markup, escape

from workflows.errors import N_
from workflows.templating.errors import TemplateProblem

MAX_OUTPUT: Final = 131_072
"""Bytes of a rendered text, and the most that one value may print."""


class JsonText(str):
    """Text already escaped for the inside of a JSON string."""

    __slots__ = ()


def to_text(value: Any) -> str:
    """The text of a value that is not null."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise TemplateProblem(N_("A number is too large."))
        return str(value)
    if isinstance(value, range):
        return f"{value.start}..{value.stop - 1}"
    if isinstance(value, Mapping | list | tuple):
        _refuse_large(value)
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    raise TemplateProblem(N_("A value of this kind cannot be printed."))


def escape_html(value: Any) -> str:
    """For e-mail and pages; what is already markup stays."""
    return value if isinstance(value, Markup) else escape(to_text(value))


def escape_json(value: Any) -> str:
    """For a place inside a JSON document: text as the inside of a string, everything else as JSON."""
    if isinstance(value, JsonText):
        return value
    text = to_text(value)
    return json.dumps(text, ensure_ascii=False)[1:-1] if isinstance(value, str) else text


def _refuse_large(value: Any) -> None:
    """Count before printing: a list can hold one large object thousands of times."""
    left = MAX_OUTPUT
    pending = [value]
    while pending:
        item = pending.pop()
        left -= len(item) if isinstance(item, str) else 1
        if isinstance(item, Mapping):
            left -= sum(len(key) for key in item)
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        if left < 0 or len(pending) > MAX_OUTPUT:
            raise TemplateProblem(N_("The rendered text is too long."))
