"""The sandbox from Python: for tests, the demo and load drivers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "sandbox-token"


class SandboxError(Exception):
    """The sandbox refused; `problem` is what it said."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('detail')}")
        self.status, self.problem = status, problem


class Sandbox:
    """Control of one running sandbox."""

    def __init__(self, base_url: str, *, token: str = TOKEN) -> None:
        self.base_url, self.token = base_url.rstrip("/"), token
        self._session = requests.Session()
        self._session.trust_env = False

    def close(self) -> None:
        self._session.close()

    def seed(self, entity: str, **seed: Any) -> dict[str, Any]:
        """Create or replace an entity, with the fields of `devtools.sandbox.world.EntitySeed`."""
        return self._call("PUT", f"entities/{quote(entity, safe='')}", seed)

    def reply(
        self, entity: str, contact: str, text: str | None = None, *, chat: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Answer as the contact: `{status, answer, message_id}`, the first two being the engine's."""
        return self._call(
            "POST", "reply", {"entity": entity, "contact": contact, "chat": chat, "text": text, **more}
        )

    def calls(
        self, entity: str | None = None, *, operation: str | None = None, since: int = 0
    ) -> list[dict[str, Any]]:
        """What was sent to the sandbox, accepted or not, oldest first; `since` is the number of a call."""
        wanted = {"entity": entity, "operation": operation, "since": str(since)}
        query = {name: value for name, value in wanted.items() if value is not None}
        return list(self._call("GET", "calls", query=query)["calls"])

    def fault(self, operation: str = "*", **rule: Any) -> None:
        """Order a fault; the fields of `devtools.sandbox.faults.Fault`."""
        self._call("POST", "faults", {"operation": operation, **rule})

    def clear_faults(self) -> None:
        self._call("DELETE", "faults")

    def capabilities(self, **abilities: Any) -> None:
        """Change what the CRM says it can do, as `idempotency_keys=False`; keys are then ignored."""
        self._call("PUT", "capabilities", abilities)

    def reset(self) -> None:
        """Forget entities, calls, keys and faults."""
        self._call("POST", "reset")

    def conversation(self, entity: str, contact: str) -> list[dict[str, Any]]:
        """Both sides' messages, oldest first."""
        path = f"conversations/{quote(entity, safe='')}/{quote(contact, safe='')}"
        return list(self._call("GET", path)["messages"])

    def notifications(self, entity: str) -> list[dict[str, Any]]:
        """What users of the entity were notified of, the latest hundred."""
        entities = self._call("GET", "entities")["entities"]
        return [notice for one in entities if one["id"] == entity for notice in one["notifications"]]

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        url = f"{self.base_url}/_sandbox/{path}"
        response = self._session.request(method, url, json=body, params=query, timeout=30)
        answer: dict[str, Any] = response.json()
        if response.status_code != 200:
            raise SandboxError(response.status_code, answer)
        return answer


@contextmanager
def running(*arguments: str, token: str = TOKEN) -> Iterator[Sandbox]:
    """A sandbox in a process of its own on a free port; it ends with the block, or with this process."""
    command = [sys.executable, "-m", "devtools.sandbox", "--port", "0", "--token", token, "--exit-with-stdin"]
    process = subprocess.Popen(
        [*command, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            raise RuntimeError("the sandbox did not start; its reason stands above")
        sandbox = Sandbox(address, token=token)
        try:
            yield sandbox
        finally:
            sandbox.close()
            process.terminate()
