"""Filters of our own, where python-liquid's print Python, read the clock, or are not bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from liquid.context import RenderContext
from liquid.exceptions import FilterArgumentError
from liquid.filter import with_context
from markupsafe import Markup, escape

from workflows.templating.stringify import MAX_OUTPUT, to_text

REMOVED: Final = ("safe", "escapejs", "base64_decode", "base64_url_safe_decode")
TEXT_FILTERS: Final = frozenset(
    (
        "append",
        "base64_encode",
        "base64_url_safe_encode",
        "capitalize",
        "downcase",
        "escape",
        "escape_once",
        "lstrip",
        "newline_to_br",
        "prepend",
        "remove",
        "remove_first",
        "remove_last",
        "replace",
        "replace_first",
        "replace_last",
        "rstrip",
        "split",
        "squish",
        "strip",
        "strip_html",
        "strip_newlines",
        "truncate",
        "truncatewords",
        "upcase",
        "url_decode",
        "url_encode",
    )
)
_TAG = re.compile(r"<[^<>]*>")
_DATE_FORMAT = re.compile(r"(?:[^%]|%-?[aAbBcdeHIjlmMpSuwWxXyYZz%])*")
_MAX_DIGITS = 15


def size(value: Any) -> int:
    """Length of a text or list."""
    return len(_sequence(value))


def first(value: Any) -> Any:
    """First item or character; nothing when there is none."""
    return next(iter(_sequence(value)), None)


def last(value: Any) -> Any:
    """Last item or character; nothing when there is none."""
    found = _sequence(value)
    return found[-1] if found else None


def join(value: Any, separator: Any = " ") -> str:
    """The items' texts with a separator between; nulls are left out."""
    items = value if isinstance(value, list | tuple) else [value]
    glue = separator if isinstance(separator, str) else to_text(separator)
    left = MAX_OUTPUT
    texts = []
    for item in items:
        if item is not None:
            texts.append(item if isinstance(item, Markup) else to_text(item))
            left -= len(texts[-1])
        if left < 0:
            raise FilterArgumentError("the joined text is too long", token=None)
    return glue.join(texts)


def sort_natural(value: Any, key: Any = None) -> list[Any]:
    """By the items' texts, or by the texts under a key, without case; items without one come last."""
    items = value if isinstance(value, list | tuple) else [value]
    by = [
        item if key is None else item.get(to_text(key)) if isinstance(item, dict) else None for item in items
    ]
    if any(isinstance(each, dict | list | tuple) for each in by):
        raise FilterArgumentError("sort_natural takes texts and numbers", token=None)
    ranked = sorted(
        range(len(items)), key=lambda at: (by[at] is None, "" if by[at] is None else to_text(by[at]).lower())
    )
    return [items[at] for at in ranked]


def map_items(value: Any, key: Any) -> list[Any]:
    """The key's value of each object; null where an object has none."""
    items = value if isinstance(value, list | tuple) else [value]
    return [item.get(to_text(key)) if isinstance(item, dict) else None for item in items]


def round_number(value: Any, digits: Any = 0) -> Any:
    """To at most 15 decimals."""
    places = int(digits)
    if not 0 <= places <= _MAX_DIGITS:
        raise FilterArgumentError("round takes 0 to 15 decimals", token=None)
    found = float(value) if isinstance(value, str) else value
    return round(found, places) if places else round(found)


def strip_html(value: str) -> str:
    """Without tags."""
    return str(_TAG.sub("", value))


@with_context
def newline_to_br(value: str, *, context: RenderContext) -> str:
    """Line breaks as `<br>`; in HTML the rest is escaped first."""
    source = escape(value) if context.autoescape else value
    return source.replace("\r\n", "\n").replace(
        "\n", Markup("<br />\n") if context.autoescape else "<br />\n"
    )


@with_context
def format_date(value: Any, pattern: Any, *, context: RenderContext) -> str:
    """An ISO 8601 date by a strftime pattern, in the entity's zone when it has an offset; never the clock."""
    text, layout = to_text(value), to_text(pattern)
    if len(layout) > 100 or _DATE_FORMAT.fullmatch(layout) is None:
        raise FilterArgumentError("date takes a strftime pattern such as %d/%m/%Y", token=None)
    try:
        when = datetime.fromisoformat(text)
        zone = context.get(["entity", "timezone"], token=None, default=None)
        if when.tzinfo is not None and isinstance(zone, str):
            when = when.astimezone(ZoneInfo(zone))
        return when.strftime(layout)
    except (ValueError, OverflowError, LookupError):
        raise FilterArgumentError(
            "date takes an ISO 8601 date; entity.now is the present one", token=None
        ) from None


OWN: Final[dict[str, Callable[..., Any]]] = {
    "size": size,
    "first": first,
    "last": last,
    "join": join,
    "sort_natural": sort_natural,
    "map": map_items,
    "round": round_number,
    "strip_html": strip_html,
    "newline_to_br": newline_to_br,
    "date": format_date,
}


def _sequence(value: Any) -> Any:
    if isinstance(value, str | list | tuple | range):
        return value
    raise FilterArgumentError("this filter takes a text or a list", token=None)
