"""Puts the context into an action's config: templates are parsed once, rendered for each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from workflows.contracts import Config
from workflows.definitions.markers import is_filter, is_templated, places
from workflows.definitions.problems import sentence_of
from workflows.definitions.violations import Path, pointer
from workflows.errors import N_, PermanentFailure
from workflows.filters import Filter
from workflows.templating import Template, TemplateProblem, has_template


class BindFailed(PermanentFailure):
    """A config could not be filled; `reason` is `template_error` or `template_type_error`, `extra` names
    `action` and `path`."""

    code = "template_error"


@dataclass(frozen=True, slots=True)
class TextSlot:
    """A text of the config that is a template."""

    path: Path
    template: Template

    def fill(self, context: Mapping[str, Any]) -> tuple[Any, Any]:
        """The rendered value, as the model takes it and as JSON."""
        value = self.template.render(context)
        return value, value


@dataclass(frozen=True, slots=True)
class FilterSlot:
    """A filter of the config whose values hold templates."""

    path: Path
    filter: Filter
    templates: Mapping[str, Template]

    def fill(self, context: Mapping[str, Any]) -> tuple[Any, Any]:
        """The filter with its values rendered, as the model takes it and as JSON."""
        rendered = self.filter.render(lambda text: self.templates[text].render(context))
        return rendered, rendered.raw


Slot = TextSlot | FilterSlot


def find_slots(raw: Mapping[str, Any], config: Config, templates: Mapping[str, Template]) -> tuple[Slot, ...]:
    """The places that have to be filled; `templates` are those parsed while the definition was read."""
    model = type(config)
    slots: list[Slot] = []
    for path, value in places(model, raw, is_templated):
        slots += [TextSlot((*path, *inner), templates[text]) for inner, text in _texts(value)]
    for path, found in places(model, config, is_filter):
        if found.templated:
            parsed = {text: templates[text] for _, text in found.templates()}
            slots.append(FilterSlot(path, found, parsed))
    return tuple(slots)


def bind_slots(
    action: str,
    model: type[Config],
    raw: Mapping[str, Any],
    slots: tuple[Slot, ...],
    context: Mapping[str, Any],
) -> tuple[Config, dict[str, Any]]:
    """The config as a model and as JSON, with every slot filled. Raises BindFailed."""
    filled: Any = raw
    shown: Any = raw
    try:
        for slot in slots:
            value, text = slot.fill(context)
            filled, shown = _put(filled, slot.path, value), _put(shown, slot.path, text)
    except TemplateProblem as problem:
        raise _failed("template_error", action, slot.path, problem.message) from None
    except ValidationError as error:
        raise _failed("template_type_error", action, slot.path, _first_problem(error)[1]) from None
    try:
        return model.model_validate(filled), shown
    except ValidationError as error:
        raise _failed("template_type_error", action, *_first_problem(error)) from None


def _first_problem(error: ValidationError) -> tuple[Path, str]:
    problem = error.errors(include_url=False, include_input=False)[0]
    return problem["loc"], sentence_of(problem)


def _failed(reason: str, action: str, path: Path, problem: str) -> BindFailed:
    msgid = N_("Action {action}, field {path}: {problem}")
    values = {"action": action, "path": pointer(path), "problem": problem}
    return BindFailed(msgid.format(**values), reason=reason, **values)


def _texts(value: Any) -> Iterator[tuple[Path, str]]:
    """Path and text of every template within a value."""
    if isinstance(value, str):
        if has_template(value):
            yield (), value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (((key, *inner), text) for inner, text in _texts(item))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from (((index, *inner), text) for inner, text in _texts(item))


def _put(holder: Any, path: Path, value: Any) -> Any:
    """A copy of `holder` with the value at the path; what the path does not touch is shared."""
    if not path:
        return value
    copy: Any = dict(holder) if isinstance(holder, Mapping) else list(holder)
    copy[path[0]] = _put(copy[path[0]], path[1:], value)
    return copy
