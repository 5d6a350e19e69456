"""Documents from outside: whatever comes, the answer is a list of violations."""

from __future__ import annotations

import copy
import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.definition_helpers import END, GUATEMALA, NOW, action, automation, found, step
from workflows.contracts import action_registry, trigger_registry
from workflows.definitions.automation import read_automation
from workflows.definitions.violations import pointer

EXAMPLE = json.loads((Path(__file__).parents[2] / "examples" / "lead_qualification.json").read_text())
KINDS = [*action_registry, *trigger_registry, "zauru.read", "x", "", "a.b.c"]
# fmt: off
NAMES = [
    "key", "type", "config", "actions", "trigger", "steps", "filters", "text", "timeout",
    "until", "days", "cron", "time", "when", "branches", "goto", "default", "all", "not",
    "field", "operator", "value", "response_policy", "await_reply", "duration", "options",
    "audience", "input_schema", "timezone", "skip_trigger",
]
# fmt: on
TEXTS = st.sampled_from(
    ["uno", "{{ a.b }}", "{{", "{% for", "PT1H", "P99D", "08:00", "9999-12-31T23:59", "\x00", "\ud800"]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.text(max_size=20), st.sampled_from(KINDS)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), inner, max_size=5),
    ),
    max_leaves=25,
)


def answered(document: Any) -> None:
    """Definition or violations, never both, never an exception; every pointer leads into the document."""
    reading = read_automation(document, now=NOW, zone=GUATEMALA)
    assert (reading.definition is None) == bool(reading.violations)
    for violation in reading.violations:
        assert violation.message
        assert violation.pointer == "" or violation.pointer.startswith("/")


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_anything_is_answered(document: Any) -> None:
    answered(document)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(action_registry)), VALUES, st.sampled_from(sorted(trigger_registry)), VALUES)
def test_any_config_is_answered(kind: str, config: Any, trigger: str, trigger_config: Any) -> None:
    document = automation(
        step("uno", {"key": "a", "type": kind, "config": config}, END),
        trigger={"type": trigger, "config": trigger_config},
    )
    answered(document)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(_places(EXAMPLE)[1:]), VALUES)
def test_a_valid_document_with_one_place_changed_is_answered(place: tuple[Any, ...], value: Any) -> None:
    document = copy.deepcopy(EXAMPLE)
    holder = document
    for token in place[:-1]:
        holder = holder[token]
    holder[place[-1]] = value
    answered(document)


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (nested(100_000), "too_deep"),
        (nested(70), "too_deep"),
        ([0] * 60_000, "too_large"),
        ("x" * 1_000_000, "text_too_long"),
        ("a\x00", "text_not_storable"),
        ("\ud800", "text_not_storable"),
        (10**5000, "number_too_large"),
        (float("nan"), "not_json"),
        (datetime.date(2026, 12, 24), "not_json"),
        ({1: 2}, "field_name"),
        ({"x" * 201: 2}, "field_name"),
    ],
    ids=map(str, range(11)),
)
def test_what_is_not_small_json_is_not_read_further(value: Any, code: str) -> None:
    violations = read_automation(automation(value=value)).violations
    assert [violation.code for violation in violations] == [code]


def test_references_that_multiply_are_not_followed() -> None:
    value: Any = ["a"] * 10
    for _ in range(40):
        value = [value] * 10
    assert [code for _, code, _ in found(automation(value=value))] == ["too_large"]


def test_a_long_text_in_a_known_field_is_refused_once() -> None:
    document = automation(step("uno", action("comms.send_message", "a", text="x" * 4097), END))
    assert found(document) == [(None, "too_long", "/steps/0/actions/0/config/text")]


def test_pointers_escape() -> None:
    assert pointer(("a/b", 0, "c~d", "")) == "/a~1b/0/c~0d/"
    assert pointer(()) == ""
