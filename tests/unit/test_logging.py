"""What a log line holds and what it never holds."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from celery import signals
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from structlog.contextvars import get_contextvars

from boostflow.logging import MESSAGE_HEADER, RequestIdMiddleware, configure_logging
from boostflow.redaction import HIDDEN, redact


@pytest.fixture
def lines() -> Iterator[Any]:
    """The lines written so far, on a stream of the test's own."""
    root = logging.getLogger()
    before = root.handlers
    structlog.contextvars.clear_contextvars()
    configure_logging(level="INFO", style="json")
    (handler,) = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream := io.StringIO())
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    for kept in before:
        if type(kept) is logging.StreamHandler:  # pytest adds and removes its own
            root.addHandler(kept)
    structlog.contextvars.clear_contextvars()


def test_library_line_is_json_without_locals(lines: Any) -> None:
    hidden = "-".join(["the", "value", "of", "a", "local"])
    try:
        raise ValueError(str(len(hidden)))
    except ValueError:
        logging.getLogger("some.library").exception("failed with %s", "Bearer abcdefgh12345678")
    (line,) = lines()
    assert (line["event"], line["level"], line["logger"]) == (
        f"failed with Bearer {HIDDEN}",
        "error",
        "some.library",
    )
    assert "ValueError: 20" in line["exception"]
    assert hidden not in json.dumps(line)


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "secret",
        "token",
        "crm_service_token",
        "Authorization",
        "api_key",
        "apiKey",
        "jwt",
        "cookie",
    ],
)
def test_secret_fields_are_hidden_at_any_depth(key: str) -> None:
    event = redact(None, "info", {key: "v", "deep": {"list": [{key: "v"}]}})
    assert event == {key: HIDDEN, "deep": {"list": [{key: HIDDEN}]}}


@pytest.mark.parametrize("key", ["prompt_tokens", "key", "idempotency_key", "session", "passed"])
def test_ordinary_fields_are_kept(key: str) -> None:
    assert redact(None, "info", {key: "v"}) == {key: "v"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET postgresql://app:hunter2@db/x", f"GET postgresql://app:{HIDDEN}@db/x"),
        ("jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2ln ends", f"jwt {HIDDEN} ends"),
        ("the bearer of news", "the bearer of news"),
    ],
)
def test_credentials_inside_texts(text: str, expected: str) -> None:
    assert redact(None, "info", {"event": text}) == {"event": expected}


def _ok(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(get_contextvars()["request_id"]))


def test_request_keeps_the_callers_id(lines: Any) -> None:
    response = RequestIdMiddleware(_ok)(RequestFactory().get("/api/v1/x/", headers={"X-Request-Id": "abc-1"}))
    assert (response["X-Request-Id"], response.content) == ("abc-1", b"abc-1")
    (line,) = lines()
    assert (line["event"], line["request_id"], line["path"], line["status"]) == (
        "request",
        "abc-1",
        "/api/v1/x/",
        200,
    )
    assert get_contextvars() == {}


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\tb"])
def test_an_unsound_id_is_replaced(given: str, lines: Any) -> None:
    response = RequestIdMiddleware(_ok)(RequestFactory().get("/health/live", headers={"X-Request-Id": given}))
    assert response["X-Request-Id"] != given
    assert len(response["X-Request-Id"]) == 32
    assert lines() == []


def test_a_task_logs_with_its_ids_and_its_requests(lines: Any) -> None:
    headers: dict[str, Any] = {}
    with structlog.contextvars.bound_contextvars(request_id="r-1"):
        signals.before_task_publish.send("workflows.advance", headers=headers)
    assert headers == {MESSAGE_HEADER: "r-1"}
    task = SimpleNamespace(name="workflows.advance", request=SimpleNamespace(headers=headers))
    signals.task_prerun.send(task.name, task_id="t", task=task, kwargs={"entity_id": 7, "text": "hola"})
    structlog.stdlib.get_logger("x").info("advanced")
    signals.task_postrun.send(task.name, task_id="t", task=task)
    (line,) = lines()
    ids = {key: line[key] for key in ("request_id", "task", "task_id", "entity_id")}
    assert ids == {"request_id": "r-1", "task": "workflows.advance", "task_id": "t", "entity_id": 7}
    assert "text" not in line
    assert get_contextvars() == {}
