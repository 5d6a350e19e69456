"""One call of the CRM's contract, from the request to the answer or the fault that was ordered."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devtools.sandbox.contract import Contract, Operation
from devtools.sandbox.faults import Fault, Faults
from devtools.sandbox.ledger import Ledger
from devtools.sandbox.operations import WORK, Refused, Request
from devtools.sandbox.world import Entity, stamp

SERVICES = ["interactions", "assignments", "contacts", "events", "notifications", "users", "zauru"]
IDENTITY = ("x-entity-id", "x-user-id", "x-employee-id", "traceparent")


@dataclass(slots=True)
class Answer:
    """What goes back, and the fault that the transport has to commit."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None


@dataclass(slots=True)
class _Call:
    operation: Operation
    values: dict[str, str]
    headers: Mapping[str, str]
    path: str
    raw: bytes
    world: int
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def entity(self) -> str:
        return self.headers.get("x-entity-id", "")

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")


class Service:
    """The sandbox CRM. `lock` guards the world."""

    def __init__(self, contract: Contract, token: str, ledger: Ledger) -> None:
        if missing := contract.operations.keys() ^ (WORK.keys() | {"get_capabilities"}):
            raise RuntimeError(f"contract and sandbox differ: {sorted(missing)}")
        self.contract, self.ledger, self.faults = contract, ledger, Faults()
        self.lock = threading.RLock()
        self.entities: dict[str, Entity] = {}
        self._token = token.encode()
        self._world = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything but the journal; calls still under way are then calls of a world that is gone."""
        with self.lock:
            self._world += 1
            self.entities.clear()
            self.capabilities: dict[str, Any] = {"idempotency_keys": True, "services": list(SERVICES)}
            self.faults.clear()
            self.ledger.clear()

    def handle(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], raw: bytes
    ) -> Answer:
        """Carry out one request; `headers` have lower-case names."""
        operation, values, known = self.contract.find(method, path)
        if operation is None:
            return problem(405, "method_not_allowed", "") if known else problem(404, "not_found", "")
        call = _Call(operation, {**query, **values}, headers, path, raw, self._world)
        try:
            self._admit(call)
        except Refused as refused:
            return self._close(call, "refused", problem(refused.status, refused.code, refused.detail), None)
        contact = call.body.get("contact_id") or values.get("contact_id")
        fault = self.faults.take(operation.name, call.entity or None, contact)
        if fault and fault.delay_s and fault.idle:
            time.sleep(fault.delay_s)
        if fault and fault.idle:
            return self._close(call, "faulted", _ordered(fault), fault)
        return self._carry_out(call, fault)

    def _admit(self, call: _Call) -> None:
        """Token, body and identity; `call.body` is filled."""
        given = call.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, b"Bearer " + self._token):
            raise Refused(401, "unauthorized", "The service token is missing or wrong.")
        if call.operation.body is not None:
            call.body = _parse(call)
        if call.operation.keyed and not call.key:
            raise Refused(400, "invalid", "Idempotency-Key is missing.")
        if not call.operation.scoped:
            return
        if not call.entity:
            raise Refused(400, "invalid", "X-Entity-Id is missing.")
        with self.lock:
            entity = self.entities.get(call.entity)
            if entity is None:
                raise Refused(404, "not_found", "There is no such entity.")
            user_id = call.headers.get("x-user-id")
            user = entity.users.get(user_id) if user_id else None
            if user_id and (user is None or not user.active):
                raise Refused(403, "auth_revoked", "The user may not act in this entity.")

    def _carry_out(self, call: _Call, fault: Fault | None) -> Answer:
        keyed = call.operation.keyed and self.capabilities["idempotency_keys"]
        scope = (call.world, call.entity, call.path, call.key or "")
        try:
            known = self.ledger.begin(scope, call.raw) if keyed else None
        except Refused as refused:
            return self._close(call, "refused", problem(refused.status, refused.code, refused.detail), fault)
        if known is not None:
            replayed = Answer(200, known, {"Idempotency-Replayed": "true"})
            return self._close(call, "replayed", replayed, fault)
        body: dict[str, Any] | None = None
        try:
            if fault and fault.delay_s:
                time.sleep(fault.delay_s)
            body = self._work(call)
        except Refused as refused:
            return self._close(call, "refused", problem(refused.status, refused.code, refused.detail), fault)
        finally:
            if keyed:
                self.ledger.settle(scope, body)
        answer = _ordered(fault) if fault and fault.status else Answer(200, body)
        return self._close(call, "accepted", answer, fault, result=body)

    def _work(self, call: _Call) -> dict[str, Any]:
        with self.lock:
            if not call.operation.scoped:
                return dict(self.capabilities)
            entity = self.entities.get(call.entity)
            if entity is None or call.world != self._world:
                raise Refused(404, "not_found", "There is no such entity.")
            user_id = call.headers.get("x-user-id")
            return WORK[call.operation.name](Request(entity, user_id, call.values, call.body))

    def _close(
        self,
        call: _Call,
        outcome: str,
        answer: Answer,
        fault: Fault | None,
        *,
        result: dict[str, Any] | None = None,
    ) -> Answer:
        answer.fault = fault
        entry = {
            "time": stamp(),
            "entity": call.entity or None,
            "operation": call.operation.name,
            "path": call.path,
            "idempotency_key": call.key,
            "identity": {name: call.headers[name] for name in IDENTITY if name in call.headers},
            "body": call.body,
            "outcome": outcome,
            "status": answer.status,
            "code": answer.body.get("code"),
            "answer": result,
            "fault": fault.model_dump(mode="json", exclude_defaults=True) if fault else None,
        }
        with self.lock:
            if call.world == self._world:
                self.ledger.note(entry)
        return answer


def _parse(call: _Call) -> dict[str, Any]:
    try:
        body = json.loads(call.raw)
    except (ValueError, RecursionError):
        raise Refused(400, "invalid", "The body is not JSON.") from None
    validator = call.operation.body
    error = next(validator.iter_errors(body), None) if validator else None
    if error is not None:
        raise Refused(400, "invalid", f"{error.json_path}: {error.message}"[:500])
    return dict(body)


def _ordered(fault: Fault) -> Answer:
    """The answer with the status that was ordered."""
    status = fault.status or 500
    answer = problem(status, fault.code or ("unavailable" if status >= 500 else "rejected"), "As ordered.")
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = str(fault.retry_after)
    if fault.location is not None:
        answer.headers["Location"] = fault.location
    return answer


def problem(status: int, code: str, detail: str) -> Answer:
    """Problem details (RFC 9457)."""
    title = code.replace("_", " ")
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    return Answer(status, body, {"Content-Type": "application/problem+json"})
