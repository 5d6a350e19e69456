"""JSON values as HTML that opens and closes without a script."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

DEPTH = 12
ITEMS = 200


def tree(value: Any, *, opened: int = 1, depth: int = 0) -> SafeString:
    """A value as nested lists; the outer `opened` levels are unfolded, and depth and length are bounded."""
    if isinstance(value, dict) and value and depth < DEPTH:
        return _branch(sorted(value.items()), len(value), opened, depth)
    if isinstance(value, list) and value and depth < DEPTH:
        return _branch(enumerate(value), len(value), opened, depth)
    kind = "text" if isinstance(value, str) else "null" if value is None else "other"
    shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, default=str)
    return format_html('<span class="bf-leaf bf-{}">{}</span>', kind, shown)


def _branch(pairs: Iterable[tuple[Any, Any]], size: int, opened: int, depth: int) -> SafeString:
    shown = [pair for _index, pair in zip(range(ITEMS), pairs, strict=False)]
    items = format_html_join("", "<li>{}</li>", ((_item(key, value, opened, depth),) for key, value in shown))
    if size <= ITEMS:
        return format_html('<ul class="bf-tree">{}</ul>', items)
    rest = ngettext("%(count)d more", "%(count)d more", size - ITEMS) % {"count": size - ITEMS}
    return format_html('<ul class="bf-tree">{}<li class="bf-muted">… {}</li></ul>', items, rest)


def _item(key: Any, value: Any, opened: int, depth: int) -> SafeString:
    if not isinstance(value, dict | list) or not value:
        return format_html(
            '<span class="bf-key">{}</span> {}', key, tree(value, opened=opened, depth=depth + 1)
        )
    return format_html(
        '<details{}><summary><span class="bf-key">{}</span> <span class="bf-muted">{}</span></summary>{}</details>',
        " open" if depth + 1 < opened else "",
        key,
        _size(value),
        tree(value, opened=opened, depth=depth + 1),
    )


def _size(value: dict[str, Any] | list[Any]) -> str:
    if isinstance(value, dict):
        return ngettext("%(count)d field", "%(count)d fields", len(value)) % {"count": len(value)}
    return ngettext("%(count)d item", "%(count)d items", len(value)) % {"count": len(value)}


def pretty(value: Any) -> str:
    """JSON text for reading and copying."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str) if value is not None else _("none")
