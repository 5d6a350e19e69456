"""What a template sees while it renders: data only, a meaning for missing values, and a budget of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from liquid.context import RenderContext
from liquid.template import BoundTemplate
from liquid.token import Token
from liquid.undefined import UNDEFINED, Undefined
from liquid.utils import ReadOnlyChainMap

from workflows.errors import N_
from workflows.templating.errors import TemplateProblem
from workflows.templating.library import TEXT_FILTERS
from workflows.templating.stringify import MAX_OUTPUT, to_text

MAX_LOOP: Final = 10_000
MAX_ITEMS: Final = 10_000
MAX_LOCALS: Final = 1 << 20
MAX_WORK: Final = 1_000_000
"""Units of work in one rendering: look-ups, items, characters in sixteens, loop bodies by length."""
MAX_INTEGER_BITS: Final = 128


def too_much() -> TemplateProblem:
    """The answer to every limit on work."""
    return TemplateProblem(N_("The template does too much work."))


class Nothing(Undefined):
    """A missing or null value: nil to tags and comparisons, an error when printed."""

    __slots__ = ()

    def problem(self) -> TemplateProblem:
        """Names the path."""
        return TemplateProblem(N_("%(path)s has no value and the template gives no default."), path=self.name)

    def __str__(self) -> str:
        raise self.problem()


class Context(RenderContext):
    """Reads mappings, lists and text only; counts work."""

    __slots__ = ("local_size", "weight", "work")

    def __init__(self, template: BoundTemplate, **options: Any) -> None:
        super().__init__(template, **options)
        self.scope = ReadOnlyChainMap(self.locals, self.globals, self.counters)
        self.work = MAX_WORK
        self.local_size = 0
        self.weight = getattr(template, "weight", 1)

    def charge(self, units: int) -> None:
        """Spend work; the limit is on counts, so that it is the same on every machine."""
        self.work -= units
        if self.work < 0:
            raise too_much()

    def get(self, path: list[object], *, token: Token | None, default: object = UNDEFINED) -> object:
        """The value at a path; Nothing where it is missing or null. A leading `context` is dropped."""
        self.charge(len(path))
        segments = path
        if len(path) > 1 and path[0] == "context" and "context" not in self.globals:
            segments = path[1:]
        value: object = self.scope
        for segment in segments:
            value = self.get_item(value, segment)
            if value is None or isinstance(value, Undefined):
                return self.env.undefined(path_text(path), token=token) if default is UNDEFINED else default
        return value

    def get_item(self, obj: Any, key: Any) -> Any:
        """One step of a path; None when it leads nowhere."""
        if isinstance(obj, Mapping | ReadOnlyChainMap):
            try:
                return obj[key if isinstance(key, str) else str(key)]
            except (KeyError, TemplateProblem):
                return None
        if not isinstance(obj, str | list | tuple | range):
            return None
        if key == "size":
            return len(obj)
        if key in ("first", "last"):
            return obj[0 if key == "first" else -1] if obj else None
        if isinstance(key, int) and not isinstance(obj, str) and -len(obj) <= key < len(obj):
            return obj[key]
        return None

    def assign(self, key: str, val: Any) -> None:
        """Local variables, within a total size."""
        self.charge(1)
        self.local_size += _size(val) - _size(self.locals.get(key))
        if self.local_size > MAX_LOCALS:
            raise too_much()
        self.locals[key] = val

    def filter(self, name: str, token: Token | None) -> Callable[..., object]:
        """The filter, guarded: nothing passes through untouched, sizes are bounded."""
        return partial(self.apply, name, super().filter(name, token))

    def apply(self, name: str, call: Callable[..., object], left: Any, *args: Any, **named: Any) -> object:
        """Call a filter. `default` takes everything; others pass a missing value on to it."""
        if name == "default":
            return call(left, *args, **named)
        if left is None or isinstance(left, Undefined):
            return left
        values = [left, *args, *named.values()]
        for value in values[1:]:
            if isinstance(value, Nothing):
                raise value.problem()
        self.charge(1 + sum(_cost(value) for value in values))
        if isinstance(left, range):
            left = list(left)
        if name in TEXT_FILTERS:
            left = to_text(left)
            args = tuple(to_text(arg) if isinstance(arg, bool | dict | list) else arg for arg in args)
        elif name != "concat" and any(isinstance(value, dict | list | tuple) for value in values[1:]):
            raise TemplateProblem(N_("A filter takes texts, numbers, true or false after its colon."))
        self.refuse_growth(name, left, args)
        result = call(left, *args, **named)
        _refuse_size(result)
        return result

    def refuse_growth(self, name: str, left: Any, args: tuple[Any, ...]) -> None:
        """Before the call, for the filters whose work or result is a product of sizes."""
        if name == "uniq" and isinstance(left, list | tuple):
            self.charge(len(left) ** 2)
        size = 0
        if name.startswith("replace") and len(args) == 2:
            old, new = (to_text(arg) for arg in args)
            size = len(left) + left.count(old) * len(new)
        elif name == "join" and isinstance(left, list | tuple) and args:
            size = len(left) * len(to_text(args[0]))
        if size > MAX_OUTPUT:
            raise too_much()


def path_text(path: list[object]) -> str:
    """`a.b.0` as people write it."""
    return ".".join("?" if isinstance(segment, Undefined) else str(segment) for segment in path)


def _size(value: Any) -> int:
    return (
        len(value) * 8
        if isinstance(value, list | tuple | dict)
        else len(value)
        if isinstance(value, str)
        else 8
    )


def _cost(value: Any) -> int:
    return (
        len(value)
        if isinstance(value, list | tuple | range)
        else len(value) // 16
        if isinstance(value, str)
        else 1
    )


def _refuse_size(value: Any) -> None:
    long_text = isinstance(value, str) and len(value) > MAX_OUTPUT
    long_list = isinstance(value, list | tuple) and len(value) > MAX_ITEMS
    if long_text or long_list or (isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS):
        raise too_much()
