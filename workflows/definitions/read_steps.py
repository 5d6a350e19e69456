"""Reads steps and actions piece by piece, so that one wrong piece hides nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.contracts import CATEGORIES, ActionType, action_registry
from workflows.definitions.drafts import ActionDraft, Session, StepDraft
from workflows.definitions.shapes import MAX_ACTIONS, MAX_STEPS, ActionShape, StepShape
from workflows.definitions.violations import Path
from workflows.errors import N_

NEXT_STEP_FIELDS = ("next_step", "next", "goto")


def read_steps(document: Mapping[str, Any], session: Session) -> list[StepDraft]:
    """The steps that the document has, at most `MAX_STEPS` of them."""
    steps = document.get("steps")
    if steps is None or steps == []:
        session.findings.add(None, "steps_missing", ("steps",), N_("A workflow needs at least one step."))
        return []
    if not isinstance(steps, list):
        session.findings.add(
            None, "wrong_type", ("steps",), N_("The field {field} must be a list."), field="steps"
        )
        return []
    if len(steps) > MAX_STEPS:
        session.findings.add(
            None, "too_many_steps", ("steps",), N_("A workflow has at most {limit} steps."), limit=MAX_STEPS
        )
    return [_read_step(raw, ("steps", index), session) for index, raw in enumerate(steps[:MAX_STEPS])]


def _read_step(raw: Any, path: Path, session: Session) -> StepDraft:
    draft = StepDraft(path)
    if not isinstance(raw, dict):
        session.validate(StepShape, raw, path, templates=False)
        draft.readable = False
        return draft
    for field in NEXT_STEP_FIELDS:
        if field in raw:
            session.findings.add(
                "S3",
                "no_next_step",
                (*path, field),
                N_("There is no automatic next step: end the step with flow.goto_step."),
            )
    own = {
        name: value for name, value in raw.items() if name not in ("trigger", "actions", *NEXT_STEP_FIELDS)
    }
    session.validate(StepShape, own, path, templates=False)
    draft.key = _text(raw.get("key"))
    draft.name = _text(raw.get("name"))
    actions = raw.get("actions", [])
    if not isinstance(actions, list):
        session.findings.add(
            None, "wrong_type", (*path, "actions"), N_("The field {field} must be a list."), field="actions"
        )
        draft.readable = False
        return draft
    if len(actions) > MAX_ACTIONS:
        session.findings.add(
            None,
            "too_many_actions",
            (*path, "actions"),
            N_("A step has at most {limit} actions."),
            limit=MAX_ACTIONS,
        )
        draft.readable = False
    draft.actions = [
        _read_action(item, (*path, "actions", index), session)
        for index, item in enumerate(actions[:MAX_ACTIONS])
    ]
    return draft


def _read_action(raw: Any, path: Path, session: Session) -> ActionDraft:
    draft = ActionDraft(path)
    session.validate(ActionShape, raw, path, templates=False)
    if not isinstance(raw, dict):
        return draft
    draft.key = _text(raw.get("key"))
    draft.kind = _text(raw.get("type"))
    if draft.kind is not None:
        draft.handler = _find_handler(draft.kind, (*path, "type"), session)
    config = raw.get("config", {})
    if draft.handler is not None and isinstance(config, dict):
        draft.raw = config
        draft.config = session.validate(draft.handler.config, config, (*path, "config"), templates=True)
    return draft


def _find_handler(kind: str, path: Path, session: Session) -> ActionType[Any] | None:
    """The action type. Its name begins with one of five categories, and there is no sixth (A1)."""
    category, dot, _ = kind.partition(".")
    categories = ", ".join(CATEGORIES)
    if not dot:
        session.findings.add(
            "A1",
            "category_missing",
            path,
            N_("The action type {kind} has no category; the categories are {categories}."),
            kind=kind,
            categories=categories,
        )
        return None
    if category not in CATEGORIES:
        session.findings.add(
            "A1",
            "category_unknown",
            path,
            N_("The action type {kind} is of no known category; the categories are {categories}."),
            kind=kind,
            categories=categories,
        )
        return None
    handler = action_registry.get(kind)
    if handler is None:
        session.findings.add(None, "unknown_action", path, N_("There is no action type {kind}."), kind=kind)
    return handler


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
