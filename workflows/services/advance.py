"""Advance one frame: claim, ask the interpreter, act outside any transaction, record, go on while the budget lasts.

Actions without effect are computed in memory and flushed in one commit with the announcement of the next effect, the
next pause or the end. Whoever claims a frame with an announced effect knows that nobody recorded how it ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from workflows import hints
from workflows.context import ContextTooLarge
from workflows.contracts import ActionType, Call, Config, Effect, Outcome
from workflows.definitions.binding import BindFailed
from workflows.definitions.model import Action
from workflows.engine.interpreter import Finish, Halt, Pause, Proceed, action_at, after, check_budget
from workflows.errors import ActionFailure
from workflows.services import late, pauses
from workflows.services.turn import Closing, Stale, Turn, claim

log = structlog.get_logger(__name__)

TURN_SECONDS = 2.0
TURN_ACTIONS = 50
MAX_CLAIMS = 3
"""Claims without progress before the frame is set aside as `poisoned`."""

Perform = Callable[[ActionType[Any], Call, Config], Outcome]


def call_directly(handler: ActionType[Any], call: Call, config: Config) -> Outcome:
    """Run an action without Celery's task around it: tests and tools."""
    return handler.run(call, config)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an action did not give an outcome, as it is stored and shown."""

    reason: str
    error: Mapping[str, Any]


def advance(
    *,
    entity_id: int,
    frame_id: UUID,
    state_version: int,
    perform: Perform = call_directly,
    queue: str = "interactive",
) -> None:
    """Run the frame until its next pause, its end, or the turn's budget; a stale hint does nothing."""
    turn = claim(entity_id=entity_id, frame_id=frame_id, state_version=state_version)
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
            _run(turn, perform, queue)
    except ContextTooLarge as problem:
        pauses.halt(turn, "context_too_large", {"detail": problem.detail, **problem.extra})


def _recover(turn: Turn) -> bool:
    """Whether the turn may go on: an effect that nobody recorded, or a frame that kills its workers, may not."""
    if turn.open_effect:
        pauses.outcome_unknown(turn)
        return False
    if turn.claims > MAX_CLAIMS:
        pauses.halt(turn, "poisoned", {"detail": "the frame was claimed again and again without progress"})
        return False
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
    """The action's config with its templates rendered, and the same as stored."""
    try:
        return action.bind(turn.context.document)
    except BindFailed as failure:
        return Failure(failure.reason, {"detail": failure.detail, **failure.extra})


def _step(turn: Turn, action: Action, config: Config, given: Mapping[str, Any], perform: Perform) -> bool:
    """Run one action and take its move; whether the turn goes on."""
    began = turn.now()
    has_effect = action.handler.effect is not Effect.NONE
    key = ""
    if has_effect:
        key = f"{turn.execution_id}:{turn.version.automation.steps[turn.state.step].key}:{_visit(turn)}:{action.key}:0"
        if not pauses.announce(turn, action, given, key):
            return False
    result = _perform(turn, action, config, key, perform)
    if isinstance(result, Failure):
        _close(turn, action, has_effect, given, began, "failed", None, result.error)
        pauses.fail(turn, result.reason, result.error)
        return False
    move = after(turn.version.automation, turn.state, result, now=turn.now())
    output = result.output
    if isinstance(move, Proceed) and move.passed:
        output = {**(output or {}), "passed": True}
    if output is not None:
        try:
            turn.merge(action, output)
        except ContextTooLarge as problem:
            error = {"detail": problem.detail, **problem.extra}
            _close(turn, action, has_effect, given, began, "failed", None, error)
            pauses.halt(turn, "context_too_large", error)
            return False
    if isinstance(move, Halt):
        error = {"detail": move.reason}
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


def _visit(turn: Turn) -> int:
    return turn.state.visits.get(turn.version.automation.steps[turn.state.step].key, 1)


def _close(
    turn: Turn,
    action: Action,
    has_effect: bool,
    given: Mapping[str, Any],
    began: Any,
    status: str,
    output: Mapping[str, Any] | None,
    error: Mapping[str, Any] | None,
) -> int:
    """Record how the action ended with the next flush: on its announced step run, or on a new one."""
    if not has_effect:
        return turn.record(action, status=status, given=given, started=began, output=output, error=error)
    turn.closing = Closing(turn.seq - 1, status, output, error, turn.now())
    return turn.seq - 1


def _perform(turn: Turn, action: Action, config: Config, key: str, perform: Perform) -> Outcome | Failure:
    """Call the handler; what it raises on purpose is a reason, anything else is a bug with an incident id."""
    handler = action.handler
    services = None
    try:
        if handler.category != "flow":
            services = import_string(settings.SERVICES_FACTORY)(
                auth=turn.auth, idempotency_key=key, deadline_s=handler.limit_s
            )
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
        return Failure(failure.reason, {"detail": failure.detail, **failure.extra})
    except Exception as bug:
        incident = str(uuid4())
        log.exception("action_failed_unexpectedly", incident=incident, action=action.key, type=action.kind)
        return Failure(
            "unexpected", {"detail": f"{type(bug).__name__} in {action.kind}", "incident": incident}
        )
