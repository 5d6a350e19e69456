"""Set aside a frame that no worker can open, without opening it (G5: never lost)."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from workflows import clock, tenancy
from workflows.models import Execution, Frame
from workflows.services import executions, inbound, slots
from workflows.services.incidents import raise_incident

DETAIL = "the frame was claimed again and again and could not be opened"


def set_aside(*, entity_id: int, frame_id: UUID, execution_id: UUID) -> None:
    """`paused_error` / `poisoned`, with an incident; its slot goes free.

    An operator moves it to a version that compiles, or cancels.
    """
    with tenancy.entity(entity_id):
        found = Execution.objects.values("contact_id", "chat_id").get(pk=execution_id, entity_id=entity_id)
        slots.lock_chat(entity_id=entity_id, **found)
        moved = executions.move_execution(
            entity_id=entity_id,
            execution_id=execution_id,
            sources=["running"],
            target="paused_error",
            actor="engine",
            event="paused",
            reason="poisoned",
            error={"detail": DETAIL},
            now=clock.now(),
        )
        if not moved:
            return
        Frame.objects.filter(pk=frame_id, entity_id=entity_id, status="running").update(
            status="waiting", state_version=F("state_version") + 1
        )
        raise_incident(
            entity_id=entity_id,
            cause=f"poisoned:{execution_id}",
            reason="poisoned",
            execution_id=execution_id,
            data={"detail": DETAIL},
        )
        kept = slots.free_slots(entity_id=entity_id, frame_id=frame_id, now=clock.now())
        inbound.after_end(entity_id=entity_id, ended=executions.Ended(**found, kept=kept))
