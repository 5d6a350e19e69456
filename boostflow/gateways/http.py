"""A JSON client on `requests`: pooled, thread-safe, one deadline, no retries or redirects, bounded bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from http.cookiejar import DefaultCookiePolicy
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests
from pydantic import BaseModel, SecretStr, ValidationError
from urllib3.exceptions import HTTPError

from boostflow.gateways import failures
from boostflow.gateways.deadline import DeadlineAdapter, Exchange, exchange

MAX_BODY = 1_000_000
"""Bytes of an answer; a longer one is a `bad_response`."""

traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""W3C trace context of the present work; sent along where set."""

M = TypeVar("M", bound=BaseModel)


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: even with redirects off, `requests` reads the body of one to prepare the next request."""
        return None


class JsonClient:
    """Speaks to one service. One instance serves all threads of a process."""

    def __init__(self, base_url: str, token: SecretStr, *, connections: int = 64) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("the base address of a service is an http or https address")
        self._base_url = base_url.rstrip("/")
        self._token = token
        self._session = _Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        adapter = DeadlineAdapter(connections)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    def __repr__(self) -> str:
        return f"JsonClient({urlsplit(self._base_url).hostname!r})"

    def call(
        self,
        operation: str,
        method: str,
        path: str,
        answer: type[M],
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> M:
        """One request, its validated answer within `seconds`, else `TransientFailure` or `PermanentFailure`.

        `extra["kind"]` of the failure names its row of decision 13 (`failures.Kind`).
        """
        with exchange(seconds) as under_way:
            status, content = self._exchange(operation, method, path, headers or {}, body, under_way)
        try:
            return answer.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise failures.bad_response(operation, status, content, f"{where}: {first['type']}") from None

    def _exchange(
        self,
        operation: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
        under_way: Exchange,
    ) -> tuple[int, bytes]:
        try:
            response = self._send(method, path, headers, body, under_way)
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            if under_way.left:
                raise failures.no_answer(operation, error) from None
            if isinstance(error, ValueError):
                raise failures.unusable_request(operation) from None
            raise failures.not_sent(operation, error) from None
        status = response.status_code
        try:
            content = response.raw.read(MAX_BODY + 1, decode_content=False)
        except (HTTPError, OSError, ValueError) as error:
            if 200 <= status < 300:
                raise failures.no_answer(operation, error, status) from None
            content = b""
        finally:
            response.close()
        if not 200 <= status < 300:
            keyed = "Idempotency-Key" in headers
            raise failures.refusal(operation, status, response.headers, content, keyed=keyed)
        if len(content) > MAX_BODY:
            raise failures.bad_response(operation, status, content, "too long")
        return status, content

    def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
        under_way: Exchange,
    ) -> requests.Response:
        sent = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {self._token.get_secret_value()}",
            **headers,
        }
        if trace := traceparent.get():
            sent["traceparent"] = trace
        if body is not None:
            sent["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        seconds = under_way.remaining()
        return self._session.request(
            method,
            self._base_url + path,
            headers=sent,
            data=data,
            stream=True,
            allow_redirects=False,
            timeout=(seconds, seconds),
        )


def segment(identifier: str) -> str:
    """An opaque id as one segment of a path; `.` and `..` are quoted too, for they would change the path."""
    return (
        quote(identifier, safe="").replace(".", "%2E")
        if identifier in {".", ".."}
        else quote(identifier, safe="")
    )
