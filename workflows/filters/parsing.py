"""From raw JSON to a tree, listing every mistake with the place where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from workflows.errors import N_
from workflows.filters.base import Operator, Test, operator_registry
from workflows.filters.refusal import ValueRefused
from workflows.filters.tree import (
    NO_VALUE,
    All,
    AnyOf,
    Condition,
    Group,
    Node,
    Not,
    Place,
)
from workflows.paths import Path, parse_path

MAX_DEPTH: Final = 8
MAX_CONDITIONS: Final = 100
GROUPS: Final[Mapping[str, type[Group]]] = {"all": All, "any": AnyOf, "not": Not}
_FIELDS = ("field", "operator", "value", "exact")


def has_template(value: Any) -> bool:
    """Whether a condition's value, or an item of it, is a Liquid template."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    return isinstance(value, list | tuple) and any(has_template(item) for item in value)


def templates_in(value: Any) -> Iterator[tuple[Place, str]]:
    """Each template in a condition's value, with its place there."""
    if isinstance(value, str):
        if has_template(value):
            yield (), value
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            for place, text in templates_in(item):
                yield (at, *place), text


CheckTemplate = Callable[[str], str | None]


@dataclass(slots=True)
class Parser:
    """One pass over one filter. `templates` allows them; `rendered` takes braces in values as plain text."""

    templates: bool = False
    rendered: bool = False
    check_template: CheckTemplate | None = None
    problems: list[InitErrorDetails] = field(default_factory=list)
    count: int = 0

    def parse(self, raw: Any) -> Node:
        """The tree; a pydantic ValidationError with every problem, in document order, otherwise."""
        node = self.node(raw, (), 0)
        if self.count > MAX_CONDITIONS:
            message = N_("A filter has at most {limit} conditions.")
            self.refuse("filter_size", message, (), raw, {"limit": MAX_CONDITIONS})
        if self.problems or node is None:
            raise ValidationError.from_exception_data("Filter", self.problems)
        return node

    def refuse(
        self, code: str, message: str, loc: Place, value: Any, params: dict[str, Any] | None = None
    ) -> None:
        """Note a problem and go on."""
        error = PydanticCustomError(code, message, params)
        self.problems.append(InitErrorDetails(type=error, loc=loc, input=value))

    def node(self, raw: Any, loc: Place, depth: int) -> Node | None:
        """A condition or a group; None when it has problems."""
        if not isinstance(raw, Mapping):
            self.refuse(
                "filter_shape", N_("A filter is an object: a condition, or all, any or not."), loc, raw
            )
            return None
        groups = [key for key in raw if key in GROUPS]
        if not groups:
            return self.condition(raw, loc)
        kind = groups[0]
        for key in raw:
            if key != kind:
                self.refuse(
                    "extra_forbidden", N_("A group has one key only: all, any or not."), (*loc, key), raw[key]
                )
        if depth >= MAX_DEPTH:
            self.refuse(
                "filter_depth", N_("Groups nest at most {limit} deep."), loc, raw, {"limit": MAX_DEPTH}
            )
            return None
        return self.group(kind, raw[kind], (*loc, kind), depth + 1)

    def group(self, kind: str, raw: Any, loc: Place, depth: int) -> Node | None:
        """The parts of a group; an empty one is refused, since it could be read either way."""
        if kind == "not":
            part = self.node(raw, loc, depth)
            return None if part is None else Not((part,))
        if not isinstance(raw, list | tuple):
            self.refuse("list_type", N_("The group must be a list of conditions and groups."), loc, raw)
            return None
        if not raw:
            self.refuse("group_empty", N_("The group must not be empty."), loc, raw)
            return None
        parts: list[Node] = []
        for at, item in enumerate(raw):
            if self.count > MAX_CONDITIONS or len(self.problems) > MAX_CONDITIONS:
                return None
            part = self.node(item, (*loc, at), depth)
            if part is not None:
                parts.append(part)
        return GROUPS[kind](tuple(parts)) if len(parts) == len(raw) else None

    def condition(self, raw: Mapping[str, Any], loc: Place) -> Condition | None:
        """Field, operator, value and exact, each with its own problems."""
        self.count += 1
        before = len(self.problems)
        for key in raw:
            if key not in _FIELDS:
                message = N_("A condition has field, operator, value and exact only.")
                self.refuse("extra_forbidden", message, (*loc, key), raw[key])
        path = self.field_path(raw, loc)
        operator = self.operator(raw, loc)
        exact = raw.get("exact", False)
        if not isinstance(exact, bool):
            self.refuse("bool_type", N_("The setting exact is true or false."), (*loc, "exact"), exact)
            exact = False
        test = None
        if operator is not None:
            if exact and not operator.folds:
                message = N_("This operator does not compare text, so it has no exact form.")
                self.refuse("exact_not_supported", message, (*loc, "exact"), exact)
            test = self.test(operator, raw, exact, loc)
        if path is None or operator is None or len(self.problems) > before:
            return None
        missing = operator_registry[operator.negates].on_missing if operator.negates else operator.on_missing
        on_missing = not missing if operator.negates else missing
        value = raw.get("value", NO_VALUE)
        return Condition(raw["field"], operator.kind, value, exact, path, test, on_missing)

    def field_path(self, raw: Mapping[str, Any], loc: Place) -> Path | None:
        """The path, split for the look-ups to come."""
        if "field" not in raw:
            self.refuse("missing", N_("The condition needs a field."), (*loc, "field"), raw)
            return None
        text = raw["field"]
        try:
            return parse_path(text if isinstance(text, str) else "")
        except ValueError:
            message = N_("The field must be a path such as contact.tags.0, without wildcards.")
            self.refuse("field_path", message, (*loc, "field"), text)
            return None

    def operator(self, raw: Mapping[str, Any], loc: Place) -> Operator | None:
        """The registered operator."""
        if "operator" not in raw:
            self.refuse("missing", N_("The condition needs an operator."), (*loc, "operator"), raw)
            return None
        kind = raw["operator"]
        found = operator_registry.get(kind) if isinstance(kind, str) else None
        if found is None:
            self.refuse("unknown_operator", N_("There is no such operator."), (*loc, "operator"), kind)
        return found

    def test(self, operator: Operator, raw: Mapping[str, Any], exact: bool, loc: Place) -> Test | None:
        """The compiled test; None for a template, whose value is checked once rendered."""
        place = (*loc, "value")
        value = raw.get("value", NO_VALUE)
        if operator.value_shape == "none":
            if value is not NO_VALUE:
                self.refuse("value_not_allowed", N_("This operator takes no value."), place, value)
                return None
        elif value is NO_VALUE:
            self.refuse("value_missing", N_("This operator needs a value."), place, raw)
            return None
        elif not self.rendered and has_template(value):
            if not self.templates:
                message = N_("The value must not be a template here.")
                self.refuse("template_not_allowed", message, place, value)
            self.check_syntax(value, place)
            return None
        try:
            return operator.prepare(value, exact)
        except ValueRefused as refused:
            self.refuse(refused.code, refused.message, (*place, *refused.loc), value, refused.params)
            return None

    def check_syntax(self, value: Any, place: Place) -> None:
        """What the caller's checker says of each template."""
        if self.templates and self.check_template is not None:
            for inner, text in templates_in(value):
                problem = self.check_template(text)
                if problem:
                    message = N_("The template is wrong: {problem}")
                    self.refuse("template_syntax", message, (*place, *inner), text, {"problem": problem})
