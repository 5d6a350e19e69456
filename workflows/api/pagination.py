"""Cursors: opaque positions in a stable order, so that rows that come or go shift no page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from workflows.errors import N_, InvalidInput
from workflows.selectors import Page, Position

T = TypeVar("T", bound=BaseModel)
Reader = Callable[[Any], Any]


class PageQuery(BaseModel):
    """Query parameters of every list; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")

    cursor: Annotated[str, Field(max_length=400, description="`next_cursor` of the page before.")] | None = (
        None
    )
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class PageOut(BaseModel, Generic[T]):
    """One page. `next_cursor` is null on the last one."""

    results: list[T]
    next_cursor: str | None


def encode(position: Position | None) -> str | None:
    """A position as an opaque text."""
    if position is None:
        return None
    plain = [value.isoformat() if isinstance(value, datetime) else value for value in position]
    return base64.urlsafe_b64encode(json.dumps(plain, default=str).encode()).decode().rstrip("=")


def decode(cursor: str | None, *readers: Reader) -> Position | None:
    """The position of a cursor; `readers` make its values. InvalidInput for what `encode` never made."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(values, list) or len(values) != len(readers):
            raise ValueError(cursor)
        return tuple(read(value) for read, value in zip(readers, values, strict=True))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(fields={"cursor": N_("The cursor is not one of this list.")}) from error


def read_instant(value: Any) -> datetime:
    """An instant that `encode` wrote."""
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    return moment


def read_uuid(value: Any) -> UUID:
    """An id that `encode` wrote."""
    return UUID(value)


def read_integer(value: Any) -> int:
    """A whole number that a column can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise ValueError(value)
    return value


def answer(page: Page, render: Callable[[dict[str, Any]], BaseModel]) -> dict[str, Any]:
    """The page as JSON-ready data."""
    return {
        "results": [render(row).model_dump(mode="json") for row in page.rows],
        "next_cursor": encode(page.after),
    }
