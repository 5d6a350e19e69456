"""One log for web, workers and commands: structlog, JSON or text, with the ids of what a line is about."""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from celery import signals
from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bind_contextvars, clear_contextvars, reset_contextvars
from structlog.typing import Processor

from boostflow.redaction import redact

REQUEST_HEADER = "X-Request-Id"
MESSAGE_HEADER = "boostflow_request_id"
TASK_IDS = ("entity_id", "execution_id", "frame_id")
QUIET_PATHS = ("/health/", "/metrics", "/static/")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
)
log = structlog.stdlib.get_logger(__name__)


def configure_logging(*, level: str, style: str) -> None:
    """Send every logger of the process, the libraries' too, to stderr; `style` is json or text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,  # a traceback without the frames' locals
                redact,
                _renderer(style),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("urllib3", "kombu", "amqp", "asyncio", "celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    _follow_tasks()


def _renderer(style: str) -> Processor:
    if style == "json":
        return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(colors=False, timestamp_key="time")


class RequestIdMiddleware:
    """Gives each request an id, the caller's if it sent a sound one, and logs its end."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(REQUEST_HEADER, "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        clear_contextvars()
        bind_contextvars(request_id=request_id)
        begun = time.perf_counter()
        try:
            response = self.get_response(request)
            response[REQUEST_HEADER] = request_id
            write = log.debug if request.path.startswith(QUIET_PATHS) else log.info
            write(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                milliseconds=round((time.perf_counter() - begun) * 1000, 1),
            )
        finally:
            clear_contextvars()
        return response


def _follow_tasks() -> None:
    """A task's lines carry its ids and its request's; Celery makes no log of its own."""
    signals.setup_logging.connect(_keep_logging, weak=False, dispatch_uid="boostflow.logging")
    signals.before_task_publish.connect(_send_request_id, weak=False, dispatch_uid="boostflow.logging")
    signals.task_prerun.connect(_bind_task, weak=False, dispatch_uid="boostflow.logging")
    signals.task_postrun.connect(_unbind_task, weak=False, dispatch_uid="boostflow.logging")


def _keep_logging(**_: Any) -> None:
    """A receiver of this signal is how Celery is told that logging is set up."""


def _send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    if request_id and headers is not None:
        headers.setdefault(MESSAGE_HEADER, request_id)


def _bind_task(task_id: str, task: Any, kwargs: dict[str, Any] | None = None, **_: Any) -> None:
    ids = {name: kwargs[name] for name in TASK_IDS if kwargs and name in kwargs}
    headers = task.request.headers or {}
    request_id = getattr(task.request, MESSAGE_HEADER, None) or headers.get(MESSAGE_HEADER)
    if request_id:
        ids["request_id"] = request_id
    task.request.log_tokens = bind_contextvars(task=task.name, task_id=task_id, **ids)


def _unbind_task(task: Any, **_: Any) -> None:
    reset_contextvars(**getattr(task.request, "log_tokens", {}))
