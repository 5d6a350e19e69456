"""The reply slot of a contact and chat (A14): one execution reserves, arms, holds or frees it, under one lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from workflows.contracts import ReplyWait
from workflows.models import SLOT_STATES, Timer, Wait
from workflows.models.base import uuid7


def lock_chat(*, entity_id: int, contact_id: str | None, chat_id: str | None) -> None:
    """Serialise all that reserves, arms, resolves, frees or promotes for this contact and chat, until the commit.

    Taken before any row lock (decision 29); the key is a hash, so two chats may share one, which only makes them wait.
    """
    if contact_id is None or chat_id is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_advisory_xact_lock(hashtextextended(%s, %s))",
            [f"{contact_id}\x1f{chat_id}", entity_id],
        )


def take_slot(
    *,
    entity_id: int,
    frame_id: UUID,
    contact_id: str,
    chat_id: str,
    step_key: str,
    action_key: str,
    seq: int,
    wait: ReplyWait,
    now: datetime,
    armed: bool,
) -> bool:
    """Reserve (or, `armed`, open) the slot for a frame, which keeps what it has of it; False: another has it, and the
    frame is queued for it (decisions 10 to 12). The deadline runs from now on; a reservation's is a fallback."""
    reserved = reservation_of(entity_id=entity_id, frame_id=frame_id)
    if reserved is not None:
        _move_reservation(reserved, step_key, action_key, seq, wait, now, armed=armed)
        return True
    end_waits(entity_id=entity_id, frame_id=frame_id, states=("held",), now=now)
    fields = {
        "entity_id": entity_id,
        "frame_id": frame_id,
        "kind": "reply",
        "contact_id": contact_id,
        "chat_id": chat_id,
        "step_key": step_key,
        "action_key": action_key,
        "seq": seq,
        "timeout": wait.timeout,
        "collect": wait.collect,
        "created_at": now,
    }
    taken = Wait.objects.filter(
        entity_id=entity_id, contact_id=contact_id, chat_id=chat_id, kind="reply", state__in=SLOT_STATES
    ).exists()
    if taken:
        Wait.objects.create(id=uuid7(), state="queued", **fields)
        return False
    created = Wait.objects.create(
        id=uuid7(),
        state="open" if armed else "reserved",
        armed_at=now if armed else None,
        deadline=now + wait.timeout,
        **fields,
    )
    Timer.objects.create(entity_id=entity_id, wait_id=created.id, due_at=now + wait.timeout)
    return True


def reservation_of(*, entity_id: int, frame_id: UUID) -> Wait | None:
    """The frame's reservation, if it has one."""
    found: Wait | None = Wait.objects.filter(entity_id=entity_id, frame_id=frame_id, state="reserved").first()
    return found


def arm(*, wait: Wait, step_key: str, action_key: str, seq: int, timeout: timedelta, now: datetime) -> None:
    """Turn a reservation into an open wait whose time starts now (decision 9)."""
    Wait.objects.filter(pk=wait.pk, entity_id=wait.entity_id, state="reserved").update(
        state="open",
        step_key=step_key,
        action_key=action_key,
        seq=seq,
        timeout=timeout,
        armed_at=now,
        deadline=now + timeout,
    )
    Timer.objects.filter(wait_id=wait.pk).update(due_at=now + timeout, taken_until=None)


def gather_until(*, wait: Wait, over: datetime) -> None:
    """An answer has come, and further messages are gathered until this instant (decision 34): the wait ends then."""
    Wait.objects.filter(pk=wait.pk, entity_id=wait.entity_id).update(gathered=wait.gathered, deadline=over)
    Timer.objects.filter(wait_id=wait.pk).update(due_at=over, taken_until=None)


def hold(*, wait: Wait, now: datetime, resolution: str) -> None:
    """A reply resolved the wait; its turn keeps the slot (decision 10)."""
    Wait.objects.filter(pk=wait.pk, entity_id=wait.entity_id).update(
        state="held", resolved_at=now, resolution=resolution
    )
    Timer.objects.filter(wait_id=wait.pk).delete()


def free_slots(*, entity_id: int, frame_id: UUID, now: datetime, state: str = "resolved") -> list[UUID]:
    """Give up what the frame reserves, holds or queues for; the kept messages, to be routed on (decision 12)."""
    return end_waits(
        entity_id=entity_id, frame_id=frame_id, states=("queued", *SLOT_STATES), now=now, state=state
    )


def end_waits(
    *, entity_id: int, frame_id: UUID, states: Sequence[str], now: datetime, state: str = "resolved"
) -> list[UUID]:
    """End the frame's waits that are in `states`, with their timers; the messages that reservations had kept."""
    ended = list(Wait.objects.filter(entity_id=entity_id, frame_id=frame_id, state__in=list(states)))
    for wait in ended:
        Wait.objects.filter(pk=wait.pk, entity_id=entity_id).update(
            state="resolved" if wait.state == "held" else state,
            resolved_at=wait.resolved_at or now,
            resolution=wait.resolution or "freed",
        )
    Timer.objects.filter(wait_id__in=[wait.pk for wait in ended]).delete()
    return [wait.kept_message_id for wait in ended if wait.kept_message_id and wait.state == "reserved"]


def _move_reservation(
    reserved: Wait, step_key: str, action_key: str, seq: int, wait: ReplyWait, now: datetime, *, armed: bool
) -> None:
    """A further message of the same turn: its reservation is the one there is, with the reply that it may have kept."""
    if armed:
        arm(wait=reserved, step_key=step_key, action_key=action_key, seq=seq, timeout=wait.timeout, now=now)
        return
    deadline = now + wait.timeout
    Wait.objects.filter(pk=reserved.pk, entity_id=reserved.entity_id).update(
        step_key=step_key,
        action_key=action_key,
        seq=seq,
        timeout=wait.timeout,
        collect=wait.collect,
        deadline=deadline,
    )
    Timer.objects.filter(wait_id=reserved.pk).update(due_at=deadline, taken_until=None)
