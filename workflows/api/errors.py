"""The one place where errors become answers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404
from pydantic import ValidationError
from rest_framework import exceptions
from rest_framework.response import Response

from workflows.api import problems
from workflows.errors import N_, Busy, NotFound, WorkflowError

log = structlog.stdlib.get_logger(__name__)

RETRY_AFTER_SECONDS = 2

TITLES: Mapping[str, str] = {
    "parse_error": N_("The body could not be read."),
    "not_authenticated": N_("A key is needed."),
    "authentication_failed": N_("The key was refused."),
    "permission_denied": N_("The role of this key does not allow this."),
    "not_found": N_("There is no such resource."),
    "method_not_allowed": N_("This resource does not take this method."),
    "not_acceptable": N_("The answer has no such format."),
    "unsupported_media_type": N_("The body must be application/json."),
    "throttled": N_("Too many requests."),
}
"""Titles of the framework's errors by their code."""


def handle(error: Exception, context: Mapping[str, Any]) -> Response:
    """Problem details for any error; nothing of the inside is shown."""
    request = context.get("request")
    instance = request.path if request is not None else ""
    match error:
        case WorkflowError() if error.status < 500 or isinstance(error, Busy):
            return _answer(problems.of_domain_error(error, instance), _headers_of(error))
        case ValidationError():
            return _answer(problems.of_fields(error, instance))
        case Http404():
            return _answer(problems.of_domain_error(NotFound(), instance))
        case PermissionDenied():
            return _framework_error(exceptions.PermissionDenied(), instance)
        case exceptions.APIException():
            return _framework_error(error, instance)
        case OperationalError() | InterfaceError():  # locks, serialization, deadlocks, lost connections
            log.warning("database_busy", path=instance, problem=type(error.__cause__ or error).__name__)
            return _answer(problems.of_domain_error(Busy(), instance), _headers_of(Busy()))
    return _unexpected(error, instance)


def _headers_of(error: WorkflowError) -> dict[str, str]:
    return {"Retry-After": str(RETRY_AFTER_SECONDS)} if isinstance(error, Busy) else {}


def _framework_error(error: exceptions.APIException, instance: str) -> Response:
    code = str(error.default_code)
    document = problems.problem(
        code=code,
        status=error.status_code,
        title=TITLES.get(code, N_("The request could not be carried out.")),
        detail=str(error.detail),
        instance=instance,
    )
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return _answer(document, headers)


def _unexpected(error: Exception, instance: str) -> Response:
    incident = uuid.uuid4().hex
    log.error("unexpected", incident=incident, path=instance, exc_info=error)
    document = problems.problem(
        code="unexpected",
        status=500,
        title=N_("Something went wrong on our side."),
        detail=N_("It was logged; name the incident when you report it."),
        instance=instance,
        extra={"incident": incident},
    )
    return _answer(document)


def _answer(document: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        document, status=document["status"], headers=dict(headers or {}), content_type=problems.CONTENT_TYPE
    )
