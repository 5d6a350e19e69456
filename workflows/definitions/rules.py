"""The rules between the pieces of an automation: T3, S3, S4, F2, F3, F4, unique keys, decision 32."""

from __future__ import annotations

from collections.abc import Iterable

from workflows.contracts import ReplyWait
from workflows.definitions.drafts import ActionDraft, StepDraft, TriggerDraft
from workflows.definitions.markers import is_step_ref, places
from workflows.definitions.violations import Findings, Path
from workflows.errors import N_

BRANCHING = frozenset({"flow.condition", "flow.evaluate_reply"})
"""The only actions that lead to one step or another (F4)."""

CONTACT_CATEGORIES = frozenset({"comms", "crm"})


def check_rules(triggers: list[TriggerDraft], steps: list[StepDraft], findings: Findings) -> None:
    """Note every violation of the rules between pieces."""
    _check_endings(steps, findings)
    _check_unique(((step.key, step.path) for step in steps), findings)
    _check_unique(((action.key, action.path) for step in steps for action in step.actions), findings)
    _check_targets(steps, findings)
    _check_contact(triggers, steps, findings)
    if not findings.broken:
        _warn_unreachable(steps, findings)


def needs_contact(action: ActionDraft) -> bool:
    """Whether the action acts on the contact or waits for it (decision 32)."""
    handler = action.handler
    return handler is not None and (
        handler.category in CONTACT_CATEGORIES or issubclass(handler.config, ReplyWait)
    )


def _check_endings(steps: list[StepDraft], findings: Findings) -> None:
    for index, step in enumerate(steps):
        path: Path = (*step.path, "actions")
        if not step.actions and step.readable and index == 0:
            findings.add("T3", "first_step_empty", path, N_("The first step needs at least one action."))
        elif step.readable:
            _check_ending(step, path, findings)


def _check_ending(step: StepDraft, path: Path, findings: Findings) -> None:
    early = [action for action in step.actions[:-1] if action.handler is not None and action.handler.terminal]
    for action in early:
        branching = action.kind in BRANCHING
        findings.add(
            "F4" if branching else "S4",
            "branching_not_last" if branching else "terminal_not_last",
            action.path,
            N_("The action {kind} ends the step, so it must be the last one of it."),
            kind=action.kind,
        )
    last = step.actions[-1] if step.actions else None
    unknown = last is not None and last.handler is None
    if early or unknown or (last is not None and last.handler is not None and last.handler.terminal):
        return
    findings.add(
        "S4",
        "terminal_missing",
        path,
        N_("A step ends with flow.end, flow.goto_step, flow.condition or flow.evaluate_reply."),
    )


def _check_unique(keys: Iterable[tuple[str | None, Path]], findings: Findings) -> None:
    seen: set[str] = set()
    for key, path in keys:
        if key is None:
            continue
        if key.casefold() in seen:
            findings.add(
                None, "duplicate_key", (*path, "key"), N_("The key {key} is used more than once."), key=key
            )
        seen.add(key.casefold())


def _targets(action: ActionDraft) -> Iterable[tuple[Path, str]]:
    if action.handler is not None and action.raw is not None:
        for inner, target in places(action.handler.config, action.raw, is_step_ref):
            if isinstance(target, str):
                yield (*action.path, "config", *inner), target


def _check_targets(steps: list[StepDraft], findings: Findings) -> None:
    known = {step.key for step in steps if step.key is not None}
    for step in steps:
        for action in step.actions:
            for path, target in _targets(action):
                if target not in known:
                    findings.add("F2", "unknown_step", path, N_("There is no step {step}."), step=target)


def _check_contact(triggers: list[TriggerDraft], steps: list[StepDraft], findings: Findings) -> None:
    if len(triggers) != 1 or triggers[0].handler is None or triggers[0].config is None:
        return
    if not triggers[0].handler.contactless(triggers[0].config):
        return
    for action in (action for step in steps for action in step.actions if needs_contact(action)):
        findings.add(
            "decision-32",
            "contact_missing",
            (*action.path, "type"),
            N_("The action {kind} needs a contact, but the trigger names no audience."),
            kind=action.kind,
        )


def _warn_unreachable(steps: list[StepDraft], findings: Findings) -> None:
    by_key = {step.key: step for step in steps}
    reached: set[str | None] = set()
    ahead = [steps[0].key] if steps else []
    while ahead:
        key = ahead.pop()
        if key not in reached:
            reached.add(key)
            ahead += [target for action in by_key[key].actions for _, target in _targets(action)]
    for step in steps:
        if step.key not in reached:
            findings.add(
                "S3",
                "step_unreachable",
                step.path,
                N_("No action leads to the step {step}."),
                severity="warning",
                step=step.key,
            )
