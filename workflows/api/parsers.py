"""Bodies: JSON of bounded size and depth, made of what PostgreSQL can store."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any, Final, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from workflows.errors import N_, InvalidInput, TooLarge

DEFAULT_LIMIT: Final = 1_048_576
MAX_DEPTH: Final = 64
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT: Final = "\ufffd"


class BoundedJSONParser(BaseParser):
    """`application/json`, at most the view's `body_limit` bytes; the limit holds before anything is parsed."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. ParseError for what is no JSON, TooLarge past the limit."""
        view = (parser_context or {}).get("view")
        limit: int = getattr(view, "body_limit", DEFAULT_LIMIT)
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(limit=limit)
        try:
            return json.loads(raw.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise ParseError(N_("The body is no valid JSON.")) from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def storable(value: Any, depth: int = 0) -> Any:
    """The value with U+FFFD for what PostgreSQL cannot store (NUL, lone surrogates).

    InvalidInput if it nests too deep.
    """
    if depth > MAX_DEPTH:
        raise InvalidInput(N_("The body nests too deep."), limit=MAX_DEPTH)
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, dict):
        return {storable(name): storable(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value]
    return value
