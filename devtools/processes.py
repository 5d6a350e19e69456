"""The installation's processes for demo, `make up` and chaos: started, watched, killed, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from boostflow import local
from boostflow.env import ROOT
from devtools.pids import POLL_SECONDS, Process, wait_until
from devtools.server import tail

START_SECONDS = 60.0
STOP_SECONDS = 20.0
KILL_SECONDS = 5.0


class ProcessError(Exception):
    """A process did not start, did not get ready or ended by itself; the message has the end of its log."""


class Child:
    """One process, leader of a group of its own, with its log."""

    def __init__(self, name: str, argv: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.argv = tuple(argv)
        self.environ = dict(environ)
        self.log = log
        with log.open("wb") as output:
            self.popen = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=ROOT,
                env=self.environ,
                start_new_session=True,
            )
        self.process = Process.of(self.popen.pid)

    def ended(self) -> bool:
        """Whether the process itself has ended; its children may outlive it."""
        return self.popen.poll() is not None

    def failure(self) -> str | None:
        """Why it no longer runs, or None."""
        if not self.ended():
            return None
        return f"{self.name} ended with {self.popen.returncode}; {self.log} ends with:\n{tail(self.log)}"

    def logged(self, text: str) -> bool:
        """Whether the log has the text."""
        return text in self.log.read_text(errors="replace")

    def kill(self) -> None:
        """End the whole group at once, as a power cut would."""
        self.process.signal(signal.SIGKILL, group=True)
        self.popen.wait(KILL_SECONDS)


class Processes:
    """Processes that end with the `with` block, and with the next one if this launcher is killed."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, say: Callable[[str], object] = lambda line: None
    ) -> None:
        base = local.services_dir()
        self.children: dict[str, Child] = {}
        self._logs = base / "log"
        self._ledger = base / "processes"
        self._environ = {**os.environ, "PYTHONUNBUFFERED": "1", "LOG_LEVEL": "INFO", **(environ or {})}
        self._say = say

    def __enter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        self._ledger.mkdir(exist_ok=True)
        for entry in self._ledger.glob("*.pid"):
            _end_leftover(entry)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        ready: Callable[[Child], bool] = lambda child: True,
        environ: Mapping[str, str] | None = None,
        seconds: float = START_SECONDS,
    ) -> Child:
        """Start one and wait until it is ready; its name is its log's, `var/log/NAME.log`."""
        child = self._launch(name, argv, environ or {})
        if not wait_until(lambda: child.ended() or ready(child), seconds):
            raise ProcessError(
                f"{name} was not ready in {seconds:.0f} s; {child.log} ends with:\n{tail(child.log)}"
            )
        if failure := child.failure():
            raise ProcessError(failure)
        self._say(f"{name} ready (process {child.process.pid}, log {child.log})")
        return child

    def run(self, name: str, argv: Sequence[str], *, seconds: float = 120.0) -> None:
        """Run a command to its end, which must be good."""
        child = self._launch(name, argv, {})
        if not wait_until(child.ended, seconds):
            raise ProcessError(f"{name} did not end in {seconds:.0f} s:\n{tail(child.log)}")
        self._forget(name)
        if child.popen.returncode != 0:
            raise ProcessError(child.failure() or name)

    def _launch(self, name: str, argv: Sequence[str], environ: Mapping[str, str]) -> Child:
        child = Child(name, argv, {**self._environ, **environ}, self._logs / f"{name}.log")
        self.children[name] = child
        launcher = Process.of(os.getpid())
        lines = [f"{process.pid} {process.started}" for process in (launcher, child.process)]
        (self._ledger / f"{name}.{launcher.pid}.pid").write_text("\n".join(lines))
        return child

    def kill(self, name: str) -> None:
        """Kill one at once, with its group."""
        self.children[name].kill()
        self._forget(name)

    def stop(self, name: str) -> None:
        """Ask one to end, and kill it after the time limit."""
        self._stop([self.children[name]])

    def stop_all(self) -> None:
        """Ask all to end at once, and kill those that have not after the time limit."""
        self._stop(list(self.children.values()))

    def failure(self) -> str | None:
        """Why one of those that should run does not, or None."""
        return next((reason for child in self.children.values() if (reason := child.failure())), None)

    def _stop(self, children: list[Child]) -> None:
        for child in children:
            if not child.ended():
                child.process.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for child in children:
            wait_until(child.ended, max(0.0, deadline - time.monotonic()))
            child.kill()
            self._forget(child.name)

    def _forget(self, name: str) -> None:
        self.children.pop(name)
        (self._ledger / f"{name}.{os.getpid()}.pid").unlink(missing_ok=True)


def _end_leftover(entry: Path) -> None:
    """Kill what a launcher that is gone left running."""
    try:
        launcher, child = (
            Process(int(pid), started) for pid, started in map(_split, entry.read_text().splitlines())
        )
    except ValueError:  # its launcher was killed while writing it
        entry.unlink(missing_ok=True)
        return
    if launcher.alive():
        return
    if child.alive():
        child.signal(signal.SIGKILL, group=True)
    entry.unlink(missing_ok=True)


def _split(line: str) -> tuple[str, str]:
    pid, _, started = line.partition(" ")
    return pid, started


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody accepts connections on a port of the loopback."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def wait_for(condition: Callable[[], bool], processes: Processes, seconds: float, what: str) -> None:
    """Wait for something that running processes bring about; one that dies meanwhile ends the wait."""
    deadline = time.monotonic() + seconds
    while not condition():
        if failure := processes.failure():
            raise ProcessError(failure)
        if time.monotonic() > deadline:
            raise ProcessError(f"{what}: not within {seconds:.0f} s")
        time.sleep(POLL_SECONDS)


def python(*arguments: str) -> list[str]:
    """A command of this virtual environment."""
    return [sys.executable, *arguments]
