"""Configs with templates: rendered and validated for each run; and what the engine reads of a definition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.definition_helpers import END, WAIT, action, automation, call, step
from workflows.contracts import Delay, GoTo
from workflows.definitions.automation import compile_automation
from workflows.definitions.binding import BindFailed
from workflows.definitions.model import Action

AWAIT: dict[str, Any] = {"response_policy": {"await_reply": WAIT}}


def first(*actions: dict[str, Any]) -> Action:
    """The first action of a definition that is made of one step."""
    return compile_automation(automation(step("uno", *actions, END))).steps[0].actions[0]


def test_an_action_without_templates_is_validated_once() -> None:
    sends = first(action("comms.send_message", text="Hola", **AWAIT))
    assert sends.constant is not None
    assert sends.bind({})[0] is sends.bind({"contact": None})[0]
    assert sends.bind({})[1] == {"text": "Hola", **AWAIT}


def test_templates_are_rendered_where_the_model_says_so() -> None:
    sends = first(
        action(
            "comms.send_message",
            text="Hola {{ contact.name }}",
            options=[{"id": "{{ raw }}", "title": "Sí, {{ contact.name }}"}],
            **AWAIT,
        )
    )
    config, shown = sends.bind({"contact": {"name": "Ana {{ x }}"}})
    assert shown == {
        "text": "Hola Ana {{ x }}",
        "options": [{"id": "{{ raw }}", "title": "Sí, Ana {{ x }}"}],
        **AWAIT,
    }
    assert config.model_dump(mode="json", exclude_defaults=True) == {
        "text": "Hola Ana {{ x }}",
        "options": [{"id": "{{ raw }}", "title": "Sí, Ana {{ x }}"}],
        "response_policy": {"await_reply": {"timeout": "P1D"}},
    }
    assert sends.raw["text"] == "Hola {{ contact.name }}"
    assert sends.reply_wait is not None


def test_a_missing_value_names_path_and_action() -> None:
    sends = first(action("comms.send_message", "saluda", text="Hola {{ contact.name }}"))
    with pytest.raises(BindFailed) as caught:
        sends.bind({"contact": {"name": None}})
    assert caught.value.reason == "template_error"
    assert caught.value.extra["action"] == "saluda"
    assert caught.value.extra["path"] == "/text"
    assert "contact.name" in (caught.value.detail or "")


@pytest.mark.parametrize("name", [["Ana"], 7, "", "x" * 4097])
def test_a_value_of_the_wrong_type_names_path_and_action(name: Any) -> None:
    sends = first(action("comms.send_message", "saluda", text="{{ contact.name }}"))
    with pytest.raises(BindFailed) as caught:
        sends.bind({"contact": {"name": name}})
    assert caught.value.reason == "template_type_error"
    assert (caught.value.extra["action"], caught.value.extra["path"]) == ("saluda", "/text")


def test_filters_are_rendered_and_stay_data() -> None:
    when = {"all": [{"field": "reply.text", "operator": "equals", "value": "{{ contact.name }}"}]}
    document = automation(
        step("uno", action("flow.condition", on_true="uno", on_false="dos", when=when)), step("dos", END)
    )
    decides = compile_automation(document).steps[0].actions[0]
    context = {"contact": {"name": "{{ x }}"}, "reply": {"text": "{{ x }}"}}
    config, shown = decides.bind(context)
    assert decides.handler.run(call(context), config) == GoTo("uno")
    assert shown["when"]["all"][0]["value"] == "{{ x }}"
    with pytest.raises(BindFailed) as caught:
        decides.bind({"contact": {"name": {}}})
    assert caught.value.reason == "template_type_error"
    with pytest.raises(BindFailed) as caught:
        decides.bind({})
    assert (caught.value.reason, caught.value.extra["path"]) == ("template_error", "/when")


def test_a_templated_delay_is_checked_when_it_runs() -> None:
    waits = first(action("flow.delay", until="{{ input.when }}"))
    config, shown = waits.bind({"input": {"when": "2026-12-24T08:00"}})
    assert shown == {"until": "2026-12-24T08:00"}
    until = datetime(2026, 12, 24, 14, tzinfo=UTC)
    assert waits.handler.run(call({}), config) == Delay(until)
    with pytest.raises(BindFailed) as caught:
        waits.bind({"input": {"when": "mañana"}})
    assert caught.value.reason == "template_type_error"


@pytest.mark.rule("decision-12")
@pytest.mark.parametrize(
    ("actions", "timeout"),
    [
        ([action("comms.send_message", "a", text="1", **AWAIT)], "own"),
        ([action("comms.send_message", "a", text="1"), action("flow.wait_for_reply", "b", **WAIT)], "later"),
        (
            [
                action("comms.send_message", "a", text="1"),
                action("crm.assign_seller", "c", strategy="round_robin"),
                action("comms.send_message", "d", text="2"),
                action("flow.wait_for_reply", "b", **WAIT),
            ],
            "later",
        ),
        ([action("comms.send_message", "a", text="1")], None),
        (
            [
                action("comms.send_message", "a", text="1"),
                action("flow.delay", "c", duration="PT1H"),
                action("flow.wait_for_reply", "b", **WAIT),
            ],
            None,
        ),
        (
            [
                action("comms.send_message", "a", text="1"),
                action("comms.send_message", "c", text="2", **AWAIT),
                action("flow.wait_for_reply", "b", **WAIT),
            ],
            None,
        ),
        ([action("flow.wait_for_reply", "b", **WAIT)], None),
    ],
)
def test_the_wait_that_a_reply_to_a_message_belongs_to(
    actions: list[dict[str, Any]], timeout: str | None
) -> None:
    definition = compile_automation(automation(step("uno", *actions, END)))
    reservation = definition.steps[0].actions[0].reservation
    if timeout is None:
        assert reservation is None
    else:
        waiting = next(each for each in definition.steps[0].actions if each.reply_wait is not None)
        assert reservation is waiting.reply_wait
        assert (waiting.key == "a") == (timeout == "own")
