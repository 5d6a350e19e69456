"""One development server: its process, how it is stopped, and how one is started and waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devtools.pids import POLL_SECONDS, Process, ended, stop

START_SECONDS = 60.0
LOG_LINES = 15


class ServerError(Exception):
    """A development server is missing or will not run; the message is for the person at the terminal."""


class Server:
    """A server that runs: started here, or left by an earlier launcher and adopted."""

    def __init__(
        self,
        name: str,
        pid: int,
        stop_steps: list[tuple[signal.Signals, float]],
        log: Path,
        child: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.name = name
        self.process = Process.of(pid)
        self.adopted = child is None
        self.log = log
        self._stop_steps = stop_steps
        self._child = child

    def failure(self) -> str | None:
        """Why it no longer runs, or None."""
        if not ended(self.process, self._child):
            return None
        return f"{self.name} (process {self.process.pid}) has ended:\n{tail(self.log)}"

    def stop(self) -> None:
        """End it within its time limit."""
        if not stop(self.process, self._stop_steps, self._child):
            raise ServerError(f"{self.name} (process {self.process.pid}) cannot be stopped.")


def started(
    name: str,
    command: list[str],
    popen: dict[str, Any],
    stop_steps: list[tuple[signal.Signals, float]],
    log: Path,
    answers: Callable[[], str | None],
    interrupted: Callable[[], bool],
) -> Server:
    """Start a server and wait until it answers; on any failure it is stopped before the error is raised."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C at the terminal is for the launcher
            **popen,
        )
    server = Server(name, child.pid, stop_steps, log, child)
    try:
        _wait(server, answers, interrupted)
    except BaseException:
        server.stop()
        raise
    return server


def _wait(server: Server, answers: Callable[[], str | None], interrupted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while answers() is None:
        if failure := server.failure():
            raise ServerError(failure)
        if interrupted():
            raise KeyboardInterrupt
        if time.monotonic() > deadline:
            raise ServerError(f"{server.name} did not answer in {START_SECONDS:.0f} s:\n{tail(server.log)}")
        time.sleep(POLL_SECONDS)


def tail(log: Path, lines: int = LOG_LINES) -> str:
    """The last lines of a log."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:])
