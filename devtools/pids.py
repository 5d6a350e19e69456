"""Processes by id: alive or not, the same one as before or not, and ended within a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Process:
    """A process that cannot be mistaken for a later one with the same id."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this id now."""
        return cls(pid, _started(pid))

    def alive(self) -> bool:
        """Still running; one that ended and waits to be collected is not."""
        if not _exists(self.pid) or _started(self.pid) != self.started:
            return False
        return _state(self.pid) != "Z"

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send a signal, to its whole process group if asked; quiet when it has ended."""
        if not group and not self.alive():
            return
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says the latter of a group of ended ones
            return


def stop(
    process: Process, steps: list[tuple[signal.Signals, float]], child: subprocess.Popen[bytes] | None = None
) -> bool:
    """Send each signal in turn and wait its seconds. True once the process has ended."""
    for number, seconds in steps:
        process.signal(number)
        if wait_until(lambda: ended(process, child), seconds):
            return True
    return ended(process, child)


def ended(process: Process, child: subprocess.Popen[bytes] | None = None) -> bool:
    """Whether it has ended; our own child is collected by asking."""
    if child is not None:
        return child.poll() is not None
    return not process.alive()


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Ask until the condition holds or the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _fields(pid: int) -> list[str]:
    """What follows the command in /proc/PID/stat; empty where there is no such file."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    fields = _fields(pid)
    return fields[0] if fields else ""


def _started(pid: int) -> str:
    fields = _fields(pid)
    return fields[19] if fields else ""
