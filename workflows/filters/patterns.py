"""RE2, which searches in linear time whatever the pattern."""

from __future__ import annotations

from typing import Any, Final

import re2

from workflows.errors import N_
from workflows.filters.refusal import ValueRefused

MAX_PATTERN: Final = 500


def encodable(text: str) -> str:
    """RE2 reads UTF-8; a lone surrogate, which JSON can carry, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def compile_pattern(value: Any) -> Any:
    """The compiled pattern; ValueRefused with RE2's own reason."""
    if not isinstance(value, str):
        raise ValueRefused("value_type", N_("The value must be a text."))
    if not value:
        raise ValueRefused("value_blank", N_("The pattern must not be empty."))
    if len(value) > MAX_PATTERN:
        raise ValueRefused("value_too_long", N_("The pattern is too long."))
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return re2.compile(value, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ValueRefused(
            "pattern_refused", N_("RE2 refuses the pattern: {reason}"), params={"reason": _reason(error)}
        ) from None


def _reason(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(error)
