"""`make up`: everything kept running in the foreground, with addresses, credentials and a line to try."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import requests

from boostflow import local
from boostflow.env import ROOT
from devtools.processes import ProcessError, listens, python
from devtools.sandbox.client import SandboxError
from devtools.server import ServerError
from devtools.signals import interruptible
from devtools.stage import ENTITY, Stage, raised, seed_sandbox

WEB_PORT, SANDBOX_PORT = 8000, 8100
WORKFLOWS = ("examples/lead_qualification.json", "examples/support_follow_up.json")
USER = "admin"


def main() -> int:
    """Run until Ctrl-C; non-zero with the reason where a process cannot start or ends by itself."""
    for port in (WEB_PORT, SANDBOX_PORT):
        if listens(port):
            print(f"Port {port} of this machine is taken; stop what listens there first.", file=sys.stderr)
            return 1
    try:
        with (
            interruptible(),
            raised(
                env="development",
                database=local.DATABASE,
                fresh=False,
                say=print,
                web_port=WEB_PORT,
                sandbox_port=SANDBOX_PORT,
            ) as stage,
        ):
            announce(stage, *prepare(stage))
            while (failure := stage.processes.failure()) is None:
                time.sleep(0.5)
            print(failure, file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("stopped")
        return 0
    except (ProcessError, ServerError, SandboxError, requests.RequestException) as problem:
        print(problem, file=sys.stderr)
        return 1


def prepare(stage: Stage) -> tuple[str, str]:
    """The demo entity, its workflows, a key and a console user; their secrets."""
    stage.manage(
        "create_entity",
        ENTITY,
        "--name",
        "La Cafetalera",
        "--timezone",
        "America/Guatemala",
        "--system-user",
        "sistema",
    )
    for path in WORKFLOWS:
        stage.manage("load_workflow", path, "--entity", ENTITY, "--publish")
    key = remembered("api-key", lambda: create_key(stage))
    password = remembered("console-password", lambda: secrets.token_urlsafe(12))
    create_user(stage, password)
    seed_sandbox(stage, key)
    return key, password


def create_key(stage: Stage) -> str:
    """A new administrator's key of the demo entity."""
    printed = stage.manage("create_api_key", "--entity", ENTITY, "--name", "make up", "--role", "admin")
    found = re.search(r"bf_[\w-]+", printed)
    if found is None:
        raise ProcessError(f"create_api_key printed no key: {printed!r}")
    return found.group()


def remembered(name: str, make: Callable[[], str]) -> str:
    """A secret of this checkout, made once and kept beside its database, readable by its owner only."""
    path: Path = local.services_dir() / name
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
    return path.read_text()


def create_user(stage: Stage, password: str) -> None:
    """The console's superuser, unless it exists."""
    done = subprocess.run(
        python("manage.py", "createsuperuser", "--noinput", "--username", USER, "--email", "admin@localhost"),
        cwd=ROOT,
        env={**os.environ, **stage.environ, "DJANGO_SUPERUSER_PASSWORD": password},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    taken = "ya está" in done.stderr or "ya existe" in done.stderr or "already" in done.stderr
    if done.returncode != 0 and not taken:
        raise ProcessError(f"createsuperuser failed:\n{done.stdout}{done.stderr}")


def announce(stage: Stage, key: str, password: str) -> None:
    """Where everything is, and how to try it."""
    body = (
        '{"message_id": "try-1", "channel": "whatsapp", "direction": "inbound", "author": "contact", "kind": "text", '
        '"text": "Precio?", "sent_at": "2026-11-30T14:03:05Z", "contact": {"id": "c-ana", "name": "Ana"}, '
        '"chat": {"id": "ch-ana", "channel": "whatsapp"}}'
    )
    print(
        f"""
boostflow is up. Ctrl-C stops everything.

  console      {stage.web_url}/admin/      user {USER}, password {password}
  API          {stage.web_url}/api/v1/docs/
  API key      {key}      (administrator of entity {ENTITY})
  sandbox CRM  {stage.sandbox.base_url}/      answer as a contact here

Try:
  curl -X POST {stage.web_url}/api/v1/events/messages/ -H 'Authorization: Bearer {key}' \\
    -H 'Content-Type: application/json' -d '{body}'
""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
