"""How the OpenAPI document names problems and bearer keys."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from workflows.api.auth import ENTITY_HEADER
from workflows.api.problems import CONTENT_TYPE, Problem

SENTENCES = {
    400: "The request could not be read.",
    401: "The key is missing or was refused.",
    403: "The role of the key does not allow this.",
    404: "There is no such object in this entity.",
    409: "The present state does not allow this.",
    413: "The body is too large.",
    422: "Fields or rules are broken.",
    503: "It could not be committed now; send it again after `Retry-After` seconds.",
}


def problems_of(*statuses: int) -> dict[tuple[int, str], OpenApiResponse]:
    """Responses for these statuses and for those that every endpoint may give."""
    return {
        (status, CONTENT_TYPE): OpenApiResponse(Problem, SENTENCES[status])
        for status in sorted({400, 401, 403, *statuses})
    }


class EntitySchema(AutoSchema):
    """Adds the header that names the entity to every operation that takes a key."""

    def get_override_parameters(self) -> list[Any]:
        """The view's own parameters and the header."""
        own: list[Any] = super().get_override_parameters()
        if not self.view.authentication_classes:
            return own
        header = OpenApiParameter(
            name=ENTITY_HEADER,
            type=str,
            location=OpenApiParameter.HEADER,
            description="The CRM's id of the entity; needed with a platform key, else it must match the key's.",
        )
        return [header, *own]


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer <key>`."""

    target_class = "workflows.api.auth.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """The scheme as OpenAPI says it."""
        return {"type": "http", "scheme": "bearer", "description": "A key of the entity or of the platform."}
