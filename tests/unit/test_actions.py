"""What each action does with literal configs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from tests.unit.definition_helpers import GUATEMALA, run
from workflows.contracts import Continue, Delay, End, GoTo, WaitForReply, action_registry
from workflows.errors import PermanentFailure
from workflows.ports import Assignment, SentMessage

MADRID = ZoneInfo("Europe/Madrid")
REACHABLE = {"contact": {"id": "c-7"}, "chat": {"id": "ch-9"}}


class Services:
    """Keeps what it is asked for; answers like the CRM."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    @property
    def interactions(self) -> Services:
        return self

    @property
    def assignments(self) -> Services:
        return self

    @property
    def notifications(self) -> Services:
        return self

    def send_text(self, **asked: Any) -> SentMessage:
        self.asked.append(asked)
        return SentMessage("wamid.9", "accepted", datetime(2026, 12, 1, 14, tzinfo=UTC))

    def assign_seller(self, **asked: Any) -> Assignment:
        self.asked.append(asked)
        return Assignment("emp-1", "u-3")

    def notify_user(self, **asked: Any) -> str:
        self.asked.append(asked)
        return "n-5"


def test_end_and_goto() -> None:
    assert run("flow.end", {}, {}) == End()
    assert run("flow.goto_step", {"step": "dos"}, {}) == GoTo("dos")


def test_condition_goes_one_of_two_ways() -> None:
    when = {"field": "contact.tags", "operator": "contains", "value": "vip"}
    config = {"when": when, "on_true": "uno", "on_false": "dos"}
    assert run("flow.condition", config, {"contact": {"tags": ["VIP"]}}) == GoTo("uno")
    assert run("flow.condition", config, {"contact": {"tags": None}}) == GoTo("dos")
    assert run("flow.condition", config, {}) == GoTo("dos")


def branches(**changes: Any) -> dict[str, Any]:
    """Two branches that are both true for `si`, and one that is true for no reply at all."""
    says_yes = {"field": "reply.text", "operator": "equals", "value": "si"}
    silent = {"field": "reply.text", "operator": "is_empty"}
    return {
        "branches": [
            {"when": says_yes, "goto": "primero"},
            {"when": says_yes, "goto": "segundo"},
            {"when": silent, "goto": "callado"},
        ],
        "default": "otro",
        **changes,
    }


@pytest.mark.rule("decision-8")
def test_replies_are_evaluated_in_order_and_silence_before_them() -> None:
    def goes(reply: Any, **changes: Any) -> str:
        outcome = run("flow.evaluate_reply", branches(**changes), {"reply": reply})
        assert isinstance(outcome, GoTo)
        return outcome.step

    assert goes({"text": "SÍ", "timed_out": False}) == "primero"
    assert goes({"text": "tal vez", "timed_out": False}) == "otro"
    assert goes(None) == "callado"
    assert goes({"text": None, "timed_out": True}, on_timeout="tarde") == "tarde"
    assert goes({"text": None, "timed_out": True}) == "otro"


@pytest.mark.rule("decision-36")
def test_a_failed_delivery_takes_the_way_of_the_time_out() -> None:
    reply = {"reply": {"text": None, "timed_out": False, "delivery_failed": True}}
    assert run("flow.evaluate_reply", branches(on_timeout="tarde"), reply) == GoTo("tarde")


@pytest.mark.rule("A5")
def test_waiting_for_a_reply_is_a_pause() -> None:
    outcome = run("flow.wait_for_reply", {"timeout": "PT2H", "collect": "PT5S"}, {})
    assert isinstance(outcome, WaitForReply)
    assert (outcome.wait.timeout.total_seconds(), outcome.wait.collect.total_seconds()) == (7200, 5)


def delayed(raw: dict[str, Any], now: str, zone: ZoneInfo = GUATEMALA) -> str:
    """Until when, in UTC."""
    outcome = run("flow.delay", raw, {}, now=datetime.fromisoformat(now), zone=zone)
    assert isinstance(outcome, Delay)
    return outcome.until.astimezone(UTC).isoformat()


@pytest.mark.parametrize(
    ("raw", "until"),
    [
        ({"duration": "PT90M"}, "2026-12-01T15:30:00+00:00"),
        ({"until": "2026-12-24T08:00"}, "2026-12-24T14:00:00+00:00"),
        ({"until": "2026-12-24T08:00:30"}, "2026-12-24T14:00:30+00:00"),
        ({"until": "2026-12-24T08:00:00+01:00"}, "2026-12-24T07:00:00+00:00"),
        ({"until": "2026-12-24T08:00:00Z"}, "2026-12-24T08:00:00+00:00"),
        ({"until": "2020-01-01T08:00"}, "2020-01-01T14:00:00+00:00"),
        ({"until": "08:30"}, "2026-12-01T14:30:00+00:00"),
        ({"until": "08:00"}, "2026-12-02T14:00:00+00:00"),
        ({"until": "08:00", "days": ["tue"]}, "2026-12-08T14:00:00+00:00"),
        ({"until": "08:00", "days": ["mon", "fri"]}, "2026-12-04T14:00:00+00:00"),
        ({"until": "08:01", "days": ["tue"]}, "2026-12-01T14:01:00+00:00"),
    ],
)
def test_delays_end_at_the_local_time(raw: dict[str, Any], until: str) -> None:
    assert delayed(raw, "2026-12-01T14:00:00+00:00") == until


