"""Every registered action and trigger, walked: names, categories, and what they may touch (A1, A2, T4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.definition_helpers import Untouchable, call
from workflows.contracts import (
    CATEGORIES,
    Config,
    Delay,
    Effect,
    End,
    GoTo,
    Refusal,
    WaitForReply,
    action_registry,
    trigger_registry,
)
from workflows.definitions.markers import is_step_ref, places
from workflows.definitions.rules import BRANCHING
from workflows.registry import import_submodules

WHEN = {"field": "reply.text", "operator": "equals", "value": "si"}
FLOW_CASES: dict[str, tuple[dict[str, Any], type]] = {
    "flow.end": ({}, End),
    "flow.goto_step": ({"step": "uno"}, GoTo),
    "flow.condition": ({"when": WHEN, "on_true": "uno", "on_false": "dos"}, GoTo),
    "flow.evaluate_reply": ({"branches": [{"when": WHEN, "goto": "uno"}], "default": "dos"}, GoTo),
    "flow.wait_for_reply": ({"timeout": "PT1H"}, WaitForReply),
    "flow.delay": ({"until": "08:00"}, Delay),
}
TRIGGER_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "message.inbound": ({}, {"direction": "inbound", "author": "contact", "kind": "text", "text": "Hola"}),
    "scheduled": ({"time": "08:00"}, {"occurrence_at": "2026-12-01T14:00:00Z"}),
    "manual": ({}, {"started_by": "u-1", "input": {"a": 1}}),
}


@pytest.mark.rule("A1")
def test_every_action_is_in_one_of_five_categories_and_its_kind_is_its_path() -> None:
    assert len(list(action_registry)) >= 9
    for kind, handler in action_registry.items():
        assert handler.category in CATEGORIES
        assert kind.count(".") == 1
        assert type(handler).__module__ == f"actions.{kind}"
        assert handler.kind == kind


def test_every_trigger_is_in_the_file_of_its_name() -> None:
    for kind, handler in trigger_registry.items():
        assert type(handler).__module__ == f"triggers.{kind.replace('.', '_')}"


def test_every_plug_in_says_what_it_is() -> None:
    handlers: list[Any] = [handler for _, handler in [*action_registry.items(), *trigger_registry.items()]]
    for handler in handlers:
        assert handler.label
        assert handler.help.endswith(".")
        assert issubclass(handler.config, Config)
        assert handler.config.model_json_schema()["type"] == "object"


@pytest.mark.rule("A8")
def test_every_action_with_an_effect_declares_its_output() -> None:
    for kind, handler in action_registry.items():
        assert (handler.output is None) == (handler.effect is Effect.NONE), kind
        required = handler.config.model_json_schema().get("required", [])
        assert ("output_key" in required) == (handler.category == "zauru"), kind


@pytest.mark.rule("A2")
def test_flow_actions_touch_nothing() -> None:
    flows = [kind for kind in action_registry if kind.startswith("flow.")]
    assert flows == sorted(FLOW_CASES)
    for kind in flows:
        handler = action_registry[kind]
        raw, outcome = FLOW_CASES[kind]
        assert (handler.effect, handler.output, handler.prompts) == (Effect.NONE, None, False)
        for services in (None, Untouchable()):
            made = handler.run(call({"reply": {"text": "no"}}, services), handler.config.model_validate(raw))
            assert isinstance(made, outcome)
            assert made.output is None


@pytest.mark.rule("F4")
def test_only_two_actions_lead_to_more_than_one_step() -> None:
    several = set()
    for kind, handler in action_registry.items():
        everything = dict[str, Any].fromkeys(handler.config.model_fields, "x") | {"branches": [{"goto": "x"}]}
        targets = list(places(handler.config, everything, is_step_ref))
        assert not targets or handler.terminal
        if len(targets) > 1:
            several.add(kind)
    assert several == BRANCHING


@pytest.mark.rule("S4")
def test_the_terminal_actions_are_four() -> None:
    terminal = {kind for kind, handler in action_registry.items() if handler.terminal}
    assert terminal == {"flow.end", "flow.goto_step", "flow.condition", "flow.evaluate_reply"}


@pytest.mark.rule("T4")
def test_a_trigger_is_a_pure_function_of_the_event() -> None:
    assert list(trigger_registry) == sorted(TRIGGER_CASES)
    for kind, handler in trigger_registry.items():
        raw, event = TRIGGER_CASES[kind]
        config = handler.config.model_validate(raw)
        before = repr(event)
        first, second = handler.detect(event, config), handler.detect(event, config)
        assert not isinstance(first, Refusal)
        assert first == second
        assert first["trigger"]["type"] == kind
        assert repr(event) == before


@pytest.mark.rule("T1")
def test_no_trigger_listens_to_zauru() -> None:
    assert not any(kind.startswith("zauru") for kind in trigger_registry)


def test_importing_a_package_names_its_modules() -> None:
    names = import_submodules("actions")
    assert {"actions.apps", "actions.flow.end", "actions.comms.send_message"} <= set(names)
