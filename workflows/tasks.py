"""Celery's entry points: each calls one service, with ids only, and is safe to deliver twice."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

from celery import Task, current_app, shared_task
from celery.app.trace import build_tracer
from django.db import connection

from workflows.contracts import ActionType, Call, Config, Outcome, action_registry
from workflows.services import advance as advancing
from workflows.services import sweeps


@shared_task(name="workflows.advance", bind=True)
def advance(self: Task[Any, Any], entity_id: int, frame_id: str, state_version: int) -> None:
    """Advance one frame from `state_version`; a hint that is late does nothing."""
    queue = (self.request.delivery_info or {}).get("routing_key") or "interactive"
    with _fresh_connection_after_failure():
        advancing.advance(
            entity_id=entity_id,
            frame_id=UUID(frame_id),
            state_version=state_version,
            perform=perform_as_task,
            queue=queue,
        )


@shared_task(name="workflows.sweep")
def sweep() -> None:
    """Fire due timers and hint frames whose lease has passed."""
    with _fresh_connection_after_failure():
        sweeps.sweep()


class _fresh_connection_after_failure:
    """A connection that broke is closed, so that the next task opens a new one; the sweep repeats what was lost."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not connection.in_atomic_block:
            connection.close()


def perform_as_task(handler: ActionType[Any], call: Call, config: Config) -> Outcome:
    """Run an action as its own registered Celery task, in this worker: the link of the chain."""
    tracer = _tracers.get(handler.kind) or _tracer(handler)
    done = tracer(
        uuid.uuid4().hex, (call, config), {}, {"is_eager": True, "delivery_info": {"is_eager": True}}
    )
    outcome: Outcome = done.retval
    return outcome


def _tracer(handler: ActionType[Any]) -> Any:
    """Celery's tracer of an action's task, built once a process: half of the cost of `Task.apply()`."""
    task = current_app.tasks[f"actions.{handler.kind}"]
    tracer = build_tracer(task.name, task, eager=True, propagate=True, app=current_app)
    _tracers[handler.kind] = tracer
    return tracer


_tracers: dict[str, Any] = {}


def register_actions() -> None:
    """Give every registered action type a Celery task of its name."""
    for kind, handler in action_registry.items():
        current_app.task(handler.run, name=f"actions.{kind}", ignore_result=True)


__all__ = ["advance", "perform_as_task", "register_actions", "sweep"]
