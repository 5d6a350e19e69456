"""Problem details (RFC 9457) as values: from domain errors, wrong fields and broken definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from workflows.definitions.problems import OTHERWISE, SENTENCES
from workflows.definitions.violations import Violation
from workflows.errors import InvalidInput, WorkflowError

CONTENT_TYPE = "application/problem+json"


class ViolationOut(BaseModel):
    """One broken rule of a definition, where it stands (RFC 6901)."""

    rule: str | None
    code: str
    pointer: str
    message: str


class Problem(BaseModel):
    """RFC 9457 problem details; some codes bring more fields, as `state_version` and `present` of a stale state."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    code: str
    instance: str
    violations: list[ViolationOut] | None = None
    fields: dict[str, str] | None = None


def problem(
    *, code: str, status: int, title: str, detail: str, instance: str, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The document; `title` and `detail` are msgids or already translated."""
    return {
        **{name: _plain(value) for name, value in (extra or {}).items()},
        "type": f"urn:boostflow:problem:{code}",
        "title": gettext(title),
        "status": status,
        "detail": gettext(detail),
        "code": code,
        "instance": instance,
    }


def of_domain_error(error: WorkflowError, instance: str) -> dict[str, Any]:
    """The error's own code, status and sentences, and the values that it carries."""
    return problem(
        code=error.code,
        status=error.status,
        title=error.title,
        detail=error.detail,
        instance=instance,
        extra=error.extra,
    )


def of_fields(error: ValidationError, instance: str) -> dict[str, Any]:
    """Wrong fields of a request, a sentence for each, by dotted name."""
    fields: dict[str, str] = {}
    for found in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in found["loc"]) or "body"
        fields.setdefault(name, _sentence(found))
    return of_domain_error(InvalidInput(fields=fields), instance)


def violations_out(found: Iterable[Violation]) -> list[dict[str, Any]]:
    """Violations in the language of the request."""
    return [
        {"rule": each.rule, "code": each.code, "pointer": each.pointer, "message": _message(each)}
        for each in found
    ]


def _message(violation: Violation) -> str:
    return gettext(violation.msgid).format(**violation.values) if violation.msgid else violation.message


def _sentence(found: ErrorDetails) -> str:
    values = {**found.get("ctx", {}), "field": str(found["loc"][-1]) if found["loc"] else "body"}
    if "msgid" in values:
        return gettext(str(values.pop("msgid"))).format(**values)
    _code, msgid = SENTENCES.get(found["type"], ("", OTHERWISE))
    return gettext(msgid).format(**values, problem=found["msg"])


def _plain(value: Any) -> Any:
    """JSON for whatever a domain error carries."""
    if isinstance(value, str):
        return gettext(value) if value else value
    if isinstance(value, Violation):
        return violations_out([value])[0]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value) if isinstance(value, UUID) else repr(value)
