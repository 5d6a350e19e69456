"""`executions/`: what runs, where it stands, what happened, and cancelling."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import selectors, tenancy
from workflows.api.auth import caller
from workflows.api.describe import problems_of
from workflows.api.execution_models import (
    CancelIn,
    Context,
    ExecutionDetail,
    ExecutionPage,
    ExecutionQuery,
    TimelinePage,
    execution_detail,
    execution_out,
    timeline_item,
)
from workflows.api.fields import query_parameters, read_query
from workflows.api.pagination import PageQuery, answer, decode, read_instant, read_uuid
from workflows.api.parsers import storable
from workflows.errors import N_, InvalidInput
from workflows.models import Entity, Role
from workflows.selectors.timeline import SOURCES, Place
from workflows.services import acts


class ExecutionsView(APIView):
    """Executions of the entity."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="list_executions",
        summary="Executions",
        parameters=query_parameters(ExecutionQuery),
        responses={200: ExecutionPage, **problems_of(422)},
    )
    def get(self, request: Request) -> Response:
        """Newest first, without their data."""
        query = read_query(ExecutionQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            page = selectors.list_executions(
                entity_id=entity_id,
                wanted=selectors.ExecutionFilter(
                    status=query.status,
                    workflow_id=query.workflow,
                    contact_id=query.contact,
                    reason=query.reason,
                    created_from=query.created_from,
                    created_to=query.created_to,
                ),
                after=decode(query.cursor, read_instant, read_uuid),
                limit=query.limit,
            )
        return Response(answer(page, execution_out))


class ExecutionView(APIView):
    """One execution."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="retrieve_execution",
        summary="One execution",
        responses={200: ExecutionDetail, **problems_of(404)},
    )
    def get(self, request: Request, execution_id: UUID) -> Response:
        """Where it stands, why, and what can be done."""
        return Response(_detail(caller(request).entity, execution_id))


class TimelineView(APIView):
    """What happened in an execution."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="retrieve_timeline",
        summary="What happened",
        parameters=query_parameters(PageQuery),
        responses={200: TimelinePage, **problems_of(404, 422)},
    )
    def get(self, request: Request, execution_id: UUID) -> Response:
        """Events, step runs, attempts and waits (as spans), oldest first."""
        query = read_query(PageQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            page = selectors.read_timeline(
                entity_id=entity_id,
                execution_id=execution_id,
                after=_place(query.cursor),
                limit=query.limit,
            )
        return Response(answer(page, timeline_item))


class ContextView(APIView):
    """The data of an execution."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="retrieve_context",
        summary="The data as it stands",
        responses={200: Context, **problems_of(404)},
    )
    def get(self, request: Request, execution_id: UUID) -> Response:
        """What the next action would see, without the entity's clock."""
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            return Response(selectors.read_context(entity_id=entity_id, execution_id=execution_id))


class CancelView(APIView):
    """Ending an execution."""

    roles: ClassVar = {"POST": Role.OPERATOR}

    @extend_schema(
        operation_id="cancel_execution",
        summary="Cancel an execution",
        request=CancelIn,
        responses={200: ExecutionDetail, **problems_of(404, 409, 422)},
    )
    def post(self, request: Request, execution_id: UUID) -> Response:
        """At once, from every status that is not final; a call in flight is still recorded."""
        asking = caller(request)
        body = CancelIn.model_validate(storable(request.data))
        acts.cancel(
            entity=asking.entity,
            execution_id=execution_id,
            actor=asking.actor,
            reason=body.reason,
            state_version=body.state_version,
        )
        return Response(_detail(asking.entity, execution_id))


def _detail(entity: Entity, execution_id: UUID) -> dict[str, object]:
    with tenancy.entity(entity.pk):
        row = selectors.find_execution(entity_id=entity.pk, execution_id=execution_id)
    return execution_detail(row).model_dump(mode="json")


def _place(cursor: str | None) -> Place | None:
    """The position of a timeline's cursor, whose id has the type of its kind."""
    position = decode(cursor, read_instant, str, str)
    if position is None:
        return None
    at, kind, found = position
    try:
        if kind not in SOURCES or len(found) > 36:
            raise ValueError(found)
        value = SOURCES[kind][2](found)
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ValueError(found)
    except ValueError as error:
        raise InvalidInput(fields={"cursor": N_("The cursor is not one of this list.")}) from error
    return at, kind, found
