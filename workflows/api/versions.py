"""`workflows/{id}/…`: versions, and the acts that change whether a trigger listens."""

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
from workflows.api.fields import query_parameters, read_query
from workflows.api.pagination import PageQuery, answer, decode, read_integer
from workflows.api.workflow_models import (
    VersionDetail,
    VersionOut,
    VersionPage,
    WorkflowDetail,
    WorkflowSaved,
)
from workflows.api.workflows import saved_out, workflow_out
from workflows.models import Role
from workflows.services import publishing

MAX_NUMBER = 2**31 - 1


class VersionsView(APIView):
    """Published versions of a workflow."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="list_versions",
        summary="Published versions",
        parameters=query_parameters(PageQuery),
        responses={200: VersionPage, **problems_of(404, 422)},
    )
    def get(self, request: Request, workflow_id: UUID) -> Response:
        """Newest first."""
        query = read_query(PageQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            page = selectors.list_versions(
                entity_id=entity_id,
                workflow_id=workflow_id,
                after=decode(query.cursor, read_integer, read_integer),
                limit=query.limit,
            )
        return Response(answer(page, lambda row: VersionOut(**row)))


class VersionView(APIView):
    """One published version."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="retrieve_version",
        summary="One published version",
        responses={200: VersionDetail, **problems_of(404)},
    )
    def get(self, request: Request, workflow_id: UUID, number: int) -> Response:
        """With its definition."""
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            row = selectors.find_version(
                entity_id=entity_id, workflow_id=workflow_id, number=min(number, MAX_NUMBER)
            )
        return Response(VersionDetail(**row).model_dump(mode="json"))


class PublishView(APIView):
    """Draft to version."""

    roles: ClassVar = {"POST": Role.EDITOR}

    @extend_schema(
        operation_id="publish_workflow",
        summary="Publish the draft",
        request=None,
        responses={200: WorkflowSaved, **problems_of(404, 409, 422)},
    )
    def post(self, request: Request, workflow_id: UUID) -> Response:
        """Freezes it as the next version and lets its trigger listen; executions stay on their version."""
        asking = caller(request)
        saved = publishing.publish_workflow(entity=asking.entity, workflow_id=workflow_id, actor=asking.actor)
        return Response(saved_out(asking.entity, saved))


class PauseView(APIView):
    """Listening to not listening."""

    roles: ClassVar = {"POST": Role.EDITOR}

    @extend_schema(
        operation_id="pause_workflow",
        summary="Stop the trigger",
        request=None,
        responses={200: WorkflowDetail, **problems_of(404, 409)},
    )
    def post(self, request: Request, workflow_id: UUID) -> Response:
        """Executions go on; cancelling them is a separate act."""
        entity = caller(request).entity
        publishing.pause_workflow(entity=entity, workflow_id=workflow_id)
        return Response(workflow_out(entity, workflow_id))


class ActivateView(APIView):
    """Not listening to listening."""

    roles: ClassVar = {"POST": Role.EDITOR}

    @extend_schema(
        operation_id="activate_workflow",
        summary="Let a paused trigger listen again",
        request=None,
        responses={200: WorkflowDetail, **problems_of(404, 409)},
    )
    def post(self, request: Request, workflow_id: UUID) -> Response:
        """Nothing that was missed is replayed."""
        entity = caller(request).entity
        publishing.activate_workflow(entity=entity, workflow_id=workflow_id)
        return Response(workflow_out(entity, workflow_id))
