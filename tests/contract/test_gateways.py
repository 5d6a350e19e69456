"""The gateways against the sandbox over real sockets: answers, failures (decision 13), deadlines, keys."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from boostflow.gateways import crm as crm_module
from boostflow.gateways import http
from boostflow.gateways.crm import Crm, CrmServices
from boostflow.gateways.failures import parse_retry_after
from boostflow.gateways.http import MAX_BODY, JsonClient, segment
from devtools.sandbox.client import Sandbox
from workflows.errors import ActionFailure, PermanentFailure, TransientFailure
from workflows.ports import Assignment, Auth, ServicesFactory

Open = Callable[..., CrmServices]


def send(services: CrmServices, text: str = "Hola", contact: str = "c-1", chat: str = "ch-1") -> str:
    return services.interactions.send_text(contact_id=contact, chat_id=chat, text=text).message_id


def failure(act: Callable[[], Any]) -> ActionFailure:
    with pytest.raises(ActionFailure) as caught:
        act()
    return caught.value


def accepted(sandbox: Sandbox) -> list[str]:
    return [call["operation"] for call in sandbox.calls() if call["outcome"] == "accepted"]


# --- what works ----------------------------------------------------------------------------------


def test_a_text_with_options_reaches_the_contact(sandbox: Sandbox, services: Open) -> None:
    options = [{"id": "si", "title": "Sí"}, {"id": "no", "title": "No"}]
    token = http.traceparent.set("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    try:
        sent = services("k-7").interactions.send_text(
            contact_id="c-1", chat_id="ch-1", text="¿Te interesa?", options=options
        )
    finally:
        http.traceparent.reset(token)

    assert sent.status == "accepted"
    assert datetime.now(UTC) - sent.accepted_at < timedelta(minutes=1)
    (shown,) = sandbox.conversation("e", "c-1")
    assert (shown["direction"], shown["text"], shown["options"]) == ("out", "¿Te interesa?", options)
    assert shown["message_id"] == sent.message_id
    (call,) = sandbox.calls("e")
    assert call["idempotency_key"] == "k-7"
    assert call["identity"] == {
        "x-entity-id": "e",
        "x-user-id": "u-1",
        "x-employee-id": "e-1",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }


def test_sellers_take_turns_and_a_named_one_is_taken(services: Open) -> None:
    def assign(key: str, strategy: str, user_id: str | None = None) -> Assignment:
        return services(key).assignments.assign_seller(
            contact_id="c-1", strategy=strategy, team="ventas", user_id=user_id
        )

    assert [assign(f"k-{turn}", "round_robin").user_id for turn in range(3)] == ["u-1", "u-2", "u-1"]
    assert assign("k-user", "user", "u-2") == Assignment("e-2", "u-2")
    assert assign("k-least", "least_busy") == Assignment("e-1", "u-1")


def test_a_user_is_notified(sandbox: Sandbox, services: Open) -> None:
    notification_id = services().notifications.notify_user(
        user_id="u-2", text="Nuevo lead", title=None, link=None
    )
    (notice,) = sandbox.notifications("e")
    assert (notice["id"], notice["users"], notice["text"]) == (notification_id, ["u-2"], "Nuevo lead")


def test_a_contact_has_the_fields_of_an_inbound_event(services: Open) -> None:
    assert services().contacts.get(contact_id="c-1") == {
        "id": "c-1",
        "name": "Ana",
        "phone": "+50211112222",
        "email": None,
        "tags": ["vip"],
        "seller_id": None,
        "is_new": False,
        "fields": {},
    }


def test_ids_are_quoted_in_paths(services: Open) -> None:
    assert services().contacts.get(contact_id="a/b?c#d")["name"] == "Odd"
    assert segment("..") == "%2E%2E"
    assert failure(lambda: services().contacts.get(contact_id="../contacts/c-1")).reason == "rejected"


def test_a_read_sends_no_key(sandbox: Sandbox, services: Open) -> None:
    services("k-1").contacts.get(contact_id="c-1")
    assert sandbox.calls("e")[0]["idempotency_key"] is None


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contact", "chat", "reason"),
    [
        ("c-1", "ch-old", "window_closed"),
        ("c-2", "ch-2", "contact_opted_out"),
        ("c-3", "ch-3", "contact_blocked"),
        ("c-4", "ch-4", "contact_deleted"),
        ("c-1", "ch-2", "rejected"),
        ("nobody", "ch-1", "rejected"),
    ],
)
def test_a_business_refusal_has_its_reason(
    sandbox: Sandbox, services: Open, contact: str, chat: str, reason: str
) -> None:
    refused = failure(lambda: send(services(), contact=contact, chat=chat))
    assert isinstance(refused, PermanentFailure)
    assert (refused.reason, refused.extra["kind"]) == (reason, "rejected")
    assert accepted(sandbox) == []


@pytest.mark.rule("G6")
def test_ids_of_another_entity_do_not_exist(sandbox: Sandbox, services: Open) -> None:
    acts: list[Callable[[], Any]] = [
        lambda: send(services(), contact="c-9", chat="ch-9"),
        lambda: send(services(), contact="c-1", chat="ch-9"),
        lambda: services().contacts.get(contact_id="c-9"),
        lambda: services().notifications.notify_user(user_id="u-9", text="x", title=None, link=None),
        lambda: services().assignments.assign_seller(
            contact_id="c-1", strategy="user", team=None, user_id="u-9"
        ),
    ]
    for act in acts:
        refused = failure(act)
        assert (refused.extra["status_code"], refused.extra["problem_code"]) == (404, "not_found")
    assert accepted(sandbox) == []
    assert sandbox.conversation("other", "c-9") == []


def test_a_user_who_may_not_act_is_refused(services: Open) -> None:
    assert failure(lambda: send(services(user="u-3"))).reason == "auth_revoked"
    assert failure(lambda: send(services(user="u-9"))).reason == "auth_revoked"
    assert send(services(user=None)).startswith("wamid.")


def test_a_wrong_token_is_refused_and_never_shown(sandbox: Sandbox) -> None:
    crm = Crm(JsonClient(sandbox.base_url, SecretStr("wrong-secret")), limit_s=5.0)
    opened = crm.open_services(auth=Auth("e", None), idempotency_key="k", deadline_s=5)
    refused = failure(lambda: send(opened))
    assert (refused.reason, refused.extra["status_code"]) == ("rejected", 401)
    shown = [repr(refused), str(refused), repr(refused.extra), repr(opened), repr(crm)]
    assert not any("wrong-secret" in text for text in shown)


def test_a_value_that_http_cannot_carry_is_refused_unsent(sandbox: Sandbox, services: Open) -> None:
    refused = failure(lambda: send(services(entity="e\r\nX-Entity-Id: other")))
    assert isinstance(refused, PermanentFailure)
    assert refused.extra["kind"] == "rejected"
    assert sandbox.calls() == []


# --- decision 13: classification -------------------------------------------------------------------


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize(
    ("status", "kind", "sent"),
    [
        *((status, "answered_retry", False) for status in (425, 429, 503)),
        *((status, "unknown", True) for status in (408, 500, 502, 504, 599)),
    ],
)
def test_statuses_that_may_pass(sandbox: Sandbox, services: Open, status: int, kind: str, sent: bool) -> None:
    sandbox.fault("send_text", status=status)
    failed = failure(lambda: send(services()))
    assert isinstance(failed, TransientFailure)
    assert (failed.extra["kind"], failed.sent, failed.reason) == (kind, sent, "unavailable")
    assert failed.retry_after is None
    assert len(sandbox.calls()) == 1, "the client does not retry by itself"


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 418, 422])
def test_other_refusals_are_final(sandbox: Sandbox, services: Open, status: int) -> None:
    sandbox.fault("send_text", status=status, code="something_new")
    refused = failure(lambda: send(services()))
    assert isinstance(refused, PermanentFailure)
    assert (refused.reason, refused.extra["kind"]) == ("rejected", "rejected")


@pytest.mark.rule("decision-13")
def test_409_is_in_flight_only_for_our_key(sandbox: Sandbox, services: Open) -> None:
    sandbox.fault("*", status=409, code="in_flight", times=2)
    with_key = failure(lambda: send(services()))
    assert isinstance(with_key, TransientFailure)
    assert (with_key.extra["kind"], with_key.sent) == ("in_flight", True)
    without = failure(lambda: services().contacts.get(contact_id="c-1"))
    assert isinstance(without, PermanentFailure)
    assert without.extra["kind"] == "rejected"


def test_retry_after_is_read(sandbox: Sandbox, services: Open) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    sandbox.fault("send_text", status=429, retry_after=7)
    sandbox.fault("send_text", status=503, retry_after=later)
    first, second = failure(lambda: send(services())), failure(lambda: send(services()))
    assert isinstance(first, TransientFailure)
    assert isinstance(second, TransientFailure)
    assert first.retry_after == 7
    assert second.retry_after == pytest.approx(90, abs=10)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("9" * 400, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_forms_of_retry_after(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text, now=60.0) == seconds


@pytest.mark.rule("decision-13")
def test_not_sent_when_refused_unknown_or_not_tls(sandbox: Sandbox) -> None:
    with closed_port() as port:
        addresses = [
            f"http://127.0.0.1:{port}",
            "http://no-such-name.invalid",
            sandbox.base_url.replace("http:", "https:"),
        ]
        for address in addresses:
            failed = failure(lambda address=address: send(opened(address)))  # type: ignore[misc]
            assert isinstance(failed, TransientFailure)
            assert (failed.sent, failed.extra["kind"]) == (False, "not_sent"), address
    assert sandbox.calls() == []


@pytest.mark.rule("decision-13")
def test_a_connection_that_does_not_come_about_is_not_sent() -> None:
    with full_backlog() as port:
        began = time.monotonic()
        failed = failure(lambda: send(opened(f"http://127.0.0.1:{port}", seconds=0.5)))
    assert isinstance(failed, TransientFailure)
    assert (failed.sent, failed.extra["kind"]) == (False, "not_sent")
    assert 0.4 < time.monotonic() - began < 1.5


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize(("drop", "done"), [("before", []), ("after", ["send_text"])])
def test_no_answer_is_unknown_whether_it_was_done_or_not(
    sandbox: Sandbox, services: Open, drop: str, done: list[str]
) -> None:
    sandbox.fault("send_text", drop=drop)
    failed = failure(lambda: send(services()))
    assert isinstance(failed, TransientFailure)
    assert (failed.sent, failed.extra["kind"]) == (True, "unknown")
    assert accepted(sandbox) == done


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize("spoiled", [{"garbage": True}, {"wrong_types": True}, {"status": 204, "work": True}])
def test_an_answer_that_does_not_fit_is_kept(
    sandbox: Sandbox, services: Open, spoiled: dict[str, Any]
) -> None:
    sandbox.fault("send_text", **spoiled)
    failed = failure(lambda: send(services()))
    assert isinstance(failed, PermanentFailure)
    assert (failed.reason, failed.extra["kind"]) == ("bad_response", "bad_response")
    assert accepted(sandbox) == ["send_text"]
    if "garbage" in spoiled:
        assert failed.extra["body"].startswith("<html>")


def test_another_contact_is_no_answer(
    sandbox: Sandbox, services: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crm_module, "segment", lambda _: "c-1")
    assert failure(lambda: services().contacts.get(contact_id="c-2")).reason == "bad_response"


def test_a_huge_answer_is_cut_off(sandbox: Sandbox, services: Open) -> None:
    sandbox.fault("send_text", huge=MAX_BODY * 20)
    failed = failure(lambda: send(services()))
    assert failed.reason == "bad_response"
    assert failed.extra["problem"] == "too long"
    assert len(failed.extra["body"]) == 4_000
    assert send(services("k-2")).startswith("wamid."), "the next call is not disturbed"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(sandbox: Sandbox, services: Open, status: int) -> None:
    target = f"{sandbox.base_url}/contacts/c-1"
    sandbox.fault("get_contact", status=status, location=target, huge=MAX_BODY * 5)
    failed = failure(lambda: services().contacts.get(contact_id="c-1"))
    assert (failed.reason, failed.extra["status_code"]) == ("bad_response", status)
    assert len(sandbox.calls()) == 1


def test_the_body_of_a_redirect_is_not_waited_for(sandbox: Sandbox, services: Open) -> None:
    sandbox.fault("send_text", status=302, location="/", drip="body")
    failed = failure(lambda: send(services(seconds=0.5)))
    assert (failed.reason, failed.extra["status_code"]) == ("bad_response", 302)


# --- deadlines -----------------------------------------------------------------------------------


@pytest.mark.rule("decision-15")
@pytest.mark.parametrize("drip", ["headers", "body"])
def test_a_slow_drip_is_cut_off(sandbox: Sandbox, services: Open, drip: str) -> None:
    sandbox.fault("send_text", drip=drip, drip_interval_s=0.05)
    began = time.monotonic()
    failed = failure(lambda: send(services(seconds=0.6)))
    assert 0.5 < time.monotonic() - began < 1.2
    assert isinstance(failed, TransientFailure)
    assert (failed.sent, failed.extra["kind"]) == (True, "unknown")


@pytest.mark.rule("decision-15")
def test_silence_is_cut_off_and_the_deadline_covers_all_requests_of_a_call(
    sandbox: Sandbox, services: Open
) -> None:
    sandbox.fault("send_text", delay_s=2)
    opened_services = services(seconds=0.4)
    failed = failure(lambda: send(opened_services))
    assert isinstance(failed, TransientFailure)
    assert (failed.sent, failed.extra["kind"]) == (True, "unknown")
    second = failure(lambda: send(opened_services))
    assert isinstance(second, TransientFailure)
    assert (second.sent, second.extra["kind"]) == (False, "not_sent")


@pytest.mark.rule("decision-15")
def test_the_configured_limit_holds_below_the_deadline(sandbox: Sandbox) -> None:
    sandbox.fault("send_text", delay_s=2)
    began = time.monotonic()
    failed = failure(lambda: send(opened(sandbox.base_url, limit=0.4, seconds=30)))
    assert isinstance(failed, TransientFailure)
    assert failed.sent
    assert time.monotonic() - began < 1.2


# --- keys ----------------------------------------------------------------------------------------


@pytest.mark.rule("decision-13")
def test_a_repeated_key_sends_once(sandbox: Sandbox, services: Open) -> None:
    sandbox.fault("send_text", drop="after")
    failure(lambda: send(services("k-1")))
    again = send(services("k-1"))
    (shown,) = sandbox.conversation("e", "c-1")
    assert shown["message_id"] == again
    assert [call["outcome"] for call in sandbox.calls()] == ["accepted", "replayed"]


def test_a_repeated_key_with_another_body_is_refused(sandbox: Sandbox, services: Open) -> None:
    send(services("k-1"), "uno")
    refused = failure(lambda: send(services("k-1"), "dos"))
    assert (refused.reason, refused.extra["problem_code"]) == ("rejected", "idempotency_key_reused")
    assert len(sandbox.conversation("e", "c-1")) == 1


def test_a_key_of_another_entity_is_another_key(sandbox: Sandbox, services: Open) -> None:
    first = send(services("k-1"))
    second = send(services("k-1", entity="other", user=None), contact="c-9", chat="ch-9")
    assert first != second


def test_a_key_in_use_is_in_flight(sandbox: Sandbox, services: Open) -> None:
    sandbox.fault("send_text", delay_s=0.8)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, services("k-1"))
        time.sleep(0.3)
        second = failure(lambda: send(services("k-1")))
        message_id = first.result()
    assert second.extra["kind"] == "in_flight"
    assert send(services("k-1")) == message_id


def test_a_crm_that_ignores_keys_sends_twice(sandbox: Sandbox, services: Open) -> None:
    sandbox.capabilities(idempotency_keys=False)
    assert send(services("k-1")) != send(services("k-1"))
    assert len(sandbox.conversation("e", "c-1")) == 2


# --- capabilities ----------------------------------------------------------------------------------


def test_capabilities_are_asked_once_and_kept_while_the_crm_is_away(
    sandbox: Sandbox, crm: Crm, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=1000.0)
    assert crm.capabilities().idempotency_keys
    monkeypatch.setattr(crm_module, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + clock.now))
    sandbox.capabilities(idempotency_keys=False)
    assert not crm.capabilities().idempotency_keys, "expired"
    assert not crm.capabilities().idempotency_keys
    assert len(sandbox.calls()) == 2
    sandbox.fault("get_capabilities", status=503, times=None)
    clock.now += 400
    assert not crm.capabilities().idempotency_keys, "what it said last"
    assert not crm.capabilities().idempotency_keys
    assert len(sandbox.calls()) == 3, "and no storm of questions"
    clock.now += 3700
    assert failure(crm.capabilities).extra["kind"] == "answered_retry"


# --- wiring --------------------------------------------------------------------------------------


def test_open_services_reads_the_environment_at_the_first_call(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory: ServicesFactory = crm_module.open_services
    settings = SimpleNamespace(crm_base_url="", crm_service_token=SecretStr(sandbox.token), crm_timeout=5.0)
    monkeypatch.setattr(crm_module, "environment", lambda: settings)
    crm_module.crm.cache_clear()
    auth = Auth("e", "u-1")
    assert failure(lambda: factory(auth=auth, idempotency_key="k", deadline_s=5)).reason == "unavailable"
    settings.crm_base_url = sandbox.base_url + "/"
    try:
        assert (
            factory(auth=auth, idempotency_key="k", deadline_s=5).contacts.get(contact_id="c-1")["id"]
            == "c-1"
        )
    finally:
        crm_module.crm.cache_clear()


def test_connections_are_shared_and_reused_by_threads(sandbox: Sandbox, services: Open) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: send(services(f"k-{number}")), range(200)))
    assert len(set(ids)) == 200
    assert len(sandbox.conversation("e", "c-1")) == 200
    texts = {call["idempotency_key"]: call["answer"]["message_id"] for call in sandbox.calls()}
    assert [texts[f"k-{number}"] for number in range(200)] == ids, "no answer went to another's question"


def test_one_connection_serves_calls_in_a_row_until_it_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    with counting_server() as (port, connections):
        client = JsonClient(f"http://127.0.0.1:{port}", SecretStr("t"))

        def ask() -> list[str]:
            return client.call("c", "GET", "/", crm_module.Capabilities, seconds=2).services

        assert [ask() for _ in range(3)] == [[], [], []]
        assert len(connections) == 1
        monkeypatch.setattr("boostflow.gateways.deadline.IDLE_LIMIT_S", 0.0)
        ask()
        assert len(connections) == 2


@pytest.mark.parametrize("address", ["", "crm", "ftp://crm", "http://"])
def test_a_base_address_must_be_http(address: str) -> None:
    with pytest.raises(ValueError, match="http"):
        JsonClient(address, SecretStr("t"))


# --- helpers -------------------------------------------------------------------------------------


def opened(base_url: str, *, limit: float = 5.0, seconds: float = 5.0) -> CrmServices:
    crm = Crm(JsonClient(base_url, SecretStr("sandbox-token")), limit_s=limit)
    return crm.open_services(auth=Auth("e", None), idempotency_key="k", deadline_s=seconds)


@contextmanager
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextmanager
def full_backlog() -> Iterator[int]:
    """A port whose queue of connections is full, so that a further one is never answered."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = []
        try:
            for _ in range(4):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(listening.getsockname())
                waiting.append(one)
            yield listening.getsockname()[1]
        finally:
            for one in waiting:
                one.close()


@contextmanager
def counting_server() -> Iterator[tuple[int, list[object]]]:
    connections: list[object] = []
    body = b'{"idempotency_keys": true, "services": []}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def serve(connection: socket.socket) -> None:
        with connection:
            asked = b""
            while part := connection.recv(4096):
                asked += part
                while found := re.match(rb".*?\r\n\r\n", asked, re.DOTALL):
                    asked = asked[found.end() :]
                    connection.sendall(answer)

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], connections
        listening.shutdown(socket.SHUT_RDWR)
