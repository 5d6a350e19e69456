"""One worker's stay with one frame: what it holds in memory, and how that is flushed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import psycopg
from django.db import DataError, InterfaceError, OperationalError, connection

from workflows import context as contexts
from workflows import tenancy
from workflows.context import Context
from workflows.definitions.model import Action
from workflows.engine.state import State
from workflows.jsontext import dumps
from workflows.ports import Auth
from workflows.services.statements import CLAIM, FLUSH, LEASE_SECONDS, SETTLE
from workflows.services.versions import CompiledVersion, cached_version, load_version


class Stale(Exception):
    """Somebody else moved the frame: this turn's work is void, and nothing of it was written."""


class Unclaimable(Exception):
    """A frame was claimed that cannot be opened: its version no longer compiles, or its context is not readable."""

    def __init__(self, execution_id: UUID, *, claims: int) -> None:
        super().__init__(f"execution {execution_id} was claimed {claims} times and cannot be opened")
        self.execution_id = execution_id
        self.claims = claims


@dataclass(slots=True)
class Closing:
    """An effect that was announced and has returned, to be recorded with the next flush.

    `status` is the step run's: `open` where the call failed and is made again.
    """

    seq: int
    status: str
    output: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    finished_at: datetime


@dataclass(slots=True)
class Turn:
    """The claimed frame, its context in memory, and what is not yet written."""

    entity_id: int
    frame_id: UUID
    execution_id: UUID
    version: CompiledVersion
    state: State
    state_version: int
    seq: int
    claims: int
    open_effect: bool
    attempt: int
    retry: int
    contact_id: str | None
    chat_id: str | None
    context: Context
    zone: ZoneInfo
    auth: Auth
    slot: bool
    claimed_at: datetime
    started: float = field(default_factory=time.monotonic)
    pending: list[dict[str, Any]] = field(default_factory=list)
    closing: Closing | None = None
    ran: int = 0

    def now(self) -> datetime:
        """The database's clock at the claim, moved on by this process's."""
        return self.claimed_at + timedelta(seconds=time.monotonic() - self.started)

    def record(
        self,
        action: Action,
        *,
        status: str,
        given: Mapping[str, Any] | None,
        started: datetime,
        output: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a step run to the next flush; its number."""
        seq = self.seq
        self.seq += 1
        step = self.version.automation.steps[self.state.step]
        self.pending.append(
            {
                "seq": seq,
                "step_key": step.key,
                "action_key": action.key,
                "visit": self.state.visits.get(step.key, 1),
                "type": action.kind,
                "status": status,
                "retry": self.retry,
                "input": given,
                "output": output,
                "error": error,
                "started_at": started,
                "finished_at": None if status in ("open", "waiting") else self.now(),
            }
        )
        return seq

    def enter(self, state: State) -> None:
        """Take the interpreter's next state, and show its visits to the context (F2)."""
        self.attempt = self.retry = 0
        if state.visits is not self.state.visits:
            self.context = contexts.with_visits(self.context, state.visits)
        self.state = state

    def merge(self, action: Action, output: Mapping[str, Any]) -> None:
        """Add an action's output to the context; raise `ContextTooLarge` (decision 20)."""
        self.context = _merged(self.context, action, output)

    def flush(self, *, open_effect: bool = False, key: str = "", lease: float = LEASE_SECONDS) -> None:
        """Write the position and all that is pending in one commit; raise `Stale` where the frame moved on."""
        parameters = [*self._move_parameters("running", open_effect, lease), *self._run_parameters()]
        if open_effect:
            seq, number = self.seq - 1, self.attempt
            parameters += [self.entity_id, seq, number, key, self.now(), number, self.entity_id, seq, number]
        rows = _write(self.entity_id, FLUSH[self.closing is not None, open_effect], parameters)
        if not rows:
            raise Stale
        self._written()

    def settle(
        self,
        *,
        status: str,
        event: str,
        reason: str = "",
        error: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """`flush` with the execution's new status, its context and an event; raise `Stale` where either moved on."""
        final = status == "completed"
        frame_status = "done" if final else "waiting"
        parameters = [
            status,
            reason,
            None if error is None else dumps(error),
            dumps(self.stored_context()),
            self.seq,
            final,
            self.execution_id,
            self.entity_id,
            *self._move_parameters(frame_status, False, LEASE_SECONDS),
            *self._run_parameters(),
            self.entity_id,
            event,
            status,
            reason,
            dumps(data or {}),
        ]
        try:
            rows = _write(self.entity_id, SETTLE[self.closing is not None], parameters)
        except DataError as error:
            if isinstance(error.__cause__, psycopg.errors.DivisionByZero):  # the frame moved on: see `settle`
                raise Stale from None
            raise
        if not rows or rows[0][0] != 1:
            raise Stale
        self._written()

    def stored_context(self) -> dict[str, Any]:
        """The context as the execution's row keeps it: all but what is true of this moment only."""
        return {root: value for root, value in self.context.document.items() if root != "entity"}

    def _move_parameters(self, status: str, open_effect: bool, lease: float) -> list[Any]:
        state = self.state
        return [
            state.step,
            state.action,
            dumps(state.visits),
            state.actions,
            state.sends,
            self.seq,
            self.attempt,
            self.retry,
            open_effect,
            status,
            lease,
            self.frame_id,
            self.entity_id,
            self.state_version,
        ]

    def _run_parameters(self) -> list[Any]:
        parameters: list[Any] = [self.entity_id, dumps(self.pending)]
        closing = self.closing
        if closing is not None:
            error = None if closing.error is None else dumps(closing.error)
            parameters += [
                closing.status,
                None if closing.output is None else dumps(closing.output),
                error,
                None if closing.status in ("open", "waiting") else closing.finished_at,
                self.entity_id,
                closing.seq,
                closing.finished_at,
                error,
                self.entity_id,
                closing.seq,
            ]
        return parameters

    def _written(self) -> None:
        self.state_version += 1
        self.pending = []
        self.closing = None


def claim(*, entity_id: int, frame_id: UUID, state_version: int) -> Turn | None:
    """Take the frame for this worker, or None: it has moved on, ended, or is another's."""
    parameters = [LEASE_SECONDS, frame_id, entity_id, state_version, entity_id]
    rows = _write(entity_id, CLAIM, parameters)
    if not rows:
        return None
    try:
        return _opened(entity_id, frame_id, rows[0])
    except Exception as problem:
        raise Unclaimable(rows[0][0], claims=rows[0][8]) from problem


def _write(entity_id: int, sql: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    """A compare-and-set, made again on a fresh connection where the server went away: a commit whose answer was lost
    then finds another state and is stale. Inside a transaction the caller's work is gone, so nothing is repeated."""
    for pause in (0.2, 1.0, 3.0):
        try:
            return tenancy.run_statement(entity_id, sql, parameters)
        except (OperationalError, InterfaceError):
            if connection.in_atomic_block:
                raise
            connection.close()
            time.sleep(pause)
    return tenancy.run_statement(entity_id, sql, parameters)


def _opened(entity_id: int, frame_id: UUID, row: tuple[Any, ...]) -> Turn:
    """The turn of a claimed row."""
    (execution_id, version_of_state, step, action, visits, actions, sends, seq, claims, open_effect,
     attempt, retry, version_id, contact_id, chat_id, stored, now, slot, outputs,
     external_id, timezone, user_id, employee_id) = row  # fmt: skip
    version = cached_or_loaded(entity_id, version_id)
    zone = ZoneInfo(timezone)
    state = State(step, action, json.loads(visits), actions, sends)
    document = json.loads(stored)
    document["workflow"] = {
        "id": str(version.workflow_id),
        "version": version.number,
        "step_visits": dict(state.visits),
    }
    document["entity"] = {"id": external_id, "timezone": timezone, "now": now.astimezone(zone).isoformat()}
    context = contexts.open_context(document)
    for step_key, action_key, output in json.loads(outputs) if outputs else ():
        context = _merged(context, version.automation.action(step_key, action_key), output)
    return Turn(
        entity_id=entity_id,
        frame_id=frame_id,
        execution_id=execution_id,
        version=version,
        state=state,
        state_version=version_of_state,
        seq=seq,
        claims=claims,
        open_effect=open_effect,
        attempt=attempt,
        retry=retry,
        contact_id=contact_id,
        chat_id=chat_id,
        context=context,
        zone=zone,
        auth=Auth(entity_id=external_id, user_id=user_id or None, employee_id=employee_id or None),
        slot=slot,
        claimed_at=now,
    )


def _merged(context: Context, action: Action, output: Mapping[str, Any]) -> Context:
    return contexts.add_output(context, action.handler.category, action.output_key, output)


def cached_or_loaded(entity_id: int, version_id: int) -> CompiledVersion:
    """The compiled version, in a scope of its own only where this process has not seen it."""
    found = cached_version(entity_id=entity_id, version_id=version_id)
    if found is not None:
        return found
    with tenancy.entity(entity_id):
        return load_version(entity_id=entity_id, version_id=version_id)
