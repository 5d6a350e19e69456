"""The tree of a filter: conditions with their compiled tests, and the groups that combine them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as column
from typing import Any, ClassVar, Final

from workflows.filters.base import Test
from workflows.filters.values import Moment
from workflows.paths import MISSING, Path, find

Place = tuple[str | int, ...]


class _NoValue:
    def __repr__(self) -> str:
        return "NO_VALUE"


NO_VALUE: Final = _NoValue()
"""The condition's operator takes no value and none was given."""


class NotRendered(TypeError):
    """A filter with templates was evaluated before `Filter.render`: a programming error."""


SHOWN_CHARACTERS: Final = 200


def _shown(value: Any) -> Any:
    """The value as an explanation keeps it: a long one as the beginning of its text."""
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One node's verdict with what led to it; `seen` is MISSING where the field is not there."""

    kind: str
    verdict: bool
    parts: tuple[Explanation, ...] = ()
    field: str = ""
    operator: str = ""
    wanted: Any = None
    seen: Any = MISSING

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: a condition shows field, operator, value, seen, missing; a group its parts."""
        if self.kind != "condition":
            parts = [part.to_dict() for part in self.parts]
            return {"kind": self.kind, "verdict": self.verdict, "parts": parts}
        shown: dict[str, Any] = {
            "kind": self.kind,
            "verdict": self.verdict,
            "field": self.field,
            "operator": self.operator,
            "missing": self.seen is MISSING,
        }
        if self.wanted is not NO_VALUE:
            shown["value"] = _shown(self.wanted)
        if self.seen is not MISSING:
            shown["seen"] = _shown(self.seen)
        return shown


@dataclass(frozen=True, slots=True)
class Condition:
    """`{field, operator, value, exact}`. `test` is None while the value is a template."""

    field: str
    operator: str
    value: Any
    exact: bool
    path: Path = column(repr=False, compare=False)
    test: Test | None = column(repr=False, compare=False)
    on_missing: bool = column(repr=False, compare=False)

    def judge(self, found: Any, moment: Moment) -> bool:
        """Verdict on what the lookup returned."""
        if self.test is None:
            raise NotRendered(self.field)
        return self.on_missing if found is MISSING else self.test(found, moment)

    def holds(self, data: Mapping[str, Any], moment: Moment) -> bool:
        """Verdict on the data."""
        return self.judge(find(data, self.path), moment)

    def explain(self, data: Mapping[str, Any], moment: Moment) -> Explanation:
        """The same verdict with the value seen."""
        seen = find(data, self.path)
        verdict = self.judge(seen, moment)
        return Explanation("condition", verdict, (), self.field, self.operator, self.value, seen)

    def conditions(self, place: Place = ()) -> Iterator[tuple[Place, Condition]]:
        """Itself, with its place in the tree."""
        yield place, self


@dataclass(frozen=True, slots=True)
class Group(ABC):
    """Base of the three groups: how to combine the verdicts of the parts, lazily."""

    kind: ClassVar[str]
    parts: tuple[Node, ...]

    @staticmethod
    @abstractmethod
    def combine(verdicts: Iterable[bool]) -> bool:
        """The group's verdict; reads no more of the parts' than it needs."""

    def holds(self, data: Mapping[str, Any], moment: Moment) -> bool:
        """Stops at the part that decides."""
        return self.combine(part.holds(data, moment) for part in self.parts)

    def explain(self, data: Mapping[str, Any], moment: Moment) -> Explanation:
        """The same verdict with every part explained."""
        parts = tuple(part.explain(data, moment) for part in self.parts)
        return Explanation(self.kind, self.combine(part.verdict for part in parts), parts)

    def conditions(self, place: Place = ()) -> Iterator[tuple[Place, Condition]]:
        """Every condition below, in document order, with its place in the tree."""
        for at, part in enumerate(self.parts):
            yield from part.conditions((*place, *self.place_of(at)))

    def place_of(self, at: int) -> Place:
        """Where a part stands in the group's JSON."""
        return (self.kind, at)


@dataclass(frozen=True, slots=True)
class All(Group):
    """Every part holds."""

    kind = "all"

    @staticmethod
    def combine(verdicts: Iterable[bool]) -> bool:
        """All of them."""
        return all(verdicts)


@dataclass(frozen=True, slots=True)
class AnyOf(Group):
    """At least one part holds."""

    kind = "any"

    @staticmethod
    def combine(verdicts: Iterable[bool]) -> bool:
        """One of them."""
        return any(verdicts)


@dataclass(frozen=True, slots=True)
class Not(Group):
    """Its one part does not hold."""

    kind = "not"

    @staticmethod
    def combine(verdicts: Iterable[bool]) -> bool:
        """None of them."""
        return not any(verdicts)

    def place_of(self, at: int) -> Place:
        """`not` holds one node, not a list."""
        return (self.kind,)


Node = Condition | Group
