"""Turns the errors of a pydantic model into violations: plain sentences, pointers, rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from workflows.definitions.markers import rule_at
from workflows.definitions.violations import Findings, Path
from workflows.errors import N_

SENTENCES: Mapping[str, tuple[str, str]] = {
    "missing": ("field_missing", N_("The field {field} is required.")),
    "extra_forbidden": ("unknown_field", N_("There is no field {field} here.")),
    "string_type": ("wrong_type", N_("The field {field} must be a text.")),
    "int_type": ("wrong_type", N_("The field {field} must be a whole number.")),
    "int_parsing": ("wrong_type", N_("The field {field} must be a whole number.")),
    "int_from_float": ("wrong_type", N_("The field {field} must be a whole number.")),
    "bool_type": ("wrong_type", N_("The field {field} must be true or false.")),
    "bool_parsing": ("wrong_type", N_("The field {field} must be true or false.")),
    "list_type": ("wrong_type", N_("The field {field} must be a list.")),
    "dict_type": ("wrong_type", N_("The field {field} must be an object.")),
    "model_type": ("wrong_type", N_("The field {field} must be an object.")),
    "model_attributes_type": ("wrong_type", N_("The field {field} must be an object.")),
    "string_too_short": ("too_short", N_("The field {field} must have at least {min_length} characters.")),
    "string_too_long": ("too_long", N_("The field {field} must have at most {max_length} characters.")),
    "too_short": ("too_short", N_("The field {field} must have at least {min_length} items.")),
    "too_long": ("too_long", N_("The field {field} must have at most {max_length} items.")),
    "greater_than_equal": ("out_of_range", N_("The field {field} must be at least {ge}.")),
    "less_than_equal": ("out_of_range", N_("The field {field} must be at most {le}.")),
    "literal_error": ("not_a_choice", N_("The field {field} must be one of: {expected}.")),
    "string_pattern_mismatch": ("format", N_("The field {field} does not have the expected form.")),
}
"""Code and sentence of pydantic's own errors; an error of a plug-in brings its own."""

PYDANTIC_TYPES = frozenset(get_args(ErrorType))

OTHERWISE = N_("The value is not valid: {problem}.")


def add_problems(
    error: ValidationError,
    model: type[BaseModel],
    raw: Any,
    path: Path,
    findings: Findings,
) -> None:
    """Add one violation for each error of `model` in `raw`, which stands at `path` in the document."""
    for problem in error.errors(include_url=False, include_input=False):
        rule = problem.get("ctx", {}).get("rule") or rule_at(model, problem["loc"])
        place = (*path, *_place(raw, problem["loc"]))
        code, msgid, values = _sentence(problem, place)
        findings.add(rule, code, place, msgid, **values)


def sentence_of(problem: ErrorDetails) -> str:
    """One error as a plain sentence."""
    _, msgid, values = _sentence(problem, problem["loc"])
    return msgid.format(**values)


def _sentence(problem: ErrorDetails, place: Path) -> tuple[str, str, dict[str, Any]]:
    """Code, msgid and values of an error."""
    context = problem.get("ctx", {})
    values = {name: _plain(value) for name, value in context.items() if name not in ("rule", "msgid")}
    values["field"] = _name(place)
    if "msgid" in context:
        return problem["type"], context["msgid"], values
    if problem["type"] in SENTENCES:
        return *SENTENCES[problem["type"]], values
    if problem["type"] in PYDANTIC_TYPES:
        return problem["type"], OTHERWISE, {"problem": problem["msg"]}
    return problem["type"], problem["msg"], {}


def _place(raw: Any, location: tuple[int | str, ...]) -> Path:
    """The location without what pydantic adds for union members and keys."""
    place: list[str | int] = []
    for index, name in enumerate(location):
        if isinstance(raw, Mapping) and (name in raw or index == len(location) - 1) and name != "[key]":
            place.append(name)
            raw = raw.get(name)
        elif isinstance(raw, list) and isinstance(name, int) and name < len(raw):
            place.append(name)
            raw = raw[name]
    return tuple(place)


def _name(place: Path) -> str:
    names = [str(token) for token in place if isinstance(token, str)]
    return names[-1] if names else N_("document")


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
