"""Advance one frame: claim, ask the interpreter, act outside any transaction, record, go on while the budget lasts.

Actions without effect are computed in memory and flushed in one commit with the announcement of the next effect, the
next pause or the end. Whoever claims a frame with an announced effect knows that nobody recorded how it ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from workflows import hints
from workflows.context import ContextTooLarge
from workflows.contracts import Config, Effect
from workflows.definitions.binding import BindFailed
from workflows.definitions.model import Action
from workflows.engine.interpreter import Finish, Halt, Move, Pause, Proceed, action_at, after, check_budget
from workflows.engine.retry import GiveUp
from workflows.services import calls, late, pauses
from workflows.services.calls import WORKER_LOST, Failure, Perform, call_directly
from workflows.services.setting_aside import set_aside
from workflows.services.turn import Closing, Stale, Turn, Unclaimable, claim

log = structlog.get_logger(__name__)

TURN_SECONDS = 2.0
TURN_ACTIONS = 50
MAX_CLAIMS = 3
"""Claims without progress before the frame is set aside as `poisoned`."""


def advance(
    *,
    entity_id: int,
    frame_id: UUID,
    state_version: int,
    perform: Perform = call_directly,
    queue: str = "interactive",
) -> None:
    """Run the frame until its next pause, its end, or the turn's budget; a stale hint does nothing."""
    try:
        turn = claim(entity_id=entity_id, frame_id=frame_id, state_version=state_version)
    except Unclaimable as problem:
        log.exception("frame_unclaimable", frame_id=str(frame_id))
        if problem.claims > MAX_CLAIMS:
            set_aside(entity_id=entity_id, frame_id=frame_id, execution_id=problem.execution_id)
        return
    if turn is None:
        return
    with structlog.contextvars.bound_contextvars(
        execution_id=str(turn.execution_id), entity_id=turn.auth.entity_id
    ):
        try:
            _go_on(turn, perform, queue)
        except Stale:
            if turn.closing is not None:
                late.record(turn)
            log.info("turn_stale", frame_id=str(frame_id))


def _go_on(turn: Turn, perform: Perform, queue: str) -> None:
    try:
        if _recover(turn):
            turn.context.check()
            _run(turn, perform, queue)
    except ContextTooLarge as problem:
        pauses.halt(turn, "context_too_large", {"detail": problem.detail, **problem.extra})


def _recover(turn: Turn) -> bool:
    """Whether the turn may go on: an effect that nobody recorded, or a frame that kills its workers, may not."""
    if turn.open_effect:
        return _recover_effect(turn)
    if turn.claims > MAX_CLAIMS:
        pauses.halt(turn, "poisoned", {"detail": "the frame was claimed again and again without progress"})
        return False
    return True


def _recover_effect(turn: Turn) -> bool:
    """A call was announced and its worker never said how it ended: made again where that is safe."""
    action = action_at(turn.version.automation, turn.state)
    verdict = calls.after_failure(turn, action, WORKER_LOST)
    if isinstance(verdict, GiveUp):
        turn.closing = Closing(turn.seq - 1, "open", None, WORKER_LOST.error, turn.now())
        pauses.outcome_unknown(turn, verdict.reason, WORKER_LOST.error)
        return False
    turn.closing = Closing(turn.seq - 1, "open", None, WORKER_LOST.error, turn.now())
    turn.flush()
    return True


def _run(turn: Turn, perform: Perform, queue: str) -> None:
    automation = turn.version.automation
    while True:
        halted = check_budget(automation, turn.state)
        if halted is not None:
            pauses.halt(turn, halted.reason, {"detail": halted.reason})
            return
        if turn.ran >= TURN_ACTIONS or time.monotonic() - turn.started > TURN_SECONDS:
            turn.flush()
            hints.send(turn.entity_id, turn.frame_id, turn.state_version, queue)
            return
        action = action_at(automation, turn.state)
        began = turn.now()
        bound = _bind(turn, action) if _has_chat(turn, action) else _NO_CHAT
        if isinstance(bound, Failure):
            turn.record(action, status="failed", given=None, started=began, error=bound.error)
            pauses.halt(turn, bound.reason, bound.error)
            return
        if not _step(turn, action, *bound, perform):
            return
        turn.ran += 1


