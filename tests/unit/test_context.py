"""The context grows, is never replaced, and stays within its size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows import context as module
from workflows.context import (
    MAX_CONTEXT_BYTES,
    RESERVED_ROOTS,
    Context,
    ContextTooLarge,
    ReservedRoot,
    apply_delta,
    measure,
    merge_facts,
    merge_output,
    merge_reply,
    open_context,
    with_visits,
)
from workflows.paths import MISSING

BASE: dict[str, Any] = {
    "contact": {"name": "Ana", "tags": ["vip"], "email": None},
    "workflow": {"id": "w1", "version": 2, "step_visits": {}},
}


def add(context: Context, category: str, key: str, output: Any) -> Context:
    return apply_delta(context, merge_output(context, category, key, output))


@pytest.mark.rule("G4")
def test_outputs_accumulate_and_a_later_visit_overwrites_its_own() -> None:
    start = open_context(BASE)
    one = add(start, "crm", "asigna", {"user_id": "u1"})
    two = add(one, "crm", "nota", {"note_id": "n1"})
    three = add(two, "crm", "asigna", {"user_id": "u2"})
    assert three.document == {**BASE, "crm": {"asigna": {"user_id": "u2"}, "nota": {"note_id": "n1"}}}
    assert one.document["crm"] == {"asigna": {"user_id": "u1"}}
    assert start.document == BASE


@pytest.mark.rule("G4")
@pytest.mark.parametrize("root", [*sorted(RESERVED_ROOTS), "flow", "other", ""])
def test_an_output_cannot_replace_what_is_not_an_actions(root: str) -> None:
    start = open_context(BASE)
    with pytest.raises(ReservedRoot):
        merge_output(start, root, "name", "x")
    with pytest.raises(ReservedRoot):
        apply_delta(start, {root: {"name": "x"}})
    assert start.document == BASE


def test_a_delta_cannot_replace_a_category_by_a_value() -> None:
    with pytest.raises(ReservedRoot):
        apply_delta(open_context(BASE), {"crm": "x"})  # type: ignore[dict-item]


def test_facts_are_the_reserved_roots_only() -> None:
    changed = merge_facts(open_context(BASE), {"contact": {"name": "Eva"}})
    assert changed.document == {**BASE, "contact": {"name": "Eva"}}
    with pytest.raises(ReservedRoot):
        merge_facts(open_context(BASE), {"crm": {}})


def test_reply_is_the_latest_and_replies_the_history() -> None:
    one = merge_reply(open_context(BASE), {"text": "si", "timed_out": False})
    two = merge_reply(one, {"text": "no", "timed_out": False})
    late = merge_reply(two, {"text": None, "timed_out": True})
    failed = merge_reply(late, {"text": None, "timed_out": False, "delivery_failed": True})
    history = [{"text": "si", "timed_out": False}, {"text": "no", "timed_out": False}]
    assert (two.document["reply"], two.document["replies"]) == (history[1], history)
    assert (late.document["reply"]["timed_out"], late.document["replies"]) == (True, history)
    assert (failed.document["reply"]["delivery_failed"], failed.document["replies"]) == (True, history)
    assert one.document["replies"] == history[:1]


def test_visits_show_under_workflow() -> None:
    seen = with_visits(open_context(BASE), {"bienvenida": 2})
    assert seen.document["workflow"] == {"id": "w1", "version": 2, "step_visits": {"bienvenida": 2}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("contact.tags.0", "vip"),
        ("context.contact.name", "Ana"),
        ("contact.email", None),
        ("contact.phone", MISSING),
        ("contact..name", MISSING),
        ("", MISSING),
    ],
)
def test_lookup(path: str, expected: Any) -> None:
    assert open_context(BASE).lookup(path) is expected or open_context(BASE).lookup(path) == expected


def test_the_limit_is_exact_to_the_byte() -> None:
    room = MAX_CONTEXT_BYTES - measure({**BASE, "crm": {"a": ""}})
    assert add(open_context(BASE), "crm", "a", "x" * room).bound == MAX_CONTEXT_BYTES
    with pytest.raises(ContextTooLarge) as caught:
        add(open_context(BASE), "crm", "a", "x" * (room + 1))
    assert (caught.value.code, caught.value.extra["size"]) == ("context_too_large", MAX_CONTEXT_BYTES + 1)


def test_overwriting_the_same_key_for_ever_never_reaches_the_limit() -> None:
    context = open_context(BASE)
    for _ in range(20):
        context = add(context, "zauru", "facturas", "x" * 100_000)
    assert measure(context.document) < 101_000


def test_small_changes_do_not_measure_the_whole_document(monkeypatch: pytest.MonkeyPatch) -> None:
    context = open_context({**BASE, "zauru": {"facturas": "x" * 100_000}})
    measured = []

    def counted(value: Any) -> int:
        measured.append(measure(value))
        return measured[-1]

    monkeypatch.setattr(module, "measure", counted)
    for number in range(10):
        context = add(context, "crm", f"a{number}", {"user_id": "u"})
    assert (len(measured), max(measured) < 100) == (10, True)
    assert open_context(context.document, context.bound) == context
    assert len(measured) == 10


OUTPUT = st.dictionaries(st.text(max_size=5), st.text(max_size=10) | st.integers() | st.none(), max_size=3)
STEPS = st.lists(st.tuples(st.sampled_from(["crm", "comms"]), st.sampled_from("ab"), OUTPUT), max_size=8)


@given(steps=STEPS, replies=st.lists(OUTPUT, max_size=4))
def test_the_bound_is_never_below_the_size(steps: list[tuple[str, str, Any]], replies: list[Any]) -> None:
    context = open_context({})
    for category, key, output in steps:
        context = add(context, category, key, output)
    for reply in replies:
        context = merge_reply(context, reply)
        context = with_visits(context, {"a": 1})
    size = len(json.dumps(context.document, ensure_ascii=False, separators=(",", ":")).encode())
    assert measure(context.document) == size <= context.bound
