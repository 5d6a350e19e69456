"""Races on real connections: threads that start at one moment, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from tests.builders import automation, inbound_event
from workflows import tenancy
from workflows.models import Entity, Event, Execution, Frame, InboundMessage, Wait
from workflows.services.inbound import receive_message
from workflows.services.route import Decision

SECONDS = 30.0
Race = Callable[..., list[Any]]


@pytest.fixture
def race(clean: object) -> Race:
    """Run callables at once, one thread and connection each; what each returned or raised, in their order."""

    def run(*runners: Callable[[], Any]) -> list[Any]:
        barrier = threading.Barrier(len(runners))
        results: list[Any] = [TimeoutError("the thread did not end")] * len(runners)

        def follow(index: int) -> None:
            try:
                connection.ensure_connection()
                barrier.wait(SECONDS)
                results[index] = runners[index]()
            except Exception as problem:
                results[index] = problem
            finally:
                connections.close_all()

        threads = [
            threading.Thread(target=follow, args=(index,), daemon=True) for index in range(len(runners))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        return results

    return run


def unexpected(results: Sequence[Any]) -> list[BaseException]:
    """The errors among what a race gave."""
    return [result for result in results if isinstance(result, BaseException)]


def deliver(entity: Entity, **changes: Any) -> Decision:
    """Receive one message as the interface hands it on."""
    return receive_message(entity=entity, event={**inbound_event(**changes), "extra": {}})


def execution_of(entity: Entity, execution_id: UUID | None) -> Execution:
    with tenancy.entity(entity.pk):
        found: Execution = Execution.objects.get(pk=execution_id)
    return found


def frame_of(entity: Entity, execution_id: UUID | None) -> Frame:
    with tenancy.entity(entity.pk):
        found: Frame = Frame.objects.get(execution_id=execution_id)
    return found


def waits_of(entity: Entity, **wanted: Any) -> list[Wait]:
    with tenancy.entity(entity.pk):
        return list(Wait.objects.filter(**wanted).order_by("id"))


def event_kinds(entity: Entity, execution_id: UUID | None) -> list[str]:
    with tenancy.entity(entity.pk):
        return list(Event.objects.filter(execution_id=execution_id).values_list("kind", flat=True))


def verdicts(message: InboundMessage) -> list[str]:
    """What the router concluded at each look, in order."""
    return [look["verdict"] for look in message.trace]


def action(key: str, kind: str, **config: Any) -> dict[str, Any]:
    """One action of a document."""
    return {"key": key, "type": kind, "config": config}


def one_step(*actions: dict[str, Any], name: str = "Saludo", **changes: Any) -> dict[str, Any]:
    """An automation of one step that ends."""
    steps = [{"key": "inicio", "actions": [*actions, action("fin", "flow.end")]}]
    return automation(name=name, steps=steps, **changes)


def no_services(**_given: Any) -> object:
    """Services for an action that a test performs itself."""
    return object()
