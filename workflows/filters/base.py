"""What an operator is, and the registry that operators fill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final

from workflows.errors import N_
from workflows.filters.folding import fold
from workflows.filters.refusal import ValueRefused
from workflows.filters.values import Moment, number
from workflows.registry import Registry

MAX_VALUES: Final = 1000
MAX_VALUE_TEXT: Final = 2000

Test = Callable[[Any, Moment], bool]
"""Verdict on a found value (never MISSING) at a moment."""


class Operator(ABC):
    """One operator. `prepare` runs once when a filter is parsed, the test it returns at each evaluation.

    `value_shape` names the input that a form shows: `none text scalar number list words phrase pattern
    pair instant duration times weekdays`. `serves` lists the types it can be true for. `negates` names the
    positive operator of which this is the exact negation, a missing field included.
    """

    kind: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str]
    value_shape: ClassVar[str]
    serves: ClassVar[tuple[str, ...]]
    folds: ClassVar[bool] = False
    on_missing: ClassVar[bool] = False
    negates: ClassVar[str | None] = None

    @abstractmethod
    def prepare(self, value: Any, exact: bool) -> Test:
        """Check the value, compile what can be compiled. ValueRefused when it does not suit."""


class Negation(Operator):
    """The exact negation of a positive operator; subclasses only name themselves."""

    negates: ClassVar[str]

    @property
    def positive(self) -> Operator:
        """The operator it negates."""
        return operator_registry[self.negates]

    def prepare(self, value: Any, exact: bool) -> Test:
        test = self.positive.prepare(value, exact)
        return lambda found, moment: not test(found, moment)


operator_registry: Registry[Operator] = Registry("filter operator")

Key = tuple[str, Any]


def comparable(value: Any, exact: bool) -> Key | None:
    """A hashable form, equal when the values are; None for what equals nothing (null, lists, objects)."""
    if isinstance(value, str):
        return ("text", value if exact else fold(value))
    if isinstance(value, bool):
        return ("bool", value)
    found = number(value)
    return None if found is None else ("number", found)


def wanted_scalar(value: Any, exact: bool, loc: tuple[str | int, ...] = ()) -> Key:
    """The comparable form of a text, number or boolean that a filter asks for."""
    key = comparable(value, exact)
    if key is None:
        raise ValueRefused("value_type", N_("The value must be a text, a number or true or false."), loc)
    if isinstance(value, str) and len(value) > MAX_VALUE_TEXT:
        raise ValueRefused("value_too_long", N_("The text is too long."), loc)
    return key


def wanted_text(value: Any, exact: bool, loc: tuple[str | int, ...] = ()) -> str:
    """The text that a filter asks for, folded unless exact; an empty one would match everything."""
    if not isinstance(value, str):
        raise ValueRefused("value_type", N_("The value must be a text."), loc)
    if len(value) > MAX_VALUE_TEXT:
        raise ValueRefused("value_too_long", N_("The text is too long."), loc)
    text = value if exact else fold(value)
    if not text:
        raise ValueRefused("value_blank", N_("The text must not be blank."), loc)
    return text


def wanted_list(value: Any) -> list[Any]:
    """The list that a filter asks for."""
    if not isinstance(value, list | tuple):
        raise ValueRefused("value_type", N_("The value must be a list."))
    if not value:
        raise ValueRefused("value_blank", N_("The list must not be empty."))
    if len(value) > MAX_VALUES:
        raise ValueRefused("value_too_long", N_("The list is too long."))
    return list(value)
