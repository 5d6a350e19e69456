"""Field types of requests: ids of the CRM, instants, and query parameters as one model."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from drf_spectacular.utils import OpenApiParameter
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema
from rest_framework.request import Request

from workflows.contracts import refusal
from workflows.errors import N_, NotAvailableYet

M = TypeVar("M", bound=BaseModel)

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LATER = ("dry_run",)
"""Parameters that the interface names and this release cannot serve: refused, never ignored."""


def read_rfc3339(text: Any) -> datetime:
    """The instant; a refusal for anything but RFC 3339."""
    if isinstance(text, str) and _RFC3339.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text.upper())
            moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            return moment
    raise refusal("rfc3339", N_("The field {field} must be an RFC 3339 time with its offset."))


def _checked(text: str) -> str:
    read_rfc3339(text)
    return text


_TIME_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})
CrmId = Annotated[str, Field(min_length=1, max_length=64)]
MessageId = Annotated[str, Field(min_length=1, max_length=255)]
Timestamp = Annotated[str, AfterValidator(_checked), _TIME_SCHEMA]
"""RFC 3339, kept as it was written."""


def _storable(text: str) -> str:
    if "\x00" in text:
        raise refusal("text_not_storable", N_("The text has a character that cannot be stored."))
    return text


QueryText = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_storable)]
QueryTime = Annotated[datetime, BeforeValidator(read_rfc3339), _TIME_SCHEMA]


def read_query(model: type[M], request: Request) -> M:
    """The query parameters; every unknown or repeated one is refused."""
    for name in _LATER:
        if name in request.query_params and name not in model.model_fields:
            raise NotAvailableYet(N_("This parameter is not available in this release."), parameter=name)
    given: dict[str, Any] = {
        name: values[0] if len(values) == 1 else values for name, values in request.query_params.lists()
    }
    return model.model_validate(given)


def query_parameters(model: type[BaseModel]) -> list[OpenApiParameter]:
    """The same model as OpenAPI parameters."""
    schema = model.model_json_schema(mode="validation")
    required = set(schema.get("required", ()))
    return [
        OpenApiParameter(
            name=name,
            type={key: value for key, value in field.items() if key != "title"},
            location=OpenApiParameter.QUERY,
            required=name in required,
            description=field.get("description", ""),
        )
        for name, field in schema["properties"].items()
    ]
