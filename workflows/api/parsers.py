"""Bodies: JSON of bounded size and depth, made of what PostgreSQL can store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any, Final, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from workflows import jsontext
from workflows.errors import N_, InvalidInput, TooLarge

DEFAULT_LIMIT: Final = 1_048_576
MAX_DEPTH: Final = 64


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


def storable(value: Any) -> Any:
    """The value with U+FFFD for what PostgreSQL cannot store; InvalidInput if it nests too deep."""
    _bound_depth(value, 0)
    return jsontext.storable(value)


def _bound_depth(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInput(N_("The body nests too deep."), limit=MAX_DEPTH)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _bound_depth(item, depth + 1)
