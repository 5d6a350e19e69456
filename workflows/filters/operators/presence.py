"""Whether a field is there, is empty, is true; these take no value."""

from __future__ import annotations

from typing import Any

from workflows.errors import N_
from workflows.filters.base import Negation, Operator, Test, operator_registry

_ANY = ("text", "number", "boolean", "list", "object", "date", "null")


@operator_registry.register("is_empty")
class IsEmpty(Operator):
    """Missing, null, blank text, [] or {}."""

    label = N_("is empty")
    help = N_("The field is missing, null, a blank text, or a list or object without content.")
    value_shape = "none"
    serves = _ANY
    on_missing = True

    def prepare(self, value: Any, exact: bool) -> Test:
        return lambda found, moment: _empty(found)


def _empty(found: Any) -> bool:
    if isinstance(found, str):
        return not found.strip()
    return found is None or (isinstance(found, list | tuple | dict) and not found)


@operator_registry.register("is_not_empty")
class IsNotEmpty(Negation):
    """Negation of `is_empty`."""

    label = N_("is not empty")
    help = N_("The field has content; zero and false are content.")
    value_shape = "none"
    serves = _ANY
    negates = "is_empty"


@operator_registry.register("exists")
class Exists(Operator):
    """The field is there, be it null."""

    label = N_("exists")
    help = N_("The field is there, even if it is null or empty.")
    value_shape = "none"
    serves = _ANY

    def prepare(self, value: Any, exact: bool) -> Test:
        return lambda found, moment: True


@operator_registry.register("not_exists")
class NotExists(Negation):
    """Negation of `exists`."""

    label = N_("does not exist")
    help = N_("The field is not there at all; a null field exists.")
    value_shape = "none"
    serves = _ANY
    negates = "exists"


@operator_registry.register("is_true")
class IsTrue(Operator):
    """The boolean true; no text and no number is."""

    label = N_("is true")
    help = N_("The field is the boolean true.")
    value_shape = "none"
    serves = ("boolean",)

    def prepare(self, value: Any, exact: bool) -> Test:
        return lambda found, moment: found is True


@operator_registry.register("is_false")
class IsFalse(Operator):
    """The boolean false; neither a missing nor a null field is."""

    label = N_("is false")
    help = N_("The field is the boolean false; a missing or null field is neither true nor false.")
    value_shape = "none"
    serves = ("boolean",)

    def prepare(self, value: Any, exact: bool) -> Test:
        return lambda found, moment: found is False
