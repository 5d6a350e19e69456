"""A whole installation on this machine for the demo and `make up`: servers, database, web, workers, beat, sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests

from boostflow import local
from boostflow.env import ROOT, environment
from devtools import installation, postgres, services
from devtools.installation import HOST
from devtools.processes import ProcessError, Processes, free_port, python
from devtools.sandbox.client import TOKEN, Sandbox

ENTITY = "cafetalera"
FRESH_BROKER = 1
NAMES = ("Ana", "Beto", "Carla", "Dora", "Elio")
CONTACTS: list[dict[str, Any]] = [{"id": f"c-{name.lower()}", "name": name} for name in NAMES]
CHATS: list[dict[str, Any]] = [
    {"id": f"ch-{name.lower()}", "contact_id": f"c-{name.lower()}", "channel": "whatsapp"} for name in NAMES
]
USERS: list[dict[str, Any]] = [
    {"id": "sistema", "name": "Sistema", "employee_id": "e-0"},
    {"id": "vendedora-1", "name": "Vera", "employee_id": "e-1"},
    {"id": "soporte-1", "name": "Saúl", "employee_id": "e-2"},
]
TEAMS = {"ventas": ["vendedora-1"], "soporte": ["soporte-1"]}


@dataclass(frozen=True, slots=True)
class Stage:
    """The running installation: where it answers, and how to speak to it."""

    processes: Processes
    web_url: str
    sandbox: Sandbox
    environ: Mapping[str, str]

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end; what it printed."""
        done = subprocess.run(
            python("manage.py", *arguments),
            cwd=ROOT,
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            raise ProcessError(f"manage.py {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def api(self, key: str) -> Api:
        """The HTTP interface with one key."""
        return Api(self.web_url, key)


class Api:
    """The engine's HTTP interface; an answer that is no success is an error that says what was answered."""

    def __init__(self, web_url: str, key: str) -> None:
        self._base = f"{web_url}/api/v1/"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers["Authorization"] = f"Bearer {key}"

    def get(self, path: str, **query: str) -> Any:
        """GET a JSON document."""
        return self._answer(self._session.get(self._base + path, params=query, timeout=30))

    def post(self, path: str, body: Any = None) -> Any:
        """POST a JSON document."""
        return self._answer(self._session.post(self._base + path, json=body or {}, timeout=30))

    @staticmethod
    def _answer(response: requests.Response) -> Any:
        if not response.ok:
            raise ProcessError(
                f"{response.request.method} {response.url}: {response.status_code} {response.text}"
            )
        return response.json()


@contextmanager
def raised(
    *,
    env: str,
    database: str,
    fresh: bool,
    say: Callable[[str], object],
    web_port: int | None = None,
    sandbox_port: int | None = None,
) -> Iterator[Stage]:
    """Everything started and ready; everything stopped at the end, whatever happened.

    `fresh` begins with an empty database and a broker number of its own, so that it may run beside another
    installation of this checkout. With DATABASE_URL set, that database is used as it is.
    """
    with services.running(say):
        environ = {"ENV": env, **_database(database, fresh=fresh)}
        if fresh and not environment().redis_url:
            environ["REDIS_URL"] = local.redis_url().replace("virtual_host=0", f"virtual_host={FRESH_BROKER}")
        sandbox_port = sandbox_port or free_port()
        environ["CRM_BASE_URL"] = f"http://{HOST}:{sandbox_port}"
        environ["CRM_SERVICE_TOKEN"] = TOKEN
        with Processes(environ, say) as processes:
            installation.migrate(processes)
            web_port = web_port or free_port()
            installation.start_sandbox(processes, sandbox_port)
            installation.start_web(processes, web_port)
            installation.start_main(processes, 1)
            installation.start_main(processes, 2)
            installation.start_slow(processes)
            installation.start_beat(processes)
            sandbox = Sandbox(environ["CRM_BASE_URL"])
            try:
                yield Stage(processes, f"http://{HOST}:{web_port}", sandbox, environ)
            finally:
                sandbox.close()


def _database(name: str, *, fresh: bool) -> dict[str, str]:
    if environment().database_url:
        return {}
    if fresh:
        postgres.drop_database(name)
    postgres.create_database(name)
    return {
        "DATABASE_URL": local.database_url(local.APP_ROLE, name),
        "MIGRATE_DATABASE_URL": local.database_url(local.OWNER_ROLE, name),
    }


def seed_sandbox(stage: Stage, key: str) -> None:
    """Give the sandbox CRM its people, and the key with which it reports what contacts write."""
    stage.sandbox.seed(
        ENTITY,
        contacts=CONTACTS,
        chats=CHATS,
        users=USERS,
        teams=TEAMS,
        api_key=key,
        web_url=stage.web_url,
    )
