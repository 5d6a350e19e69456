"""Reads the one trigger of an automation: rules T1, T2, T5, S1 (and S2 where a later step has one)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.contracts import trigger_registry
from workflows.definitions.drafts import Session, TriggerDraft
from workflows.definitions.shapes import TriggerShape
from workflows.definitions.violations import Path
from workflows.errors import N_


def read_triggers(document: Mapping[str, Any], session: Session) -> list[TriggerDraft]:
    """Every trigger that the document has, wherever; a valid one has exactly one, beside its steps."""
    found = document.get("trigger")
    drafts: list[TriggerDraft] = []
    if isinstance(found, list) and found:
        session.findings.add(
            "T2", "several_triggers", ("trigger",), N_("A workflow has one trigger, not a list.")
        )
        drafts += [_read(item, ("trigger", index), session) for index, item in enumerate(found[:10])]
    elif found is not None and found != []:
        drafts.append(_read(found, ("trigger",), session))
    misplaced = _read_misplaced(document, bool(drafts), session)
    if not drafts and not misplaced:
        session.findings.add("S1", "trigger_missing", ("trigger",), N_("A workflow needs one trigger."))
    return drafts + misplaced


def _read_misplaced(document: Mapping[str, Any], has_trigger: bool, session: Session) -> list[TriggerDraft]:
    """Triggers written in steps: beside the workflow's own it is a second one, later steps never have one."""
    steps = document.get("steps")
    drafts: list[TriggerDraft] = []
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, dict) or "trigger" not in step:
            continue
        path: Path = ("steps", index, "trigger")
        if index > 0:
            session.findings.add(
                "S2",
                "trigger_in_step",
                path,
                N_("Only the workflow has a trigger; a later step never has one."),
            )
            continue
        if has_trigger:
            session.findings.add(
                "T2",
                "several_triggers",
                path,
                N_("The workflow has a trigger already; remove the one in the step."),
            )
        else:
            session.findings.add(
                "S1",
                "trigger_misplaced",
                path,
                N_("The trigger belongs to the workflow: move it beside the steps."),
            )
        drafts.append(_read(step["trigger"], path, session))
    return drafts


def _read(raw: Any, path: Path, session: Session) -> TriggerDraft:
    draft = TriggerDraft(path)
    session.validate(TriggerShape, raw, path, templates=False)
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(kind, str):
        return draft
    if kind.partition(".")[0].strip().lower() == "zauru":
        session.findings.add(
            "T1",
            "zauru_trigger",
            (*path, "type"),
            N_("Zauru is no trigger: use a scheduled trigger and actions that read from Zauru."),
        )
        return draft
    draft.handler = trigger_registry.get(kind)
    if draft.handler is None:
        session.findings.add(
            None, "unknown_trigger", (*path, "type"), N_("There is no trigger type {kind}."), kind=kind
        )
        return draft
    config = raw.get("config", {})
    if isinstance(config, dict):
        draft.config = session.validate(draft.handler.config, config, (*path, "config"), templates=False)
    filters = raw.get("filters")
    if filters is not None and draft.handler.has_filters:
        draft.filters = session.validate_filter(filters, (*path, "filters"))
    elif filters is not None:
        session.findings.add(
            None,
            "filters_not_allowed",
            (*path, "filters"),
            N_("A trigger of type {kind} has no filters."),
            kind=kind,
        )
    return draft
