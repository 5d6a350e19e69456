"""Violations: what a definition breaks, where, in which words; all, in document order (decision 19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Path = tuple[str | int, ...]
Severity = Literal["error", "warning"]


def pointer(path: Sequence[str | int]) -> str:
    """RFC 6901: `("steps", 0, "a/b")` is `/steps/0/a~1b`; the whole document is the empty text."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `message` is `msgid` filled with `values`; edges translate `msgid` and fill that."""

    rule: str | None
    code: str
    pointer: str
    message: str
    severity: Severity = "error"
    msgid: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


class Findings:
    """Collects violations during one reading and puts them in the order of the document."""

    def __init__(self) -> None:
        self._found: list[tuple[Path, Violation]] = []

    def add(
        self,
        rule: str | None,
        code: str,
        path: Path,
        msgid: str,
        *,
        severity: Severity = "error",
        **values: Any,
    ) -> None:
        """Note one violation; `values` fill the named places of `msgid`."""
        message = msgid.format(**values) if values else msgid
        found = Violation(rule, code, pointer(path), message, severity, msgid, values)
        self._found.append((path, found))

    @property
    def broken(self) -> bool:
        """Whether anything but warnings was found."""
        return any(found.severity == "error" for _, found in self._found)

    def ordered(self, document: Any, severity: Severity) -> tuple[Violation, ...]:
        """Those of one severity in document order; a field that is missing comes after its siblings."""
        positions: dict[int, dict[Any, int]] = {}
        chosen = [(path, found) for path, found in self._found if found.severity == severity]
        chosen.sort(key=lambda pair: _position(document, pair[0], positions))
        return tuple(found for _, found in chosen)


def _position(value: Any, path: Path, positions: dict[int, dict[Any, int]]) -> tuple[int, ...]:
    places: list[int] = []
    for token in path:
        if isinstance(value, dict):
            if id(value) not in positions:
                positions[id(value)] = {key: index for index, key in enumerate(value)}
            keys = positions[id(value)]
            places.append(keys.get(token, len(keys)))
            value = value.get(token)
        elif isinstance(value, list) and isinstance(token, int):
            places.append(token)
            value = value[token] if token < len(value) else None
        else:
            places.append(0)
            value = None
    return tuple(places)
