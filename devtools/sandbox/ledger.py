"""What the sandbox was sent: calls, idempotency keys, and a journal on disk for checks after a run."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.sandbox.operations import Refused

KEPT_CALLS = 100_000
Scope = tuple[int, str, str, str]


@dataclass(slots=True)
class _Key:
    body: bytes
    answer: dict[str, Any] | None = None


class Ledger:
    """One instance for all threads."""

    def __init__(self, journal: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._calls: deque[dict[str, Any]] = deque(maxlen=KEPT_CALLS)
        self._keys: dict[Scope, _Key] = {}
        self._sequence = 0
        self._journal = journal.open("a", encoding="utf-8", buffering=1) if journal else None

    def begin(self, scope: Scope, body: bytes) -> dict[str, Any] | None:
        """The answer given before to this key, or None if the call is to be carried out and then settled."""
        with self._lock:
            known = self._keys.get(scope)
            if known is None:
                self._keys[scope] = _Key(body)
                return None
            if known.body != body:
                raise Refused(422, "idempotency_key_reused", "The key was used with another body.")
            if known.answer is None:
                raise Refused(409, "in_flight", "The first request with this key is still under way.")
            return known.answer

    def settle(self, scope: Scope, answer: dict[str, Any] | None) -> None:
        """Keep the answer under its key; None forgets the key, for nothing was done."""
        with self._lock:
            if answer is None:
                self._keys.pop(scope, None)
            elif scope in self._keys:
                self._keys[scope].answer = answer

    def note(self, call: Mapping[str, Any]) -> None:
        """Record a call; those that were carried out go to the journal too."""
        with self._lock:
            self._sequence += 1
            entry = {"number": self._sequence, **call}
            self._calls.append(entry)
            if self._journal and entry["outcome"] == "accepted":
                self._journal.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def calls(self, *, since: int, entity: str | None, operation: str | None) -> list[dict[str, Any]]:
        """Calls with a number above `since`, oldest first."""
        with self._lock:
            return [
                call
                for call in self._calls
                if call["number"] > since
                and entity in {None, call["entity"]}
                and operation in {None, call["operation"]}
            ]

    def clear(self) -> None:
        """Forget calls and keys; numbers go on, the journal stays."""
        with self._lock:
            self._calls.clear()
            self._keys.clear()
