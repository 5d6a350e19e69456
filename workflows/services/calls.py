"""One call of an action, outside any transaction, and what follows where it fails (decision 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from workflows import tenancy
from workflows.contracts import ActionType, Call, Config, Outcome
from workflows.definitions.model import Action
from workflows.engine.retry import GiveUp, Retry, decide
from workflows.errors import ActionFailure, TransientFailure
from workflows.models import Attempt
from workflows.ports import Services
from workflows.services.turn import Turn

log = structlog.get_logger(__name__)

Perform = Callable[[ActionType[Any], Call, Config], Outcome]


def call_directly(handler: ActionType[Any], call: Call, config: Config) -> Outcome:
    """Run an action without Celery's task around it: tests and tools."""
    return handler.run(call, config)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an action did not give an outcome, as it is stored and shown; `error["kind"]` is the table's row."""

    reason: str
    error: Mapping[str, Any]
    retry_after: float | None = None


WORKER_LOST = Failure(
    "outcome_unknown", {"kind": "unknown", "detail": "the worker ended while the call was under way"}
)


KEY_MATTERS = ("unknown", "in_flight")
"""Kinds of failure after which a repeat is safe only where the service honours keys; others need not ask it."""


def idempotency_key(turn: Turn, action: Action) -> str:
    """`{execution}:{step}:{visit}:{action}:{try}`: retries of the engine keep it, an operator's raises it."""
    step = turn.version.automation.steps[turn.state.step]
    visit = turn.state.visits.get(step.key, 1)
    return f"{turn.execution_id}:{step.key}:{visit}:{action.key}:{turn.retry}"


def perform_action(
    turn: Turn, action: Action, config: Config, key: str, perform: Perform
) -> Outcome | Failure:
    """Call the handler; what it raises on purpose is a reason, anything else is a bug with an incident id."""
    handler = action.handler
    services = None
    try:
        if handler.category != "flow":
            services = _open(turn, action, key)
        call = Call(
            context=turn.context.document,
            now=turn.now(),
            zone=turn.zone,
            services=services,
            auth=turn.auth if services is not None else None,
            idempotency_key=key,
            deadline_s=handler.limit_s,
        )
        return perform(handler, call, config)
    except ActionFailure as failure:
        retry_after = failure.retry_after if isinstance(failure, TransientFailure) else None
        return Failure(failure.reason, {"detail": failure.detail, **failure.extra}, retry_after)
    except Exception as bug:
        incident = str(uuid4())
        log.exception("action_failed_unexpectedly", incident=incident, action=action.key, type=action.kind)
        return Failure(
            "unexpected", {"detail": f"{type(bug).__name__} in {action.kind}", "incident": incident}
        )


def after_failure(turn: Turn, action: Action, failure: Failure) -> Retry | GiveUp:
    """Whether the call whose attempts stand on the frame's last step run is made again."""
    with tenancy.entity(turn.entity_id):
        earlier = list(
            Attempt.objects.filter(
                entity_id=turn.entity_id, frame_id=turn.frame_id, seq=turn.seq - 1, finished_at__isnull=False
            )
            .order_by("number")
            .values_list("error__kind", flat=True)
        )
    kinds = [*(kind or "rejected" for kind in earlier), str(failure.error.get("kind", "rejected"))]
    return decide(
        action.handler.effect,
        kinds,
        reason=failure.reason,
        honours_keys=kinds[-1] in KEY_MATTERS and _honours_keys(turn, action),
        attempts=action.handler.attempts,
        retry_after=failure.retry_after,
    )


def _honours_keys(turn: Turn, action: Action) -> bool:
    """Whether the service answers a repeated key with its first answer; no, where it cannot be asked."""
    try:
        return _open(turn, action, "").honours_keys
    except ActionFailure:
        return False


def _open(turn: Turn, action: Action, key: str) -> Services:
    services: Services = import_string(settings.SERVICES_FACTORY)(
        auth=turn.auth, idempotency_key=key, deadline_s=action.handler.limit_s
    )
    return services
