"""Finds the places of a config that its model marks: templates, step keys, filters, rules of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from workflows.contracts import StepRef, Templated
from workflows.definitions.violations import Path
from workflows.filters import Filter

Metadata = Sequence[Any]
Wanted = Callable[[Any, Metadata], bool]


def is_templated(annotation: Any, metadata: Metadata) -> bool:
    """Whether a field declares that its texts are templates."""
    return any(isinstance(mark, Templated) for mark in metadata)


def is_step_ref(annotation: Any, metadata: Metadata) -> bool:
    """Whether a field names a step of the same workflow."""
    return any(isinstance(mark, StepRef) for mark in metadata)


def is_filter(annotation: Any, metadata: Metadata) -> bool:
    """Whether a field is a filter."""
    return annotation is Filter


def places(model: type[BaseModel], value: Any, wanted: Wanted) -> Iterator[tuple[Path, Any]]:
    """Path and value of every wanted field that the raw (or validated) value has, however deep."""
    for name, info in model.model_fields.items():
        if isinstance(value, Mapping):
            if name in value:
                yield from _walk(info.annotation, info.metadata, value[name], (name,), wanted)
        elif isinstance(value, model):
            yield from _walk(info.annotation, info.metadata, getattr(value, name), (name,), wanted)


def _walk(
    annotation: Any, metadata: Metadata, value: Any, path: Path, wanted: Wanted
) -> Iterator[tuple[Path, Any]]:
    if wanted(annotation, metadata):
        yield path, value
        return
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _walk(arguments[0], arguments[1:], value, path, wanted)
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _walk(argument, (), value, path, wanted)
    elif isinstance(annotation, type) and origin is None and issubclass(annotation, BaseModel):
        for inner, item in places(annotation, value, wanted):
            yield (*path, *inner), item
    elif origin in (list, tuple, Sequence) and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(arguments[0], (), item, (*path, index), wanted)
    elif origin in (dict, Mapping) and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(arguments[1], (), item, (*path, key), wanted)


def rule_at(model: type[BaseModel], location: Sequence[str | int]) -> str | None:
    """The rule that a field's mark names (`Duration(…, rule="A5")`): a missing field names it too."""
    options: list[tuple[Any, Metadata]] = [(model, ())]
    for token in location:
        options = [child for option in options for child in _children(*option, token)]
    for annotation, metadata in options:
        for _, marks in _unwrapped(annotation, metadata):
            for mark in marks:
                rule = getattr(mark, "rule", None)
                if isinstance(rule, str):
                    return rule
    return None


def _unwrapped(annotation: Any, metadata: Metadata) -> Iterator[tuple[Any, Metadata]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _unwrapped(arguments[0], (*metadata, *arguments[1:]))
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _unwrapped(argument, metadata)
    else:
        yield annotation, metadata


def _children(annotation: Any, metadata: Metadata, token: str | int) -> Iterator[tuple[Any, Metadata]]:
    for plain, _ in _unwrapped(annotation, metadata):
        origin, arguments = get_origin(plain), get_args(plain)
        if isinstance(plain, type) and origin is None and issubclass(plain, BaseModel):
            if isinstance(token, str) and token in plain.model_fields:
                info = plain.model_fields[token]
                yield info.annotation, info.metadata
        elif origin in (list, tuple, Sequence) and isinstance(token, int):
            yield arguments[0], ()
        elif origin in (dict, Mapping) and isinstance(token, str):
            yield arguments[1], ()
