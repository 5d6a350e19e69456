"""How an operator refuses a value."""

from __future__ import annotations

from typing import Any


class ValueRefused(Exception):
    """The value does not suit the operator; `loc` leads to the wrong part of it."""

    def __init__(
        self, code: str, message: str, loc: tuple[str | int, ...] = (), params: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.loc = loc
        self.params = params or {}
