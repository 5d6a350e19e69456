"""What an operator does with an execution that stands in `paused_error` (decision 14): retry, done or skip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import F
from pydantic import ValidationError

from workflows import clock
from workflows import context as contexts
from workflows.contracts import Effect, ReplyWait
from workflows.definitions.model import Action
from workflows.errors import N_, IllegalTransition, InvalidInput, NotFound, StaleState
from workflows.models import Execution, Frame, InboundMessage, StepRun, Version
from workflows.replies import facts_of, reply_of
from workflows.services import conflicts, executions, inbound, slots
from workflows.services.versions import CompiledVersion, load_version

ResumeAs = Literal["retry", "done", "skip"]


@dataclass(slots=True)
class _Standing:
    """The locked execution, its frame, and the action at which it stands."""

    execution: Execution
    frame: Frame
    version: CompiledVersion
    now: datetime

    @property
    def step_key(self) -> str:
        return self.version.automation.steps[self.frame.step].key

    @property
    def action(self) -> Action:
        return self.version.automation.steps[self.frame.step].actions[self.frame.action]


def resume_execution(
    *,
    entity_id: int,
    execution_id: UUID,
    how: ResumeAs,
    actor: str,
    reason: str,
    state_version: int | None = None,
    output: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> None:
    """Let a paused execution go on, in the caller's scope; NotFound, StaleState, IllegalTransition or InvalidInput
    where it cannot, and nothing changed.

    `retry` repeats the action from its beginning with a new key; `done` counts it as done with `output`, which is
    validated and merged; `skip` leaves it out. `version` moves the execution to another published version first.
    """
    standing = _lock(entity_id, execution_id, state_version)
    if version is not None:
        _change_version(standing, version)
    action = standing.action
    match how:
        case "retry":
            target, kept = _retry(standing)
        case "done":
            target, kept = _done(standing, output)
        case "skip":
            target, kept = _skip(standing)
    _save(standing)
    data: dict[str, Any] = {"by": how, "why": reason, "action": action.key}
    if version is not None:
        data["version"] = version
    executions.move_execution(
        entity_id=entity_id,
        execution_id=execution_id,
        sources=["paused_error"],
        target=target,
        actor=actor,
        event="resumed",
        data=data,
        context=standing.execution.context,
        context_seq=standing.frame.seq,
        now=standing.now,
    )
    if target == "running":
        executions.wake_frame(entity_id=entity_id, frame_id=standing.frame.pk)
    inbound.route_on(entity_id=entity_id, message_ids=kept)
    conflicts.promote_next(
        entity_id=entity_id,
        contact_id=standing.execution.contact_id,
        chat_id=standing.execution.chat_id,
        now=standing.now,
    )


def _lock(entity_id: int, execution_id: UUID, state_version: int | None) -> _Standing:
    found = Execution.objects.filter(pk=execution_id, entity_id=entity_id).first()
    if found is None:
        raise NotFound
    slots.lock_chat(entity_id=entity_id, contact_id=found.contact_id, chat_id=found.chat_id)
    execution = Execution.objects.select_for_update(no_key=True).get(pk=execution_id, entity_id=entity_id)
    if state_version is not None and execution.state_version != state_version:
        raise StaleState(state_version=execution.state_version, present=execution.status)
    if execution.status != "paused_error":
        raise IllegalTransition(state_version=execution.state_version, present=execution.status)
    frame = Frame.objects.select_for_update(no_key=True).get(
        execution_id=execution_id, parent__isnull=True, entity_id=entity_id
    )
    compiled = load_version(entity_id=entity_id, version_id=execution.version_id)
    return _Standing(execution, frame, compiled, clock.now())


def _change_version(standing: _Standing, number: int) -> None:
    """Move to another published version that has the same keys where the execution stands: the way to mend a wrong
    definition for those inside."""
    execution, frame = standing.execution, standing.frame
    row = Version.objects.filter(
        entity_id=execution.entity_id, workflow_id=execution.workflow_id, number=number
    ).first()
    if row is None:
        raise InvalidInput(fields={"version": N_("There is no such published version.")})
    compiled = load_version(entity_id=execution.entity_id, version_id=row.pk)
    step_key, action_key = standing.step_key, standing.action.key
    step = compiled.automation.index.get(step_key)
    keys = [action.key for action in compiled.automation.steps[step].actions] if step is not None else []
    if step is None or action_key not in keys:
        raise InvalidInput(fields={"version": N_("That version has no such step and action.")})
    frame.step, frame.action = step, keys.index(action_key)
    standing.version = compiled
    Execution.objects.filter(pk=execution.pk, entity_id=execution.entity_id).update(version_id=row.pk)


def _retry(standing: _Standing) -> tuple[str, list[UUID]]:
    """The action again, from its beginning, under a new key (decision 13)."""
    execution, frame = standing.execution, standing.frame
    error = execution.error or {}
    if execution.reason == "send_budget_exceeded":
        raise IllegalTransition(
            N_("No further message may be sent: skip it or cancel."), present=execution.reason
        )
    if execution.reason == "max_step_visits_exceeded" and "step" in error:
        frame.visits = {**frame.visits, error["step"]: 0}
    _end_open_run(standing, status="failed")
    if standing.action.handler.effect is not Effect.NONE:
        frame.retry += 1
    return "running", _free(standing)


def _skip(standing: _Standing) -> tuple[str, list[UUID]]:
    """The next action, with no effect and no output of this one; its wait is skipped too."""
    _refuse_terminal(standing)
    if not _end_open_run(standing, status="skipped"):
        _add_run(standing, status="skipped", output=None)
    standing.frame.action += 1
    standing.frame.retry = 0
    return "running", _free(standing)


def _done(standing: _Standing, output: Mapping[str, Any] | None) -> tuple[str, list[UUID]]:
    """The next action, as if this one had given `output`; a question's wait is armed now, and the reservation of a
    message whose wait comes later in the step lives on (decision 12)."""
    _refuse_terminal(standing)
    action = standing.action
    checked = _checked_output(action, output)
    if not _end_open_run(standing, status="done", output=checked):
        _add_run(standing, status="done", output=checked)
    execution, frame = standing.execution, standing.frame
    step_key, seq = standing.step_key, frame.seq - 1
    if checked is not None:
        context = contexts.open_context(execution.context)
        added = contexts.add_output(context, action.handler.category, action.output_key, checked)
        execution.context = dict(added.document)
    frame.action += 1
    frame.retry = 0
    if action.reply_wait is None:
        return "running", [] if action.reservation is not None else _free(standing)
    return _arm(standing, action.reply_wait, step_key, action.key, seq), []


def _arm(standing: _Standing, wait: ReplyWait, step_key: str, action_key: str, seq: int) -> str:
    """Wait for the answer from now on; one that came meanwhile is taken at once (decision 12)."""
    execution, frame = standing.execution, standing.frame
    reserved = slots.reservation_of(entity_id=execution.entity_id, frame_id=frame.pk)
    if reserved is not None and reserved.kept_message_id is not None:
        message = InboundMessage.objects.get(pk=reserved.kept_message_id, entity_id=execution.entity_id)
        context = contexts.open_context(execution.context)
        reply = reserved.gathered or reply_of(message.event, received_at=message.received_at)
        answered = contexts.merge_facts(contexts.merge_reply(context, reply), facts_of(message.event))
        execution.context = dict(answered.document)
        slots.hold(wait=reserved, now=standing.now, resolution="reply")
        return "running"
    StepRun.objects.filter(entity_id=execution.entity_id, frame_id=frame.pk, seq=seq).update(status="waiting")
    if reserved is not None:
        slots.arm(
            wait=reserved,
            step_key=step_key,
            action_key=action_key,
            seq=seq,
            timeout=wait.timeout,
            now=standing.now,
        )
        return "waiting_for_reply"
    if execution.contact_id is None or execution.chat_id is None:
        raise IllegalTransition(
            N_("The execution has no chat to wait in: skip the action."), present="no_chat"
        )
    got = slots.take_slot(
        entity_id=execution.entity_id,
        frame_id=frame.pk,
        contact_id=execution.contact_id,
        chat_id=execution.chat_id,
        step_key=step_key,
        action_key=action_key,
        seq=seq,
        wait=wait,
        now=standing.now,
        armed=True,
    )
    return "waiting_for_reply" if got else "queued_wait_conflict"


def _refuse_terminal(standing: _Standing) -> None:
    if standing.action.handler.terminal:
        raise IllegalTransition(
            N_("An action that decides where to go on can only be retried."),
            present=standing.execution.status,
        )


def _checked_output(action: Action, output: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The output as the action would have given it; InvalidInput names the field that does not fit."""
    model = action.handler.output
    if model is None:
        if output:
            raise InvalidInput(fields={"output": N_("This action has no output.")})
        return None
    try:
        return model.model_validate(output or {}).model_dump(mode="json")
    except ValidationError as problem:
        fields = {
            ".".join(["output", *map(str, error["loc"])]): error["msg"]
            for error in problem.errors(include_url=False, include_input=False)
        }
        raise InvalidInput(fields=fields) from None


