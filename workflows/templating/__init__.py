"""Liquid templates: parse once, render with data only. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, cast

from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError
from liquid.static_analysis import TemplateAnalysis

from workflows.errors import N_
from workflows.templating.errors import TemplateProblem, TemplateSyntaxProblem
from workflows.templating.rendering import Context, Nothing
from workflows.templating.sandbox import Sandbox
from workflows.templating.sandbox import Template as Parsed
from workflows.templating.stringify import MAX_OUTPUT

__all__ = [
    "MAX_OUTPUT",
    "MAX_TEMPLATE",
    "Destination",
    "Template",
    "TemplateProblem",
    "TemplateSyntaxProblem",
    "check_template",
    "has_template",
    "parse",
]

MAX_TEMPLATE: Final = 32_768
"""Characters of a template's text."""

MAX_MARK: Final = 2_000
MAX_MARKS: Final = 1_000
_WIDE_SPACE = re.compile(r"\s{80}")
_OPENING = re.compile(r"\{\{|\{%")

Destination = Literal["text", "html", "json"]
"""Where the text goes, hence how values are escaped: not at all, as HTML, as JSON."""

Segments = tuple[str | int, ...]

_SANDBOXES: Final[Mapping[str, Sandbox]] = {name: Sandbox(name) for name in ("text", "html", "json")}


class Template:
    """A parsed template. `paths` are the data paths it reads, those known only while rendering left out."""

    __slots__ = ("_lone", "_parsed", "paths", "source")

    def __init__(self, source: str, parsed: Parsed, lone: Path | None, paths: tuple[Segments, ...]) -> None:
        self.source = source
        self.paths = paths
        self._parsed = parsed
        self._lone = lone

    def render(self, data: Mapping[str, Any]) -> Any:
        """Text; the value itself, whatever its type, of a template for text that is one lone `{{ path }}`.

        TemplateProblem when a printed value is missing or null, a filter fails or a limit is reached.
        """
        try:
            if self._lone is not None:
                value = self._lone.evaluate(Context(self._parsed, globals=data))
                if isinstance(value, Nothing):
                    raise value.problem()
                return value
            return str(self._parsed.render(data))
        except TemplateProblem:
            raise
        except LiquidError as error:
            raise _problem(error) from error
        except Exception as error:  # python-liquid's filters meet any data
            raise TemplateProblem(N_("The template could not be rendered with these values.")) from error


def has_template(text: str) -> bool:
    """Whether a text has anything to render."""
    return "{{" in text or "{%" in text


def check_template(text: str) -> str | None:
    """What is wrong with a template, in a sentence; None when nothing is."""
    try:
        parse(text)
    except TemplateSyntaxProblem as problem:
        return problem.detail
    return None


@lru_cache(maxsize=2048)
def parse(text: str, destination: Destination = "text") -> Template:
    """The parsed template, from a cache; TemplateSyntaxProblem when it is not valid."""
    if len(text) > MAX_TEMPLATE:
        raise TemplateSyntaxProblem(N_("The template is too long."), line=1, column=1)
    _check_marks(text)
    try:
        parsed = cast(Parsed, _SANDBOXES[destination].from_string(text))
    except LiquidError as error:
        start = 0 if error.token is None else error.token.start_index
        raise _syntax_problem(text, start, str(error.message)) from error
    analysis = parsed.analyze()
    for name, places in analysis.filters.items():
        if name not in parsed.env.filters:
            raise _syntax_problem(text, places[0].index, N_("There is no such filter."))
    parsed.weight = 1 + len(text) // 32
    return Template(text, parsed, _lone_path(parsed) if destination == "text" else None, _paths(analysis))


def _check_marks(text: str) -> None:
    """Every mark is closed, soon, and there are not too many: the lexer is quadratic on others."""
    at = count = 0
    while (found := _OPENING.search(text, at)) is not None:
        start, count = found.start(), count + 1
        end = text.find("}}" if found.group() == "{{" else "%}", start + 2)
        if end < 0:
            raise _syntax_problem(text, start, N_("This mark is never closed."))
        if end - start > MAX_MARK or count > MAX_MARKS:
            raise _syntax_problem(text, start, N_("The template is too long or has too many marks."))
        if _WIDE_SPACE.search(text, start, end) is not None:
            raise _syntax_problem(text, start, N_("There is too much space inside a mark."))
        at = end + 2


def _lone_path(parsed: Parsed) -> Path | None:
    if len(parsed.nodes) != 1 or not isinstance(parsed.nodes[0], OutputNode):
        return None
    expression = parsed.nodes[0].expression
    if (
        isinstance(expression, FilteredExpression)
        and not expression.filters
        and isinstance(expression.left, Path)
    ):
        return expression.left
    return None


def _paths(analysis: TemplateAnalysis) -> tuple[Segments, ...]:
    found = (_plain(variable.segments) for used in analysis.globals.values() for variable in used)
    rooted = (path[1:] if path[:1] == ("context",) and len(path) > 1 else path for path in found)
    return tuple(dict.fromkeys(path for path in rooted if path))


def _plain(segments: Sequence[object]) -> Segments:
    """The segments; none at all when one is known only while rendering."""
    plain = tuple(segment for segment in segments if isinstance(segment, str | int))
    return plain if len(plain) == len(segments) else ()


def _syntax_problem(text: str, start: int, message: str) -> TemplateSyntaxProblem:
    at = min(max(start, 0), len(text))
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    detail = f"{message} (line {line}, column {column})"
    return TemplateSyntaxProblem(detail, line=line, column=column)


def _problem(error: LiquidError) -> TemplateProblem:
    return TemplateProblem(N_("The template could not be rendered: %(reason)s"), reason=error.message)