_NO_CHAT = Failure("no_chat", {"detail": "the execution has no contact or no chat to wait in"})


def _has_chat(turn: Turn, action: Action) -> bool:
    return action.reply_wait is None or (turn.contact_id is not None and turn.chat_id is not None)


def _bind(turn: Turn, action: Action) -> tuple[Config, Mapping[str, Any]] | Failure:
    """The action's config with its templates rendered, and the same as stored.

    A further attempt sends what the first one sent: its key names that request and no other.
    """
    if turn.attempt:
        given = pauses.announced_input(turn)
        return action.handler.config.model_validate(given), given
    try:
        return action.bind(turn.context.document)
    except BindFailed as failure:
        return Failure(failure.reason, {"detail": failure.detail, **failure.extra})


def _step(turn: Turn, action: Action, config: Config, given: Mapping[str, Any], perform: Perform) -> bool:
    """Run one action and take its move; whether the turn goes on."""
    began = turn.now()
    has_effect = action.handler.effect is not Effect.NONE
    key = calls.idempotency_key(turn, action) if has_effect else ""
    if has_effect and not pauses.announce(turn, action, given, key):
        return False
    result = calls.perform_action(turn, action, config, key, perform)
    if isinstance(result, Failure):
        _failed(turn, action, given, began, result)
        return False
    move = after(turn.version.automation, turn.state, result, now=turn.now())
    output = result.output
    if isinstance(move, Proceed) and move.passed:
        output = {**(output or {}), "passed": True}
    if output is not None:
        try:
            turn.merge(action, output)
        except ContextTooLarge as problem:
            _does_not_fit(turn, action, given, began, output, move, problem)
            return False
    if isinstance(move, Halt):
        error = {"detail": move.reason, **move.facts}
        _close(turn, action, has_effect, given, began, "failed", None, error)
        pauses.halt(turn, move.reason, error)
        return False
    status = "waiting" if isinstance(move, Pause) else "done"
    seq = _close(turn, action, has_effect, given, began, status, output, None)
    match move:
        case Proceed(state=state):
            turn.enter(state)
            return True
        case Finish(state=state):
            turn.enter(state)
            pauses.finish(turn)
            return False
        case Pause(state=state, outcome=outcome):
            turn.enter(state)
            return pauses.pause(turn, action, seq, outcome)


def _does_not_fit(
    turn: Turn,
    action: Action,
    given: Mapping[str, Any],
    began: datetime,
    output: Mapping[str, Any],
    move: Move,
    problem: ContextTooLarge,
) -> None:
    """The action happened and its output does not fit: it is done, and the execution stands at the next one."""
    has_effect = action.handler.effect is not Effect.NONE
    _close(turn, action, has_effect, given, began, "done", output, None)
    turn.enter(move.state)
    pauses.halt(turn, "context_too_large", {"detail": problem.detail, **problem.extra})


def _failed(turn: Turn, action: Action, given: Mapping[str, Any], began: datetime, failure: Failure) -> None:
    """Leave the call to a later attempt, or pause (A4). The lease is the retry's timer: the sweep finds it."""
    if action.handler.effect is Effect.NONE:
        turn.record(action, status="failed", given=given, started=began, error=failure.error)
        pauses.halt(turn, failure.reason, failure.error)
        return
    verdict = calls.after_failure(turn, action, failure)
    if isinstance(verdict, GiveUp):
        unknown = verdict.reason == "outcome_unknown"
        _close(turn, action, True, given, began, "open" if unknown else "failed", None, failure.error)
        if unknown:
            pauses.outcome_unknown(turn, verdict.reason, failure.error)
        else:
            pauses.halt(turn, verdict.reason, failure.error)
        return
    _close(turn, action, True, given, began, "open", None, failure.error)
    turn.flush(lease=verdict.delay)


def _close(
    turn: Turn,
    action: Action,
    has_effect: bool,
    given: Mapping[str, Any],
    began: datetime,
    status: str,
    output: Mapping[str, Any] | None,
    error: Mapping[str, Any] | None,
) -> int:
    """Record how the action ended with the next flush: on its announced step run, or on a new one."""
    if not has_effect:
        return turn.record(action, status=status, given=given, started=began, output=output, error=error)
    turn.closing = Closing(turn.seq - 1, status, output, error, turn.now())
    return turn.seq - 1
