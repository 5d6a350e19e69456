"""Which published workflow a message starts (T6): the first by the entity's priority that matches and may start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog

from workflows import filters
from workflows.contracts import Refusal
from workflows.errors import InvalidDefinition
from workflows.models import FINAL, Execution, Workflow
from workflows.services import executions
from workflows.services.route import Decision, Route
from workflows.services.versions import CompiledVersion, load_version

log = structlog.get_logger(__name__)


def to_trigger(route: Route) -> Decision | None:
    """The first published workflow by the entity's priority whose trigger and filters match (T6)."""
    active: set[UUID] | None = None
    for workflow in _listening(route.entity_id):
        seen: dict[str, Any] = {
            "look": "workflow",
            "workflow": str(workflow["id"]),
            "name": workflow["name"],
            "priority": workflow["priority"],
        }
        try:
            version = load_version(entity_id=route.entity_id, version_id=workflow["current_version_id"])
        except InvalidDefinition:  # of an earlier release: the others must not stop with it
            log.exception("version_does_not_compile", version=workflow["current_version_id"])
            route.trace.append({**seen, "verdict": "does_not_compile"})
            continue
        trigger = version.automation.trigger
        context = trigger.handler.detect(route.event, trigger.config)
        if isinstance(context, Refusal):
            route.trace.append({**seen, "verdict": context.reason, **context.data})
            continue
        if not _filters_match(route, version, context, seen):
            continue
        if active is None:
            active = _active_workflows(route)
        reason = "already_active" if workflow["id"] in active else _cooling(route, version)
        started = None if reason else _start(route, version, context)
        if started is None:
            route.trace.append({**seen, "verdict": reason or "already_active"})
            continue
        route.trace.append({**seen, "verdict": "started", "execution": str(started)})
        return Decision("started", started, version.workflow_id)
    return None


def _listening(entity_id: int) -> list[dict[str, Any]]:
    """Published workflows with a message trigger, highest priority (lowest number) first."""
    return list(
        Workflow.objects.filter(
            entity_id=entity_id, status="published", current_version__trigger_type="message.inbound"
        )
        .order_by("priority")
        .values("id", "name", "priority", "current_version_id")
    )


def _filters_match(
    route: Route, version: CompiledVersion, context: Mapping[str, Any], seen: Mapping[str, Any]
) -> bool:
    chosen = version.automation.trigger.filters
    if chosen is None:
        return True
    explained = filters.explain(chosen, context, now=route.now, zone=route.zone)
    if not explained.verdict:
        route.trace.append({**seen, "verdict": "filter_false", "filters": explained.to_dict()})
    return explained.verdict


def _active_workflows(route: Route) -> set[UUID]:
    """Workflows in which the contact has a non-final execution (G3, decisions 3 and 4)."""
    return set(
        Execution.objects.filter(entity_id=route.entity_id, contact_id=route.contact_id)
        .exclude(status__in=FINAL)
        .values_list("workflow_id", flat=True)
    )


def _cooling(route: Route, version: CompiledVersion) -> str | None:
    """`cooldown` while the last execution for this contact ended too short a time ago (decision 37)."""
    cooldown: timedelta | None = getattr(version.automation.trigger.config, "cooldown", None)
    if not cooldown:
        return None
    recent = Execution.objects.filter(
        entity_id=route.entity_id,
        contact_id=route.contact_id,
        workflow_id=version.workflow_id,
        finished_at__gt=route.now - cooldown,
    )
    return "cooldown" if recent.exists() else None


def _start(route: Route, version: CompiledVersion, context: Mapping[str, Any]) -> UUID | None:
    return executions.start_execution(
        entity_id=route.entity_id,
        version=version,
        context=context,
        contact_id=route.contact_id,
        chat_id=route.chat_id,
        message_id=route.message_id,
        actor=f"message:{route.event['message_id']}",
    )