@pytest.mark.rule("decision-18")
def test_a_delay_to_a_time_that_does_not_exist_or_occurs_twice() -> None:
    assert (
        delayed({"until": "2026-03-29T02:30"}, "2026-03-20T00:00:00+00:00", MADRID)
        == "2026-03-29T01:00:00+00:00"
    )
    assert delayed({"until": "02:30"}, "2026-03-28T12:00:00+00:00", MADRID) == "2026-03-29T01:00:00+00:00"
    assert (
        delayed({"until": "2026-10-25T02:30"}, "2026-10-20T00:00:00+00:00", MADRID)
        == "2026-10-25T00:30:00+00:00"
    )
    assert delayed({"until": "02:30"}, "2026-10-25T00:45:00+00:00", MADRID) == "2026-10-26T01:30:00+00:00"
    apia = ZoneInfo("Pacific/Apia")
    assert (
        delayed({"until": "2011-12-30T10:00"}, "2011-12-20T00:00:00+00:00", apia)
        == "2011-12-30T10:00:00+00:00"
    )
    assert (
        delayed({"until": "10:00", "days": ["fri"]}, "2011-12-23T22:00:00+00:00", apia)
        == "2012-01-05T20:00:00+00:00"
    )


@pytest.mark.rule("A6")
@pytest.mark.parametrize("until", ["2026-12-31T08:01", "9999-12-31T23:59", "2027-06-01T00:00:00Z"])
def test_a_delay_of_more_than_30_days_fails(until: str) -> None:
    with pytest.raises(PermanentFailure) as caught:
        delayed({"until": until}, "2026-12-01T14:00:00+00:00")
    assert caught.value.reason == "delay_too_long"


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"duration": "PT1H", "until": "08:00"},
        {"duration": "PT1H", "days": ["mon"]},
        {"until": "2026-12-24T08:00", "days": ["mon"]},
        {"until": "24:00"},
        {"until": "2026-02-30T08:00"},
        {"until": "2026-12-24"},
        {"until": "2026-12-24T24:00"},
        {"until": "08:00", "days": []},
        {"duration": "PT0S"},
    ],
)
def test_a_delay_has_one_form(raw: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        action_registry["flow.delay"].config.model_validate(raw)


@pytest.mark.rule("A3")
def test_a_message_goes_through_interactions() -> None:
    services = Services()
    raw: dict[str, Any] = {"text": "Hola", "options": [{"id": "si", "title": "Sí"}]}
    output = {"message_id": "wamid.9", "status": "accepted", "accepted_at": "2026-12-01T14:00:00Z"}
    assert run("comms.send_message", raw, REACHABLE, services) == Continue(output)
    assert services.asked == [
        {"contact_id": "c-7", "chat_id": "ch-9", "text": "Hola", "options": [{"id": "si", "title": "Sí"}]}
    ]
    raw["response_policy"] = {"await_reply": {"timeout": "PT1H"}}
    outcome = run("comms.send_message", raw, REACHABLE, services)
    assert isinstance(outcome, WaitForReply)
    assert outcome.output == output


@pytest.mark.rule("decision-32")
@pytest.mark.parametrize(
    "context", [{}, {"contact": {"id": "c"}}, {"contact": {"id": "c"}, "chat": {"id": None}}]
)
def test_a_message_needs_a_chat(context: dict[str, Any]) -> None:
    services = Services()
    with pytest.raises(PermanentFailure) as caught:
        run("comms.send_message", {"text": "Hola"}, context, services)
    assert caught.value.reason == "no_chat"
    assert services.asked == []


@pytest.mark.parametrize(
    "raw",
    [
        {"text": ""},
        {"text": "x" * 4097},
        {"text": "x", "options": [{"id": str(n), "title": "x"} for n in range(11)]},
        {"text": "x", "options": [{"id": "a", "title": "x"}, {"id": "a", "title": "y"}]},
        {"text": "x", "to": "c-8"},
    ],
)
def test_a_message_has_limits(raw: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        action_registry["comms.send_message"].config.model_validate(raw)


def test_a_seller_is_assigned() -> None:
    services = Services()
    outcome = run("crm.assign_seller", {"strategy": "round_robin", "team": "ventas"}, REACHABLE, services)
    assert outcome == Continue({"employee_id": "emp-1", "user_id": "u-3"})
    assert services.asked == [
        {"contact_id": "c-7", "strategy": "round_robin", "team": "ventas", "user_id": None}
    ]
    with pytest.raises(PermanentFailure):
        run("crm.assign_seller", {"strategy": "round_robin"}, {}, services)


@pytest.mark.parametrize(
    "raw", [{"strategy": "user"}, {"strategy": "least_busy", "user_id": "u-1"}, {"strategy": "best"}]
)
def test_a_user_is_named_by_the_strategy_user_only(raw: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        action_registry["crm.assign_seller"].config.model_validate(raw)


def test_a_user_is_notified() -> None:
    services = Services()
    outcome = run("notification.notify_user", {"user_id": "u-3", "text": "Nuevo lead"}, {}, services)
    assert outcome == Continue({"notification_id": "n-5"})
    assert services.asked == [{"user_id": "u-3", "text": "Nuevo lead", "title": None, "link": None}]
