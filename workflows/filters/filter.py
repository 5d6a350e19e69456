"""The public type: a validated filter, usable as a field of any pydantic model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from workflows.filters.base import operator_registry
from workflows.filters.parsing import CheckTemplate, Parser, has_template, templates_in
from workflows.filters.tree import Explanation, Node, Place
from workflows.filters.values import Moment


class Filter:
    """A condition or a group, parsed and compiled once. Immutable; equal when the JSON is.

    Templates in values are refused unless the validation context has `templates` true; its `check_template`,
    when there, tells what is wrong with a template's text (None: nothing).
    """

    __slots__ = ("raw", "root", "templated")

    def __init__(self, raw: Any, root: Node) -> None:
        self.raw = raw
        self.root = root
        self.templated = any(each.test is None for _, each in root.conditions())

    @classmethod
    def parse(
        cls, raw: Any, *, templates: bool = False, check_template: CheckTemplate | None = None
    ) -> Filter:
        """From raw JSON; pydantic's ValidationError lists every mistake."""
        return cls(raw, Parser(templates=templates, check_template=check_template).parse(raw))

    def render(self, render: Callable[[str], Any]) -> Filter:
        """With each templated value rendered, then checked; what came out is never rendered again."""
        if not self.templated:
            return self
        raw = _rendered(self.raw, render)
        return Filter(raw, Parser(rendered=True).parse(raw))

    def templates(self) -> Iterator[tuple[Place, str]]:
        """Each template's text and its place within the filter."""
        for place, each in self.root.conditions():
            if each.test is None:
                for inner, text in templates_in(each.value):
                    yield (*place, "value", *inner), text

    def fields(self) -> Iterator[tuple[Place, str]]:
        """Each condition's field as written and its place within the filter."""
        for place, each in self.root.conditions():
            yield (*place, "field"), each.field

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Filter({self.raw!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.raw),
        )

    @classmethod
    def _validate(cls, value: Any, info: ValidationInfo) -> Filter:
        if isinstance(value, Filter):
            return value
        context = info.context if isinstance(info.context, Mapping) else {}
        return cls.parse(
            value,
            templates=bool(context.get("templates")),
            check_template=context.get("check_template"),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        part = {"type": "object"}
        parts = {"type": "array", "items": part, "minItems": 1}
        return {
            "title": "Filter",
            "type": "object",
            "format": "filter",
            "oneOf": [
                {
                    "properties": {
                        "field": {"type": "string"},
                        "operator": {"enum": list(operator_registry)},
                        "value": {},
                        "exact": {"type": "boolean", "default": False},
                    },
                    "required": ["field", "operator"],
                    "additionalProperties": False,
                },
                *(
                    {"properties": {key: content}, "required": [key], "additionalProperties": False}
                    for key, content in (("all", parts), ("any", parts), ("not", part))
                ),
            ],
        }


def evaluate(condition: Filter, data: Mapping[str, Any], *, now: datetime, zone: ZoneInfo) -> bool:
    """Whether the data satisfies the filter at an aware instant, in the entity's zone."""
    return condition.root.holds(data, Moment(now, zone))


def explain(condition: Filter, data: Mapping[str, Any], *, now: datetime, zone: ZoneInfo) -> Explanation:
    """The same verdict with every condition's own: value seen, missing or not."""
    return condition.root.explain(data, Moment(now, zone))


def operator_catalogue() -> list[dict[str, Any]]:
    """Every operator for the catalogue and the forms, by name; labels and helps are msgids."""
    return [
        {
            "operator": kind,
            "label": operator.label,
            "help": operator.help,
            "value": operator.value_shape,
            "types": list(operator.serves),
            "exact": operator.folds,
            "negates": operator.negates,
        }
        for kind, operator in operator_registry.items()
    ]


def _rendered(raw: Any, render: Callable[[str], Any]) -> Any:
    if "field" in raw:
        return {**raw, "value": _value(raw["value"], render)} if has_template(raw.get("value")) else raw
    kind, content = next(iter(raw.items()))
    return {
        kind: _rendered(content, render) if kind == "not" else [_rendered(part, render) for part in content]
    }


def _value(value: Any, render: Callable[[str], Any]) -> Any:
    if isinstance(value, list | tuple):
        return [_value(item, render) for item in value]
    return render(value) if has_template(value) else value
