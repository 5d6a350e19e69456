"""The launcher of development servers, on real processes in directories of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from boostflow.env import ROOT
from devtools.pids import Process, wait_until

pytestmark = pytest.mark.timeout(180)
READY = ("PostgreSQL ready", "Valkey ready")


class Launcher:
    """`python -m devtools.services` on one directory."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.output = base.parent / f"launcher-{time.monotonic_ns()}.log"
        environ = {**os.environ, "SERVICES_DIR": str(base), "DATABASE_URL": "", "REDIS_URL": ""}
        with self.output.open("wb") as output:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "devtools.services"],
                cwd=ROOT,
                env=environ,
                stdout=output,
                stderr=output,
            )

    def ready(self) -> Launcher:
        assert wait_until(lambda: all(line in self.text() for line in READY) or self.ended(), 60)
        assert not self.ended(), self.text()
        return self

    def text(self) -> str:
        return self.output.read_text()

    def ended(self) -> bool:
        return self.popen.poll() is not None

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(60)

    def servers(self) -> list[Process]:
        """The two servers as they are now."""
        postgres = int((self.base / "postgres" / "postmaster.pid").read_text().split()[0])
        info = subprocess.run(
            [
                sys.executable,
                "-c",
                "from devtools import valkey; print(valkey.client().info('server')['process_id'])",
            ],
            cwd=ROOT,
            env={**os.environ, "SERVICES_DIR": str(self.base)},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return [Process.of(postgres), Process.of(int(info.stdout))]


@pytest.fixture
def base() -> Iterator[Path]:
    """A short path that other accounts may enter, emptied of servers at the end."""
    with tempfile.TemporaryDirectory(prefix="bf-", ignore_cleanup_errors=True) as parent:
        os.chmod(parent, 0o755)  # noqa: S103 - PostgreSQL's account enters it when root runs the tests
        base = Path(parent) / "v"
        yield base
        if (base / "start.lock").exists():
            last = Launcher(base).ready()
            assert last.end() == 0


def _gone(servers: list[Process]) -> bool:
    return wait_until(lambda: not any(server.alive() for server in servers), 10)


def _connect(base: Path, role: str, database: str = "boostflow") -> psycopg.Connection:
    return psycopg.connect(host=str(base / "run"), user=role, dbname=database, autocommit=True)


def test_roles_are_bound_by_row_security_and_tables_of_later_databases_are_granted(base: Path) -> None:
    launcher = Launcher(base).ready()
    with _connect(base, "boostflow_owner") as owner:
        roles = owner.execute(
            "select rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles "
            "where rolname like 'boostflow%' order by 1"
        ).fetchall()
        owner.execute("create database test_boostflow")
    assert roles == [
        ("boostflow_app", False, False, False, False),
        ("boostflow_owner", False, False, True, False),
    ]
    for database in ("boostflow", "test_boostflow"):
        with _connect(base, "boostflow_owner", database) as owner:
            owner.execute("create table t (id bigint generated always as identity, note text)")
        with _connect(base, "boostflow_app", database) as app:
            assert app.execute("insert into t (note) values ('ñ') returning id, upper(note)").fetchone() == (
                1,
                "Ñ",
            )
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute("create table u (id int)")
    servers = launcher.servers()
    assert launcher.end() == 0
    assert _gone(servers)


def test_a_killed_launchers_servers_are_adopted_and_stopped(base: Path) -> None:
    first = Launcher(base).ready()
    before = first.servers()
    first.end(signal.SIGKILL)
    assert all(server.alive() for server in before)
    second = Launcher(base).ready()
    assert second.servers() == before
    assert second.end(signal.SIGINT) == 0
    assert _gone(before)


def test_the_last_one_to_leave_stops_the_servers(base: Path) -> None:
    first, second = Launcher(base), Launcher(base)
    servers = first.ready().servers()
    assert second.ready().servers() == servers
    assert first.end() == 0
    assert all(server.alive() for server in servers)
    assert second.end() == 0
    assert _gone(servers)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_server_that_dies_ends_the_launcher_and_the_other_server(base: Path, victim: int) -> None:
    launcher = Launcher(base).ready()
    servers = launcher.servers()
    servers[victim].signal(signal.SIGKILL)
    assert launcher.popen.wait(30) == 1
    assert "has ended" in launcher.text()
    assert _gone(servers)


@pytest.mark.parametrize("seconds", [0.6, 1.2])
def test_an_interrupted_start_leaves_nothing(base: Path, seconds: float) -> None:
    launcher = Launcher(base)
    time.sleep(seconds)
    assert launcher.end() in (0, -signal.SIGTERM)
    assert not (base / "run" / ".s.PGSQL.5432").exists()
    assert not (base / "valkey.sock").exists()


def test_configured_addresses_start_nothing(base: Path) -> None:
    environ = {
        **os.environ,
        "SERVICES_DIR": str(base),
        "DATABASE_URL": "postgresql://x/y",
        "REDIS_URL": "redis://x/0",
    }
    script = "from devtools.services import running\nwith running(print) as servers: print(servers.all)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.splitlines() == ["PostgreSQL and Valkey: configured elsewhere, nothing started", "()"]
    assert not base.exists()
