"""How a turn stops: announced effects, waits, delays, halts and the end, each with the slot it takes or frees."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from workflows import clock, tenancy
from workflows import context as contexts
from workflows.contracts import Delay, WaitForReply
from workflows.definitions.model import Action
from workflows.models import Execution, InboundMessage, StepRun, Timer, Wait
from workflows.models.base import uuid7
from workflows.replies import facts_of, reply_of
from workflows.services import conflicts, inbound, slots
from workflows.services.incidents import RAISING, raise_incident
from workflows.services.turn import Stale, Turn

LEASE_MARGIN = 15.0
"""Seconds by which a lease outlives the time limit of the call that it covers."""


def announce(turn: Turn, action: Action, given: Mapping[str, Any], key: str) -> bool:
    """Commit that the effect is about to be asked for; False: the reply slot is taken and the action stands unsent."""
    lease = action.handler.limit_s + LEASE_MARGIN
    turn.attempt += 1
    if turn.attempt > 1:
        turn.flush(open_effect=True, key=key, lease=lease)
        return True
    if action.reservation is None or turn.contact_id is None or turn.chat_id is None:
        turn.record(action, status="open", given=given, started=turn.now())
        turn.flush(open_effect=True, key=key, lease=lease)
        return True
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        got = slots.take_slot(
            **_owner(turn),
            step_key=_step_key(turn),
            action_key=action.key,
            seq=turn.seq,
            wait=action.reservation,
            now=clock.now(),
            armed=False,
        )
        turn.slot = True
        if got:
            turn.record(action, status="open", given=given, started=turn.now())
            turn.flush(open_effect=True, key=key, lease=lease)
        else:
            turn.attempt = 0
            turn.settle(status="queued_wait_conflict", event="queued", data={"action": action.key})
    return got


def announced_input(turn: Turn) -> dict[str, Any]:
    """What the open step run was announced with."""
    with tenancy.entity(turn.entity_id):
        given: dict[str, Any] = StepRun.objects.values_list("input", flat=True).get(
            entity_id=turn.entity_id, frame_id=turn.frame_id, seq=turn.seq - 1
        )
        return given


def pause(turn: Turn, action: Action, seq: int, outcome: WaitForReply | Delay) -> bool:
    """Arm the wait; True: the answer was there before the wait (decision 12), so the turn goes on."""
    if isinstance(outcome, Delay):
        _delay(turn, action, seq, outcome)
        return False
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        now = clock.now()
        reserved = slots.reservation_of(entity_id=turn.entity_id, frame_id=turn.frame_id)
        turn.slot = True
        over = _collected_at(reserved)
        if reserved is not None and reserved.kept_message_id is not None and (over is None or over <= now):
            _take_kept(turn, reserved, seq)
            return True
        if reserved is not None:
            slots.arm(
                wait=reserved,
                step_key=_step_key(turn),
                action_key=action.key,
                seq=seq,
                timeout=outcome.wait.timeout,
                now=now,
            )
            if over is not None:
                slots.gather_until(wait=reserved, over=over)
            got = True
        else:
            got = slots.take_slot(
                **_owner(turn),
                step_key=_step_key(turn),
                action_key=action.key,
                seq=seq,
                wait=outcome.wait,
                now=now,
                armed=True,
            )
        if got:
            data = {"action": action.key, "until": now + outcome.wait.timeout}
            turn.settle(status="waiting_for_reply", event="waiting", data=data)
        else:
            turn.settle(status="queued_wait_conflict", event="queued", data={"action": action.key})
    return False


def _collected_at(reserved: Wait | None) -> datetime | None:
    """When the window ends in which a reservation that has its answer gathers further messages (decision 34)."""
    if reserved is None or reserved.kept_message_id is None or not reserved.collect:
        return None
    answered: datetime = InboundMessage.objects.values_list("received_at", flat=True).get(
        pk=reserved.kept_message_id, entity_id=reserved.entity_id
    )
    return answered + reserved.collect


def _take_kept(turn: Turn, wait: Wait, seq: int) -> None:
    """The reply came while the question was being sent: merge it and go on without pausing."""
    _answered(turn, seq)
    message = InboundMessage.objects.get(pk=wait.kept_message_id, entity_id=turn.entity_id)
    turn.context = contexts.merge_facts(
        contexts.merge_reply(
            turn.context, wait.gathered or reply_of(message.event, received_at=message.received_at)
        ),
        facts_of(message.event),
    )
    slots.hold(wait=wait, now=clock.now(), resolution="reply")
    turn.flush()
    saved = Execution.objects.filter(pk=turn.execution_id, entity_id=turn.entity_id, status="running").update(
        context=turn.stored_context(), context_seq=turn.seq
    )
    if not saved:
        raise Stale


def _answered(turn: Turn, seq: int) -> None:
    """The step run is recorded as done, not as waiting, whether its reply fits into the context or not."""
    if turn.closing is not None and turn.closing.seq == seq:
        turn.closing.status = "done"
    for run in turn.pending:
        if run["seq"] == seq:
            run.update(status="done", finished_at=turn.now())


def _delay(turn: Turn, action: Action, seq: int, outcome: Delay) -> None:
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        now = clock.now()
        until = min(outcome.until, now + timedelta(days=30))
        _free(turn)
        turn.settle(status="delayed", event="delayed", data={"action": action.key, "until": until})
        wait = Wait.objects.create(
            id=uuid7(),
            entity_id=turn.entity_id,
            frame_id=turn.frame_id,
            kind="delay",
            state="open",
            step_key=_step_key(turn),
            action_key=action.key,
            seq=seq,
            created_at=now,
            armed_at=now,
            deadline=until,
        )
        Timer.objects.create(entity_id=turn.entity_id, wait_id=wait.pk, due_at=until)


def finish(turn: Turn) -> None:
    """The execution is complete; a slot that its turn held goes free in the same transaction."""
    if not turn.slot:
        turn.settle(status="completed", event="completed")
        return
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        turn.settle(status="completed", event="completed")
        _free(turn)


def halt(turn: Turn, reason: str, error: Mapping[str, Any]) -> None:
    """Stand in `paused_error` at the present action; nothing after it runs (A4, G5)."""
    if not turn.slot and reason not in RAISING:
        turn.settle(status="paused_error", event="paused", reason=reason, error=error)
        return
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        turn.settle(status="paused_error", event="paused", reason=reason, error=error)
        _free(turn)
        if reason in RAISING:
            raise_incident(
                entity_id=turn.entity_id,
                cause=f"{reason}:{turn.version.workflow_id}:{_step_key(turn)}",
                reason=reason,
                execution_id=turn.execution_id,
                data=error,
            )


def outcome_unknown(turn: Turn, reason: str, error: Mapping[str, Any]) -> None:
    """Only a person can say whether the effect happened. Its step run stays open for a late answer, and its
    reservation until the question's time is over (decision 12); a slot that was only held goes free (decision 10)."""
    if not turn.slot:
        turn.settle(status="paused_error", event="paused", reason=reason, error=error)
        return
    with tenancy.entity(turn.entity_id):
        _lock(turn)
        turn.settle(status="paused_error", event="paused", reason=reason, error=error)
        if slots.reservation_of(entity_id=turn.entity_id, frame_id=turn.frame_id) is None:
            _free(turn)


def _free(turn: Turn) -> None:
    kept = slots.free_slots(entity_id=turn.entity_id, frame_id=turn.frame_id, now=clock.now())
    turn.slot = False
    inbound.route_on(entity_id=turn.entity_id, message_ids=kept)
    conflicts.promote_next(
        entity_id=turn.entity_id, contact_id=turn.contact_id, chat_id=turn.chat_id, now=clock.now()
    )


def _lock(turn: Turn) -> None:
    slots.lock_chat(entity_id=turn.entity_id, contact_id=turn.contact_id, chat_id=turn.chat_id)


def _step_key(turn: Turn) -> str:
    return turn.version.automation.steps[turn.state.step].key


def _owner(turn: Turn) -> dict[str, Any]:
    return {
        "entity_id": turn.entity_id,
        "frame_id": turn.frame_id,
        "contact_id": turn.contact_id,
        "chat_id": turn.chat_id,
    }
