"""`workflows/`: definitions, their drafts and their life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import selectors, tenancy
from workflows.api.auth import caller
from workflows.api.describe import problems_of
from workflows.api.fields import query_parameters, read_query
from workflows.api.pagination import answer, decode, read_integer, read_uuid
from workflows.api.problems import violations_out
from workflows.api.workflow_models import (
    Definition,
    ExportQuery,
    Order,
    ValidationOut,
    WorkflowDetail,
    WorkflowOut,
    WorkflowPage,
    WorkflowQuery,
    WorkflowSaved,
)
from workflows.definitions.violations import Violation
from workflows.errors import NotFound
from workflows.models import Entity, Role
from workflows.services import publishing


class WorkflowsView(APIView):
    """Workflows of the entity."""

    roles: ClassVar = {"GET": Role.VIEWER, "POST": Role.EDITOR}

    @extend_schema(
        operation_id="list_workflows",
        summary="Workflows by priority",
        parameters=query_parameters(WorkflowQuery),
        responses={200: WorkflowPage, **problems_of(422)},
    )
    def get(self, request: Request) -> Response:
        """In the order in which their triggers are tried; archived ones come last."""
        query = read_query(WorkflowQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            page = selectors.list_workflows(
                entity_id=entity_id,
                wanted=selectors.WorkflowFilter(status=query.status, kind=query.kind, trigger=query.trigger),
                after=decode(query.cursor, read_integer, read_uuid),
                limit=query.limit,
            )
        return Response(answer(page, lambda row: WorkflowOut(**row)))

    @extend_schema(
        operation_id="create_workflow",
        summary="Store a definition as a new workflow",
        request=Definition,
        responses={201: WorkflowSaved, **problems_of(422)},
    )
    def post(self, request: Request) -> Response:
        """The body is the definition; it is stored as the draft only if it breaks no rule."""
        entity = caller(request).entity
        document: Any = request.data
        saved = publishing.create_workflow(entity=entity, document=document)
        return Response(saved_out(entity, saved), status=201)


class WorkflowView(APIView):
    """One workflow."""

    roles: ClassVar = {"GET": Role.VIEWER, "DELETE": Role.EDITOR}

    @extend_schema(
        operation_id="retrieve_workflow",
        summary="One workflow with its draft",
        responses={200: WorkflowDetail, **problems_of(404)},
    )
    def get(self, request: Request, workflow_id: UUID) -> Response:
        """The published definition is under `versions/`."""
        return Response(workflow_out(caller(request).entity, workflow_id))

    @extend_schema(
        operation_id="archive_workflow",
        summary="Archive a workflow",
        responses={204: None, **problems_of(404)},
    )
    def delete(self, request: Request, workflow_id: UUID) -> Response:
        """Takes it out of the order for good; its versions and executions stay."""
        publishing.archive_workflow(entity=caller(request).entity, workflow_id=workflow_id)
        return Response(status=204)


class DraftView(APIView):
    """The one mutable definition of a workflow."""

    roles: ClassVar = {"PUT": Role.EDITOR}

    @extend_schema(
        operation_id="save_draft",
        summary="Replace the draft",
        request=Definition,
        responses={200: WorkflowSaved, **problems_of(404, 409, 422)},
    )
    def put(self, request: Request, workflow_id: UUID) -> Response:
        """Saved only if it breaks no rule; published versions stay as they are."""
        entity = caller(request).entity
        document: Any = request.data
        saved = publishing.save_draft(entity=entity, workflow_id=workflow_id, document=document)
        return Response(saved_out(entity, saved))


class ValidateView(APIView):
    """Definitions that are not stored."""

    roles: ClassVar = {"POST": Role.EDITOR}

    @extend_schema(
        operation_id="validate_workflow",
        summary="Check a definition",
        request=Definition,
        responses={200: ValidationOut, **problems_of()},
    )
    def post(self, request: Request) -> Response:
        """Lists everything that it breaks; stores nothing."""
        reading = publishing.validate_definition(entity=caller(request).entity, document=request.data)
        return Response(
            {
                "valid": reading.definition is not None,
                "violations": violations_out(reading.violations),
                "warnings": violations_out(reading.warnings),
            }
        )


class ReorderView(APIView):
    """The order in which triggers are tried."""

    roles: ClassVar = {"POST": Role.EDITOR}

    @extend_schema(
        operation_id="reorder_workflows",
        summary="Set the order of all workflows",
        request=Order,
        responses={200: Order, **problems_of(422)},
    )
    def post(self, request: Request) -> Response:
        """All of them at once, so that no two ever share a priority."""
        order = Order.model_validate(request.data)
        publishing.reorder_workflows(entity=caller(request).entity, workflow_ids=order.workflows)
        return Response(order.model_dump(mode="json"))


class ExportView(APIView):
    """Definitions as documents."""

    roles: ClassVar = {"GET": Role.VIEWER}

    @extend_schema(
        operation_id="export_workflow",
        summary="The definition alone",
        parameters=query_parameters(ExportQuery),
        responses={200: Definition, **problems_of(404, 422)},
    )
    def get(self, request: Request) -> Response:
        """The draft, or a published version; what comes out can be stored again."""
        query = read_query(ExportQuery, request)
        entity_id = caller(request).entity.pk
        with tenancy.entity(entity_id):
            document = (
                selectors.find_workflow(entity_id=entity_id, workflow_id=query.id)["draft"]
                if query.version is None
                else selectors.find_version(entity_id=entity_id, workflow_id=query.id, number=query.version)[
                    "definition"
                ]
            )
        if document is None:
            raise NotFound
        return Response(document)


def workflow_out(entity: Entity, workflow_id: UUID) -> dict[str, Any]:
    """One workflow with its draft, as it is answered."""
    return WorkflowDetail(**_row(entity, workflow_id)).model_dump(mode="json")


def saved_out(entity: Entity, saved: publishing.Saved) -> dict[str, Any]:
    """The same with the warnings of a definition that was just stored or published."""
    warnings: Sequence[Violation] = saved.warnings
    row = _row(entity, saved.workflow.pk)
    return WorkflowSaved(**row, warnings=violations_out(warnings)).model_dump(mode="json")  # type: ignore[arg-type]


def _row(entity: Entity, workflow_id: UUID) -> dict[str, Any]:
    with tenancy.entity(entity.pk):
        row = selectors.find_workflow(entity_id=entity.pk, workflow_id=workflow_id)
    return {name: value for name, value in row.items() if name != "place"}