def _end_open_run(standing: _Standing, *, status: str, output: Mapping[str, Any] | None = None) -> bool:
    """Close the step run that an unknown outcome left open; whether there was one."""
    frame = standing.frame
    return bool(
        StepRun.objects.filter(
            entity_id=frame.entity_id, frame_id=frame.pk, seq=frame.seq - 1, status="open"
        ).update(status=status, output=output, finished_at=standing.now)
    )


def _add_run(standing: _Standing, *, status: str, output: Mapping[str, Any] | None) -> None:
    frame, action = standing.frame, standing.action
    StepRun.objects.create(
        entity_id=frame.entity_id,
        frame_id=frame.pk,
        seq=frame.seq,
        step_key=standing.step_key,
        action_key=action.key,
        visit=frame.visits.get(standing.step_key, 1),
        type=action.kind,
        status=status,
        retry=frame.retry + 1,
        output=output,
        started_at=standing.now,
        finished_at=standing.now,
    )
    frame.seq += 1


def _free(standing: _Standing) -> list[UUID]:
    return slots.free_slots(entity_id=standing.frame.entity_id, frame_id=standing.frame.pk, now=standing.now)


def _save(standing: _Standing) -> None:
    frame = standing.frame
    Frame.objects.filter(pk=frame.pk, entity_id=frame.entity_id).update(
        step=frame.step,
        action=frame.action,
        visits=frame.visits,
        seq=frame.seq,
        retry=frame.retry,
        attempt=0,
        actions=0,
        open_effect=False,
        state_version=F("state_version") + 1,
    )
