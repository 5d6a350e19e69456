"""The sandbox keeps the contract: every operation of the document is served, and answers fit its schemas."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from openapi_spec_validator import validate

from devtools.sandbox import contract
from devtools.sandbox.client import Sandbox, SandboxError, running

CONTRACT = contract.load()
LINK = {"title": None, "link": None}
REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "get_capabilities": ("/capabilities", None),
    "send_text": ("/messages/text", {"contact_id": "c-1", "chat_id": "ch-1", "text": "Hola"}),
    "send_template": (
        "/messages/template",
        {
            "contact_id": "c-1",
            "chat_id": "ch-old",
            "template": "hola",
            "language": "es",
            "parameters": ["Ana"],
        },
    ),
    "send_media": (
        "/messages/media",
        {"contact_id": "c-1", "chat_id": "ch-1", "type": "image", "url": "https://example.com/a.png"},
    ),
    "list_templates": ("/templates", None),
    "assign_seller": ("/assignments/seller", {"contact_id": "c-1", "strategy": "round_robin", "team": None}),
    "search_contacts": ("/contacts?query=a&limit=1", None),
    "get_contact": ("/contacts/c-1", None),
    "update_contact": ("/contacts/c-1", {"name": "Ana María", "fields": {"city": "Xela"}}),
    "add_tag": ("/contacts/c-1/tags/nuevo", None),
    "remove_tag": ("/contacts/c-1/tags/vip", None),
    "create_note": ("/contacts/c-1/notes", {"text": "Llamar"}),
    "list_chats": ("/contacts/c-1/chats", None),
    "create_event": (
        "/events",
        {"title": "Visita", "starts_at": "2026-12-01T10:00:00Z", "contact_id": "c-1"},
    ),
    "notify_user": ("/notifications/user", {"user_id": "u-1", "text": "Nuevo lead", **LINK}),
    "notify_team": ("/notifications/team", {"team": "ventas", "text": "Nuevo lead", **LINK}),
    "get_user": ("/users/u-3", None),
    "resolve_zauru_session": ("/zauru/session", {"zauru_user_id": "z-1"}),
}


def ask(sandbox: Sandbox, name: str, **headers: str) -> requests.Response:
    path, body = REQUESTS[name]
    return raw(sandbox, CONTRACT.operations[name].method, path, body, **headers)


def raw(sandbox: Sandbox, method: str, path: str, body: Any, **headers: str) -> requests.Response:
    sent = {
        "Authorization": f"Bearer {sandbox.token}",
        "X-Entity-Id": "e",
        "Idempotency-Key": "k-1",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return requests.request(method, sandbox.base_url + path, json=body, headers=sent, timeout=5)


def test_the_contract_is_valid_openapi() -> None:
    validate(json.loads(json.dumps(CONTRACT._document)))
    assert REQUESTS.keys() == CONTRACT.operations.keys()


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_every_answer_fits_its_schema(sandbox: Sandbox, name: str) -> None:
    response = ask(sandbox, name)
    assert response.status_code == 200, response.text
    CONTRACT.operations[name].answer.validate(response.json())
    if CONTRACT.operations[name].keyed:
        again = ask(sandbox, name)
        assert again.json() == response.json()
        assert again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.rule("G6")
@pytest.mark.parametrize("name", sorted(REQUESTS.keys() - {"get_capabilities"}))
def test_every_operation_refuses_alike(sandbox: Sandbox, name: str) -> None:
    refusals = [
        (ask(sandbox, name, Authorization="Bearer other"), 401, "unauthorized"),
        (ask(sandbox, name, X_Entity_Id="nobody"), 404, "not_found"),
        (ask(sandbox, name, X_Entity_Id=""), 400, "invalid"),
        (ask(sandbox, name, X_User_Id="u-3"), 403, "auth_revoked"),
    ]
    for response, status, code in refusals:
        CONTRACT.problem.validate(response.json())
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert response.headers["Content-Type"] == "application/problem+json"
    assert [call["outcome"] for call in sandbox.calls()] == ["refused"] * 4


@pytest.mark.parametrize("name", sorted(name for name, item in CONTRACT.operations.items() if item.body))
def test_bodies_are_checked_by_the_contract(sandbox: Sandbox, name: str) -> None:
    path, body = REQUESTS[name]
    wrongs: list[Any] = [{**(body or {}), "unknown": 1}, {}, [], None]
    for wrong in wrongs:
        response = raw(sandbox, CONTRACT.operations[name].method, path, wrong)
        assert (response.status_code, response.json()["code"]) == (400, "invalid")
    assert {call["outcome"] for call in sandbox.calls()} == {"refused"}


def test_writes_show_in_what_is_read(sandbox: Sandbox) -> None:
    for name in ("update_contact", "add_tag", "add_tag", "remove_tag", "send_template"):
        assert ask(sandbox, name).status_code == 200
    contact = ask(sandbox, "get_contact").json()
    assert (contact["name"], contact["tags"], contact["fields"]) == ("Ana María", ["nuevo"], {"city": "Xela"})
    assert sandbox.conversation("e", "c-1")[0]["text"] == "Hola Ana"
    assert [chat["id"] for chat in ask(sandbox, "list_chats").json()["items"]] == ["ch-old", "ch-1"]


def test_search_goes_through_all_pages(sandbox: Sandbox) -> None:
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = raw(sandbox, "GET", f"/contacts?limit=2&cursor={quote(cursor)}", None).json()
        found += [contact["id"] for contact in page["items"]]
        cursor = page["next_cursor"]
    assert found == ["a/b?c#d", "c-1", "c-2", "c-3"]


def test_unknown_paths_and_methods(sandbox: Sandbox) -> None:
    assert raw(sandbox, "GET", "/nowhere", None).status_code == 404
    assert raw(sandbox, "DELETE", "/templates", None).status_code == 405


def test_faults_count_and_aim(sandbox: Sandbox) -> None:
    sandbox.fault("send_text", status=500, times=2, contact="c-1", entity="e")
    sandbox.fault("get_user", status=503)
    assert [ask(sandbox, "send_text").status_code for _ in range(3)] == [500, 500, 200]
    assert ask(sandbox, "get_user").status_code == 503
    sandbox.fault("get_user", status=503, times=None)
    sandbox.clear_faults()
    assert ask(sandbox, "get_user").status_code == 200
    with pytest.raises(SandboxError):
        sandbox.fault("get_user", surprise=True)


def test_seeds_that_contradict_themselves_are_refused(sandbox: Sandbox) -> None:
    seeds: list[dict[str, Any]] = [
        {"chats": [{"id": "x", "contact_id": "nobody"}]},
        {"teams": {"t": ["nobody"]}},
        {"people": []},
    ]
    for seed in seeds:
        with pytest.raises(SandboxError):
            sandbox.seed("new", **seed)
    assert raw(sandbox, "GET", "/templates", None, X_Entity_Id="new").status_code == 404


def test_answering_as_the_contact(sandbox: Sandbox) -> None:
    with engine() as (address, received):
        sandbox.seed(
            "e",
            contacts=[{"id": "c-1", "name": "Ana"}],
            chats=[{"id": "ch-1", "contact_id": "c-1", "window_open_until": "2020-01-01T00:00:00Z"}],
            api_key="key-of-e",
            web_url=address,
        )
        assert ask(sandbox, "send_text").json()["code"] == "window_closed"
        result = sandbox.reply("e", "c-1", "Precio?", message_id="wamid.1")
        pressed = sandbox.reply("e", "c-1", "Sí", payload={"id": "si"}, reply_to="wamid.0")
    assert result == {"status": 200, "answer": {"outcome": "started"}, "message_id": "wamid.1"}
    (path, key, event), (_, _, button) = received
    assert (path, key) == ("/api/v1/events/messages/", "Bearer key-of-e")
    assert event.pop("sent_at")
    assert event["chat"].pop("window_open_until") > "2026"
    assert event == {
        "message_id": "wamid.1",
        "channel": "whatsapp",
        "direction": "inbound",
        "author": "contact",
        "kind": "text",
        "text": "Precio?",
        "payload": None,
        "attachments": [],
        "reply_to": None,
        "contact": ask(sandbox, "get_contact").json(),
        "chat": {"id": "ch-1", "channel": "whatsapp", "assigned_user_id": None},
    }
    assert (button["kind"], button["payload"], button["reply_to"]) == ("button", {"id": "si"}, "wamid.0")
    assert pressed["message_id"] == button["message_id"]
    assert ask(sandbox, "send_text").status_code == 200, "the answer opened the window"
    told = [(entry["direction"], entry["text"]) for entry in sandbox.conversation("e", "c-1")]
    assert told == [("in", "Precio?"), ("in", "Sí"), ("out", "Hola")]


def test_an_engine_that_is_away_or_unknown(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="422"):
        sandbox.reply("e", "c-1", "Hola")
    with pytest.raises(SandboxError, match="404"):
        sandbox.reply("e", "nobody", "Hola")


def test_the_page_stands_alone(sandbox: Sandbox) -> None:
    page = requests.get(sandbox.base_url + "/", timeout=5)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "://" not in page.text, "no request leaves the machine"


def test_control_refuses_pages_of_other_origins(sandbox: Sandbox) -> None:
    url = f"{sandbox.base_url}/_sandbox/reset"
    assert requests.post(url, headers={"Origin": "https://example.com"}, timeout=5).status_code == 403
    assert requests.post(url, headers={"Origin": sandbox.base_url}, timeout=5).status_code == 200


def test_the_journal_has_what_was_done(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    with running("--journal", str(journal)) as own:
        own.seed("e", contacts=[{"id": "c-1"}], chats=[{"id": "ch-1", "contact_id": "c-1"}])
        own.fault("send_text", status=500)
        own.fault("send_text", drop="after")
        assert ask(own, "send_text").status_code == 500
        with pytest.raises(requests.ConnectionError):
            ask(own, "send_text")
        assert ask(own, "send_text").headers["Idempotency-Replayed"] == "true"
        assert [call["outcome"] for call in own.calls("e")] == ["faulted", "accepted", "replayed"]
        own.reset()
    (line,) = [json.loads(line) for line in journal.read_text().splitlines()]
    assert (line["entity"], line["operation"], line["idempotency_key"]) == ("e", "send_text", "k-1")
    assert (line["body"]["text"], line["fault"]["drop"]) == ("Hola", "after")
    assert line["answer"]["message_id"].startswith("wamid.")


def test_a_call_under_way_does_not_outlive_a_reset(sandbox: Sandbox) -> None:
    sandbox.fault("send_text", delay_s=0.5)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(ask, sandbox, "send_text")
        time.sleep(0.2)
        sandbox.reset()
        sandbox.seed("e", contacts=[{"id": "c-1"}], chats=[{"id": "ch-1", "contact_id": "c-1"}])
        assert late.result().status_code == 404
    assert sandbox.conversation("e", "c-1") == []
    assert sandbox.calls() == []


@contextmanager
def engine() -> Iterator[tuple[str, list[tuple[str, str | None, dict[str, Any]]]]]:
    """Stands for the engine's API: notes what it is sent and answers that an execution was started."""
    received: list[tuple[str, str | None, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.path, self.headers["Authorization"], event))
            answer = b'{"outcome": "started"}'
            self.send_response_only(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()
