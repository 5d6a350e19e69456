"""Every rule that is checked on save, alone and all at once (decision 19)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from tests.unit.definition_helpers import (
    END,
    GUATEMALA,
    NOW,
    WAIT,
    action,
    automation,
    found,
    step,
)
from workflows.contracts import ActionType, Call, Config, Continue, Outcome, OutputKey, action_registry
from workflows.definitions.automation import compile_automation, read_automation
from workflows.errors import InvalidDefinition

SCHEDULED = {"type": "scheduled", "config": {"time": "08:00"}}
REPLY = {"response_policy": {"await_reply": WAIT}}


@pytest.mark.rule("decision-19")
@pytest.mark.rule("T1")
@pytest.mark.rule("T2")
@pytest.mark.rule("T3")
@pytest.mark.rule("T5")
@pytest.mark.rule("S2")
@pytest.mark.rule("S4")
@pytest.mark.rule("A1")
@pytest.mark.rule("A5")
@pytest.mark.rule("A6")
@pytest.mark.rule("F2")
def test_twelve_violations_get_one_answer() -> None:
    document = automation(
        {"key": "uno", "actions": []},
        {
            "key": "dos",
            "trigger": {"type": "manual"},
            "actions": [action("flow.delay", "espera", duration="P31D")],
        },
        step("tres", action("flow.end", "fin3"), action("comms.send_message", "saludo", text="Hola")),
        step(
            "cuatro",
            action("ai.reply", "responde"),
            action("flow.wait_for_reply", "escucha", timeout="PT30M"),
            action("flow.goto_step", "sigue", step="ninguno"),
        ),
        step("DOS", action("flow.end", "fin5")),
        trigger=[{"type": "zauru.invoice_created"}, {"type": "scheduled", "config": {}}],
    )
    assert found(document) == [
        ("T2", "several_triggers", "/trigger"),
        ("T1", "zauru_trigger", "/trigger/0/type"),
        ("T5", "time_missing", "/trigger/1/config/time"),
        ("T3", "first_step_empty", "/steps/0/actions"),
        ("S2", "trigger_in_step", "/steps/1/trigger"),
        ("S4", "terminal_missing", "/steps/1/actions"),
        ("A6", "duration_range", "/steps/1/actions/0/config/duration"),
        ("S4", "terminal_not_last", "/steps/2/actions/0"),
        ("A1", "category_unknown", "/steps/3/actions/0/type"),
        ("A5", "duration_range", "/steps/3/actions/1/config/timeout"),
        ("F2", "unknown_step", "/steps/3/actions/2/config/step"),
        (None, "duplicate_key", "/steps/4/key"),
    ]


def test_sentences_are_plain_and_carry_their_values() -> None:
    document = automation(step("uno", action("flow.goto_step", step="dos")))
    (violation,) = read_automation(document).violations
    assert violation.message == "There is no step dos."
    assert violation.msgid.format(**violation.values) == violation.message
    assert violation.severity == "error"


@pytest.mark.rule("S1")
def test_a_workflow_has_a_trigger() -> None:
    empty: list[Any] = [None, []]
    for trigger in empty:
        assert found(automation(trigger=trigger)) == [("S1", "trigger_missing", "/trigger")]
    document = automation()
    del document["trigger"]
    assert found(document) == [("S1", "trigger_missing", "/trigger")]


@pytest.mark.rule("S1")
def test_a_trigger_only_in_the_first_step_has_to_move() -> None:
    document = automation({**step("uno", END), "trigger": {"type": "message.inbound"}})
    del document["trigger"]
    assert found(document) == [("S1", "trigger_misplaced", "/steps/0/trigger")]


@pytest.mark.rule("T2")
def test_a_second_trigger_is_refused_wherever_it_stands() -> None:
    document = automation({**step("uno", END), "trigger": SCHEDULED})
    assert found(document) == [("T2", "several_triggers", "/steps/0/trigger")]
    assert found(automation(trigger=[SCHEDULED])) == [("T2", "several_triggers", "/trigger")]


@pytest.mark.rule("S2")
def test_a_later_step_never_has_a_trigger() -> None:
    document = automation(
        step("uno", action("flow.goto_step", "ir", step="dos")), {**step("dos", END), "trigger": None}
    )
    assert found(document) == [("S2", "trigger_in_step", "/steps/1/trigger")]


@pytest.mark.rule("T1")
@pytest.mark.parametrize("kind", ["zauru.invoice_created", "Zauru.x", "zauru"])
def test_zauru_is_no_trigger(kind: str) -> None:
    assert found(automation(trigger={"type": kind})) == [("T1", "zauru_trigger", "/trigger/type")]


def test_an_unknown_trigger_is_refused() -> None:
    assert found(automation(trigger={"type": "contact.created"})) == [
        (None, "unknown_trigger", "/trigger/type")
    ]


@pytest.mark.rule("T3")
def test_the_first_step_has_an_action() -> None:
    assert found(automation(step("uno"))) == [("T3", "first_step_empty", "/steps/0/actions")]
    assert found(automation({"key": "uno"})) == [("T3", "first_step_empty", "/steps/0/actions")]


@pytest.mark.rule("S3")
def test_there_is_no_automatic_next_step() -> None:
    document = automation({**step("uno", END), "next_step": "dos"})
    assert found(document) == [("S3", "no_next_step", "/steps/0/next_step")]


@pytest.mark.rule("S3")
def test_a_step_that_nothing_leads_to_is_a_warning() -> None:
    reading = read_automation(automation(step("uno", END), step("dos", action("flow.end", "fin2"))))
    assert reading.definition is not None
    assert [(w.rule, w.code, w.pointer, w.severity) for w in reading.warnings] == [
        ("S3", "step_unreachable", "/steps/1", "warning")
    ]


@pytest.mark.rule("S4")
@pytest.mark.rule("F3")
def test_a_step_ends_with_a_terminal_action() -> None:
    document = automation(step("uno", action("comms.send_message", text="Hola")))
    assert found(document) == [("S4", "terminal_missing", "/steps/0/actions")]
    document = automation(step("uno", action("flow.goto_step", step="dos")), step("dos"))
    assert found(document) == [("S4", "terminal_missing", "/steps/1/actions")]


@pytest.mark.rule("F4")
def test_a_branching_action_is_the_last_one() -> None:
    branch = action("flow.evaluate_reply", "decide", branches=[], default="uno")
    assert found(automation(step("uno", branch, END))) == [("F4", "branching_not_last", "/steps/0/actions/0")]


@pytest.mark.rule("A1")
def test_an_action_is_of_one_of_five_categories() -> None:
    document = automation(
        step("uno", action("enviar", "a"), action("pipeline.run", "b"), action("comms.fly", "c"))
    )
    assert found(document) == [
        ("A1", "category_missing", "/steps/0/actions/0/type"),
        ("A1", "category_unknown", "/steps/0/actions/1/type"),
        (None, "unknown_action", "/steps/0/actions/2/type"),
    ]


@pytest.mark.rule("A7")
def test_no_action_writes_to_zauru() -> None:
    document = automation(step("uno", action("zauru.create_invoice"), END))
    assert found(document) == [(None, "unknown_action", "/steps/0/actions/0/type")]


@pytest.mark.rule("A5")
@pytest.mark.parametrize(
    ("wait", "code"),
    [
        ({}, "field_missing"),
        ({"timeout": "PT59M59S"}, "duration_range"),
        ({"timeout": "P30DT1S"}, "duration_range"),
        ({"timeout": 60}, "duration_format"),
        ({"timeout": "P1M"}, "duration_format"),
    ],
)
def test_a_reply_is_never_awaited_without_limits(wait: dict[str, Any], code: str) -> None:
    document = automation(
        step(
            "uno",
            action("flow.wait_for_reply", "a", **wait),
            action("comms.send_message", "b", text="Hola", response_policy={"await_reply": wait}),
            END,
        )
    )
    assert found(document) == [
        ("A5", code, "/steps/0/actions/0/config/timeout"),
        ("A5", code, "/steps/0/actions/1/config/response_policy/await_reply/timeout"),
    ]


@pytest.mark.rule("A5")
@pytest.mark.parametrize("timeout", ["PT1H", "P30D", "PT720H", "P4W"])
def test_the_bounds_of_a_reply_wait_are_inclusive(timeout: str) -> None:
    assert found(automation(step("uno", action("flow.wait_for_reply", timeout=timeout), END))) == []


@pytest.mark.rule("A6")
def test_a_delay_is_at_most_30_days() -> None:
    def delay(**config: Any) -> dict[str, Any]:
        return automation(step("uno", action("flow.delay", **config), END))

    clock = {"now": NOW, "zone": GUATEMALA}
    assert found(delay(duration="P30D")) == []
    assert found(delay(duration="P30DT1S")) == [
        ("A6", "duration_range", "/steps/0/actions/0/config/duration")
    ]
    assert found(delay(until="2026-12-31T08:00"), **clock) == []
    assert found(delay(until="2026-12-31T08:01"), **clock) == [
        ("A6", "delay_too_long", "/steps/0/actions/0/config/until")
    ]
    assert found(delay(until="2027-12-31T08:01")) == []
    assert found(delay()) == [(None, "delay_form", "/steps/0/actions/0/config")]
    assert found(delay(duration="PT1H", until="08:00")) == [(None, "delay_form", "/steps/0/actions/0/config")]
    assert found(delay(until="mañana")) == [(None, "until_format", "/steps/0/actions/0/config/until")]
    assert found(delay(until="{{ input.fecha }}")) == []


class _ReadConfig(Config):
    output_key: OutputKey


class _Read(ActionType[_ReadConfig]):
    kind = "zauru.read_things"
    label = "Read"
    config = _ReadConfig

    def run(self, call: Call, config: _ReadConfig) -> Outcome:
        return Continue({"items": []})


@pytest.mark.rule("A8")
def test_zauru_names_where_its_data_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(action_registry._items, "zauru.read_things", _Read())
    document = automation(step("uno", action("zauru.read_things", "lee"), END))
    assert found(document) == [("A8", "field_missing", "/steps/0/actions/0/config/output_key")]
    document["steps"][0]["actions"][0]["config"]["output_key"] = "facturas"
    actions = compile_automation(document).steps[0].actions
    assert [each.output_key for each in actions] == ["facturas", "fin"]


@pytest.mark.rule("F2")
@pytest.mark.rule("decision-33")
def test_steps_may_lead_back_and_targets_must_exist() -> None:
    when = {"field": "reply.text", "operator": "equals", "value": "si"}
    back = automation(
        step("uno", action("flow.goto_step", "a", step="dos")),
        step("dos", action("flow.goto_step", "b", step="uno", skip_trigger=True)),
    )
    assert found(back) == []
    document = automation(
        step("uno", action("flow.condition", "a", when=when, on_true="uno", on_false="x")),
        step(
            "dos",
            action(
                "flow.evaluate_reply",
                "b",
                branches=[{"when": when, "goto": "uno"}, {"when": when, "goto": "Uno"}],
                default="y",
                on_timeout="z",
            ),
        ),
    )
    assert found(document) == [
        ("F2", "unknown_step", "/steps/0/actions/0/config/on_false"),
        ("F2", "unknown_step", "/steps/1/actions/0/config/branches/1/goto"),
        ("F2", "unknown_step", "/steps/1/actions/0/config/default"),
        ("F2", "unknown_step", "/steps/1/actions/0/config/on_timeout"),
    ]


@pytest.mark.rule("decision-33")
def test_going_to_a_step_never_fires_the_trigger() -> None:
    document = automation(step("uno", action("flow.goto_step", step="uno", skip_trigger=False)))
    assert found(document) == [
        ("decision-33", "skip_trigger_false", "/steps/0/actions/0/config/skip_trigger")
    ]


@pytest.mark.rule("decision-32")
def test_a_schedule_without_audience_has_no_contact() -> None:
    steps = [
        step(
            "uno",
            action("comms.send_message", "a", text="Hola"),
            action("crm.assign_seller", "b", strategy="round_robin"),
            action("flow.wait_for_reply", "c", **WAIT),
            action("notification.notify_user", "d", user_id="u", text="Hola"),
            END,
        )
    ]
    assert found(automation(*steps, trigger=SCHEDULED)) == [
        ("decision-32", "contact_missing", f"/steps/0/actions/{index}/type") for index in range(3)
    ]
    audience = {"type": "scheduled", "config": {"time": "08:00", "audience": {"filters": {"tags": ["vip"]}}}}
    for trigger in (audience, {"type": "manual"}, {"type": "message.inbound"}):
        document = automation(*steps, trigger=trigger)
        assert found(document) == []
        assert compile_automation(document).needs_contact
    assert not compile_automation(automation(trigger=SCHEDULED)).needs_contact


def test_keys_are_unique_without_regard_to_case_and_well_formed() -> None:
    document = automation(
        step("uno", action("flow.goto_step", "ir", step="dos")), step("dos", action("flow.end", "IR"))
    )
    assert found(document) == [(None, "duplicate_key", "/steps/1/actions/0/key")]
    document = automation(step("1uno", action("flow.end", "a-b")), step("á", action("flow.end", "x" * 64)))
    assert found(document) == [
        (None, "key_format", "/steps/0/key"),
        (None, "key_format", "/steps/0/actions/0/key"),
        (None, "key_format", "/steps/1/key"),
        (None, "key_format", "/steps/1/actions/0/key"),
    ]


def test_templates_are_checked_on_save_and_refused_in_triggers() -> None:
    templated = {"field": "message.text", "operator": "equals", "value": "{{ contact.name }}"}
    document = automation(
        step(
            "uno",
            action("comms.send_message", "a", text="Hola {{ contact.name"),
            action("comms.send_message", "b", text=["{{ contact.name }}"]),
            action(
                "flow.condition", "c", when=templated | {"value": "{{ x | }"}, on_true="uno", on_false="uno"
            ),
        ),
        trigger={"type": "message.inbound", "filters": templated},
    )
    assert found(document) == [
        (None, "template_not_allowed", "/trigger/filters/value"),
        (None, "template_syntax", "/steps/0/actions/0/config/text"),
        (None, "wrong_type", "/steps/0/actions/1/config/text"),
        (None, "template_syntax", "/steps/0/actions/2/config/when/value"),
    ]


def test_filters_belong_to_inbound_messages() -> None:
    filters = {"field": "message.text", "operator": "equals", "value": "si"}
    document = automation(trigger={"type": "manual", "filters": filters})
    assert found(document) == [(None, "filters_not_allowed", "/trigger/filters")]
    document = automation(trigger={"type": "message.inbound", "filters": {"any": []}})
    assert found(document) == [(None, "group_empty", "/trigger/filters/any")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"max_step_visits": 0}, [(None, "out_of_range", "/max_step_visits")]),
        ({"max_step_visits": 101}, [(None, "out_of_range", "/max_step_visits")]),
        ({"max_step_visits": "3"}, [(None, "wrong_type", "/max_step_visits")]),
        ({"max_step_visits": True}, [(None, "wrong_type", "/max_step_visits")]),
        ({"name": " "}, [(None, "blank", "/name")]),
        ({"format": 2}, [(None, "not_a_choice", "/format")]),
        ({"kind": "flow"}, [(None, "not_a_choice", "/kind")]),
        ({"wait_conflict": "never"}, [(None, "not_a_choice", "/wait_conflict")]),
        ({"a/b": 1}, [(None, "unknown_field", "/a~1b")]),
        ({"steps": []}, [(None, "steps_missing", "/steps")]),
        ({"steps": {}}, [(None, "wrong_type", "/steps")]),
        ({"kind": "pipeline", "steps": 3}, [(None, "kind_not_available", "/kind")]),
    ],
)
def test_the_header(changes: dict[str, Any], expected: list[Any]) -> None:
    assert found(automation(**changes)) == expected


def test_a_definition_has_at_most_100_steps_of_50_actions() -> None:
    steps = [step(f"s{n}", action("flow.goto_step", f"a{n}", step=f"s{(n + 1) % 100}")) for n in range(100)]
    assert found(automation(*steps)) == []
    assert found(automation(*steps, step("otro"))) == [(None, "too_many_steps", "/steps")]
    sends = [action("comms.send_message", f"a{n}", text="Hola") for n in range(50)]
    assert found(automation(step("uno", *sends, END))) == [(None, "too_many_actions", "/steps/0/actions")]
    assert found(automation(step("uno", *sends[1:], END))) == []


def test_compile_raises_with_every_violation() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        compile_automation(automation(max_step_visits=0, name=""))
    violations = cast(tuple[Any, ...], caught.value.extra["violations"])
    assert [violation.pointer for violation in violations] == ["/name", "/max_step_visits"]


def test_reading_leaves_the_document_as_it_was() -> None:
    document = automation(step("uno", action("comms.send_message", "a", text="Hola", **REPLY), END))
    before = json.dumps(document)
    assert found(document) == []
    assert json.dumps(document) == before
