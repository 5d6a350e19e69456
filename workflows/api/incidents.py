"""`incidents/`: faults of the installation, one open row per cause."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import selectors, tenancy
from workflows.api.auth import caller
from workflows.api.describe import problems_of
from workflows.api.execution_models import CodeText, code_text
from workflows.api.fields import query_parameters, read_query
from workflows.api.pagination import PageOut, PageQuery, answer, decode, read_instant, read_integer
from workflows.errors import NotFound
from workflows.models import Role
from workflows.services.incidents import close_incident


class IncidentOut(BaseModel):
    """A fault, how often it happened, and the execution of the last time."""

    id: int
    cause: str
    reason: str
    reason_text: CodeText
    execution_id: UUID | None
    count: int
    data: dict[str, Any]
    opened_at: datetime
    last_at: datetime
    closed_at: datetime | None
    closed_by: str


class IncidentPage(PageOut[IncidentOut]):
    """A page of incidents."""


class IncidentQuery(PageQuery):
    """`open`: only those that nobody has closed, or only the closed ones."""

    open: bool | None = None


class IncidentsView(APIView):
    """Faults that somebody who runs the installation must look at."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="list_incidents",
        summary="Incidents",
        parameters=query_parameters(IncidentQuery),
        responses={200: IncidentPage, **problems_of(422)},
    )
    def get(self, request: Request) -> Response:
        """The latest to happen first."""
        query = read_query(IncidentQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            page = selectors.list_incidents(
                entity_id=entity_id,
                is_open=query.open,
                after=decode(query.cursor, read_instant, read_integer),
                limit=query.limit,
            )
        return Response(answer(page, incident_out))


class CloseIncidentView(APIView):
    """Somebody has dealt with an incident."""

    roles: ClassVar = {"POST": Role.OPERATOR}

    @extend_schema(
        operation_id="close_incident",
        summary="Close an incident",
        request=None,
        responses={204: None, **problems_of(404, 409)},
    )
    def post(self, request: Request, incident_id: int) -> Response:
        """A repeat of the same cause opens a new one; 409 if it is closed."""
        asking = caller(request)
        if incident_id >= 2**63:
            raise NotFound
        close_incident(entity=asking.entity, incident_id=incident_id, actor=asking.actor)
        return Response(status=204)


def incident_out(row: dict[str, Any]) -> IncidentOut:
    """From a selector's row."""
    return IncidentOut(**row, reason_text=code_text(row["reason"]))
