"""PostgreSQL and Valkey for a machine that has none: `python -m devtools.services`, or `running()`."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from boostflow import local
from boostflow.env import environment
from devtools import postgres, valkey
from devtools.accounts import NoAccountError, can_enter
from devtools.pids import wait_until
from devtools.postgres import create_database, drop_database
from devtools.server import Server, ServerError

__all__ = ["ServerError", "Servers", "create_database", "drop_database", "running"]

LOCK_SECONDS = 150.0  # longer than one start or stop can take
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers that run for us; none for an address that is configured."""

    all: tuple[Server, ...]

    def failure(self) -> str | None:
        """Why one of them no longer runs, or None."""
        return next((reason for server in self.all if (reason := server.failure())), None)


@contextmanager
def running(
    say: Callable[[str], object] = lambda line: None, interrupted: Callable[[], bool] = lambda: False
) -> Iterator[Servers]:
    """The development servers, ready. Nothing is started for DATABASE_URL or REDIS_URL when it is set.

    They are shared by all who ask in one checkout, and the last one to leave stops them.
    """
    configured = environment()
    base = _prepare_base() if not (configured.database_url and configured.redis_url) else None
    with ExitStack() as stack:
        servers: list[Server] = []
        if base is None:
            say("PostgreSQL and Valkey: configured elsewhere, nothing started")
            yield Servers(())
            return
        users = stack.enter_context((base / "users.lock").open("w"))
        with _locked(base):
            fcntl.flock(users, fcntl.LOCK_SH)
            stack.callback(_leave, base, users, servers)
            if not configured.database_url:
                servers.append(postgres.start(base, interrupted))
                say(f"PostgreSQL ready: {local.database_url(local.APP_ROLE)}")
            if not configured.redis_url:
                servers.append(valkey.start(base, interrupted))
                say(f"Valkey ready: {local.redis_url()}")
        yield Servers(tuple(servers))


def _prepare_base() -> Path:
    """The servers' directory, made, and known to hold sockets and to be open to PostgreSQL's account."""
    base = local.services_dir()
    if base == local.configured_dir() and not _usable(base):
        (base / local.ELSEWHERE).write_text("The servers of this checkout live in the temporary directory.\n")
        base = local.services_dir()
    if base != local.configured_dir():
        base.mkdir(mode=0o711, exist_ok=True)
        if base.stat().st_uid != os.geteuid():
            raise ServerError(f"{base} belongs to another user. Remove it or set SERVICES_DIR.")
    (base / "log").mkdir(parents=True, exist_ok=True)
    return base


def _usable(base: Path) -> bool:
    base.mkdir(parents=True, exist_ok=True)
    probe = base / f"probe-{os.getpid()}.sock"
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(probe))
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return can_enter(base)


@contextmanager
def _locked(base: Path) -> Iterator[None]:
    """One launcher at a time; the lock goes with its process, so a killed one leaves none."""
    with (base / "start.lock").open("w") as lock:
        if not wait_until(lambda: _flock(lock, fcntl.LOCK_EX), LOCK_SECONDS):
            raise ServerError(
                f"Another launcher has been starting or stopping servers in {base} for too long."
            )
        yield


def _flock(lock: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _leave(base: Path, users: IO[str], servers: list[Server]) -> None:
    """Stop the servers unless others of this checkout use them."""
    problems = []
    with _locked(base):
        if not _flock(users, fcntl.LOCK_EX):
            return
        for server in reversed(servers):
            try:
                server.stop()
            except ServerError as error:
                problems.append(str(error))
    if problems:
        raise ServerError("\n".join(problems))


def main() -> int:
    """Run the servers in the foreground until a signal comes or one of them dies."""
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, frame: signals.append(received))
    try:
        with running(lambda line: print(line, flush=True), lambda: bool(signals)) as servers:
            while not signals:
                if failure := servers.failure():
                    raise ServerError(failure)
                time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        return 0
    except (ServerError, NoAccountError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
