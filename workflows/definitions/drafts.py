"""What one reading knows of a document, complete or not, so that every rule can be checked at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from workflows.contracts import ActionType, Config, TriggerType
from workflows.definitions.problems import add_problems
from workflows.definitions.violations import Findings, Path
from workflows.filters import Filter
from workflows.templating import Template, TemplateSyntaxProblem, parse

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(slots=True)
class Session:
    """One reading: findings so far, templates parsed so far, and the clock where there is one."""

    findings: Findings
    now: datetime | None = None
    zone: ZoneInfo | None = None
    templates: dict[str, Template] = field(default_factory=dict)

    def check_template(self, text: str) -> str | None:
        """Parse a template once; what is wrong with it, or None."""
        if text not in self.templates:
            try:
                self.templates[text] = parse(text)
            except TemplateSyntaxProblem as problem:
                return problem.detail
        return None

    def validate(self, model: type[M], raw: Any, path: Path, *, templates: bool) -> M | None:
        """The model of what stands at `path`, or None after its errors were noted."""
        context: dict[str, Any] = {"now": self.now, "zone": self.zone}
        if templates:
            context |= {"templates": True, "check_template": self.check_template}
        try:
            return model.model_validate(raw, context=context)
        except ValidationError as error:
            add_problems(error, model, raw, path, self.findings)
            return None

    def validate_filter(self, raw: Any, path: Path) -> Filter | None:
        """The filter of a trigger, in which no templates are allowed."""
        box = self.validate(FilterBox, {"filters": raw}, path[:-1], templates=False)
        return None if box is None else box.filters


class FilterBox(BaseModel):
    """A filter under the name of its field, so that errors point below it."""

    filters: Filter


def present(value: T | None) -> T:
    """What a reading without violations has for certain."""
    if value is None:
        raise RuntimeError("a reading without violations lacks a piece")
    return value


@dataclass(slots=True)
class ActionDraft:
    """An action as far as it could be read."""

    path: Path
    key: str | None = None
    kind: str | None = None
    handler: ActionType[Any] | None = None
    raw: Mapping[str, Any] | None = None
    config: Config | None = None


@dataclass(slots=True)
class StepDraft:
    """A step as far as it could be read."""

    path: Path
    key: str | None = None
    name: str | None = None
    actions: list[ActionDraft] = field(default_factory=list)
    readable: bool = True


@dataclass(slots=True)
class TriggerDraft:
    """A trigger as far as it could be read."""

    path: Path
    handler: TriggerType[Any] | None = None
    config: Config | None = None
    filters: Filter | None = None
