"""Reads an automation: every violation at once (decision 19), or the compiled definition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from workflows.contracts import ReplyWait
from workflows.definitions.binding import find_slots
from workflows.definitions.drafts import ActionDraft, Session, StepDraft, TriggerDraft, present
from workflows.definitions.guard import check_document
from workflows.definitions.model import Action, Automation, Step, Trigger
from workflows.definitions.read_steps import read_steps
from workflows.definitions.read_trigger import read_triggers
from workflows.definitions.rules import check_rules, needs_contact
from workflows.definitions.shapes import Header
from workflows.definitions.violations import Findings, Violation
from workflows.errors import N_, InvalidDefinition


@dataclass(frozen=True, slots=True)
class Reading:
    """The definition, or what it breaks; warnings come with either."""

    definition: Automation | None
    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]


def read_automation(document: Any, *, now: datetime | None = None, zone: ZoneInfo | None = None) -> Reading:
    """Check the whole document; never raises. With `now` and `zone` literal date-times are checked (A6)."""
    session = Session(Findings(), now, zone)
    definition = None
    if check_document(document, session.findings):
        definition = _read(document, session)
    return Reading(
        definition,
        session.findings.ordered(document, "error"),
        session.findings.ordered(document, "warning"),
    )


def compile_automation(document: Any) -> Automation:
    """The definition of a stored document; InvalidDefinition, with `violations`, if it breaks a rule."""
    reading = read_automation(document)
    if reading.definition is None:
        raise InvalidDefinition(violations=reading.violations)
    return reading.definition


def _read(document: Any, session: Session) -> Automation | None:
    findings = session.findings
    if not isinstance(document, dict):
        findings.add(None, "wrong_type", (), N_("A definition is an object."))
        return None
    if document.get("kind") == "pipeline":
        findings.add(
            None, "kind_not_available", ("kind",), N_("Pipelines are not available in this release.")
        )
        return None
    own = {name: value for name, value in document.items() if name not in ("trigger", "steps")}
    header = session.validate(Header, own, (), templates=False)
    triggers = read_triggers(document, session)
    steps = read_steps(document, session)
    check_rules(triggers, steps, findings)
    if findings.broken or header is None:
        return None
    built = tuple(_step(step, session) for step in steps)
    return Automation(
        name=header.name,
        max_step_visits=header.max_step_visits,
        wait_conflict=header.wait_conflict,
        on_agent_message=header.on_agent_message,
        trigger=_trigger(triggers[0]),
        steps=built,
        index={step.key: position for position, step in enumerate(built)},
    )


def _trigger(draft: TriggerDraft) -> Trigger:
    handler = present(draft.handler)
    return Trigger(handler.kind, handler, present(draft.config), draft.filters)


def _step(draft: StepDraft, session: Session) -> Step:
    actions = tuple(
        _action(action, _reservation(draft.actions[position:]), session)
        for position, action in enumerate(draft.actions)
    )
    return Step(present(draft.key), draft.name, actions)


def _action(draft: ActionDraft, reservation: ReplyWait | None, session: Session) -> Action:
    key, handler = present(draft.key), present(draft.handler)
    raw, config = present(draft.raw), present(draft.config)
    slots = find_slots(raw, config, session.templates)
    return Action(
        key=key,
        kind=handler.kind,
        handler=handler,
        raw=raw,
        reply_wait=handler.reply_wait(config),
        reservation=reservation,
        constant=None if slots else config,
        templates=slots,
        output_key=getattr(config, "output_key", None) or key,
        needs_contact=needs_contact(draft),
    )


def _reservation(actions: list[ActionDraft]) -> ReplyWait | None:
    """The wait that a reply belongs to which comes right after the first action's message (decision 12)."""
    first, *later = actions
    if first.handler is None or not first.handler.prompts:
        return None
    own = first.handler.reply_wait(first.config)
    if own is not None:
        return own
    for action in later:
        handler = present(action.handler)
        wait = handler.reply_wait(action.config)
        if wait is not None and not handler.prompts:
            return wait
        if wait is not None or handler.delays:
            return None
    return None
