"""What an answer, or the lack of one, means to the engine: the rows of decision 13."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from workflows.errors import N_, ActionFailure, PermanentFailure, TransientFailure

Kind = Literal["not_sent", "answered_retry", "unknown", "in_flight", "rejected", "bad_response"]
"""The row of the table, in `extra["kind"]` of every failure that a gateway raises."""

BUSINESS_REASONS = frozenset(
    {"window_closed", "contact_opted_out", "contact_blocked", "contact_deleted", "auth_revoked"}
)
"""Codes of the contract that are reasons of their own; every other refusal is `rejected`."""

KEPT_BODY = 4_000
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


def not_sent(operation: str, cause: BaseException) -> TransientFailure:
    """The request never left: name, connection, TLS, or no time left to try."""
    return _transient(
        N_("The CRM could not be reached."), "not_sent", operation, cause=type(cause).__name__, sent=False
    )


def no_answer(operation: str, cause: BaseException, status: int | None = None) -> TransientFailure:
    """The request left and no whole answer came back."""
    return _transient(
        N_("The CRM took the request and gave no answer."),
        "unknown",
        operation,
        cause=type(cause).__name__,
        sent=True,
        status=status,
    )


def bad_response(operation: str, status: int, body: bytes, problem: str) -> PermanentFailure:
    """An answer that cannot be used; the beginning of its body is kept."""
    return PermanentFailure(
        N_("The CRM gave an answer that does not fit its contract."),
        reason="bad_response",
        kind="bad_response",
        operation=operation,
        status_code=status,
        problem=problem,
        body=body[:KEPT_BODY].decode("utf-8", "replace"),
    )


def unusable_request(operation: str) -> PermanentFailure:
    """A value that HTTP cannot carry, as an id with a line break; nothing was sent."""
    return PermanentFailure(
        N_("The request has a value that cannot be sent."), kind="rejected", operation=operation
    )


def refusal(
    operation: str, status: int, headers: Mapping[str, str], body: bytes, *, keyed: bool
) -> ActionFailure:
    """The failure that a status other than 2xx stands for; `keyed` if an idempotency key was sent."""
    code = problem_code(body)
    if status in {425, 429, 503}:
        wait = parse_retry_after(headers.get("Retry-After"), time.time())
        detail = N_("The CRM asked to try again later.")
        return _transient(
            detail, "answered_retry", operation, sent=False, status=status, code=code, retry_after=wait
        )
    if status == 408 or status >= 500:
        detail = N_("The CRM failed while it handled the request.")
        return _transient(detail, "unknown", operation, sent=True, status=status, code=code)
    if status == 409 and keyed and code in {None, "in_flight"}:
        detail = N_("The CRM is still busy with an earlier attempt of this request.")
        return _transient(detail, "in_flight", operation, sent=True, status=status, code=code)
    if status < 400:
        return bad_response(operation, status, body, "status")
    return PermanentFailure(
        N_("The CRM refused the request."),
        reason=code if code in BUSINESS_REASONS else "rejected",
        kind="rejected",
        operation=operation,
        status_code=status,
        problem_code=code,
    )


def problem_code(body: bytes) -> str | None:
    """The stable `code` of a problem details body, if it has one."""
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = problem.get("code") if isinstance(problem, dict) else None
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait from `Retry-After`, given as seconds or as an HTTP date; None if it is neither."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _transient(
    detail: str,
    kind: Kind,
    operation: str,
    *,
    sent: bool,
    status: int | None = None,
    code: str | None = None,
    cause: str | None = None,
    retry_after: float | None = None,
) -> TransientFailure:
    facts = {"status_code": status, "problem_code": code, "cause": cause}
    known: dict[str, Any] = {name: value for name, value in facts.items() if value is not None}
    return TransientFailure(
        detail, sent=sent, retry_after=retry_after, kind=kind, operation=operation, **known
    )
