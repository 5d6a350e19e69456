"""How text is compared: NFC, case folding, without marks, trimmed; and how it is split into words."""

from __future__ import annotations

import re
import unicodedata

from workflows.filters.patterns import compile_pattern, encodable

_FOLDED_WORD = re.compile(r"[^\W\d_]+")
_EXACT_WORD = compile_pattern(r"\pL[\pL\pM]*")


def fold(text: str) -> str:
    """`"  SÍ "` and `"si"` fold alike; ñ is an n with a mark."""
    if text.isascii():
        return text.lower().strip()
    folded = unicodedata.normalize("NFC", text).casefold()
    decomposed = unicodedata.normalize("NFD", folded)
    bare = "".join(char for char in decomposed if unicodedata.category(char)[0] != "M")
    return unicodedata.normalize("NFC", bare).strip()


def words(text: str, exact: bool) -> list[str]:
    """The runs of letters in reading order; digits, signs and spaces separate."""
    if exact:
        found: list[str] = _EXACT_WORD.findall(encodable(text))
        return found
    return _FOLDED_WORD.findall(fold(text))
