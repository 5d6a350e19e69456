"""Processes started, watched, killed and stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from boostflow import local
from boostflow.env import ROOT
from devtools import processes as subject
from devtools.pids import Process, wait_until
from devtools.processes import ProcessError, Processes, free_port, listens, python

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "print('child', child.pid, flush=True); time.sleep(60)"
)


@pytest.fixture(autouse=True)
def base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(local, "services_dir", lambda: tmp_path)
    return tmp_path


def test_all_end_with_the_block(base: Path) -> None:
    with Processes() as processes:
        child = processes.start("sleeper", python("-c", SLEEPER), ready=lambda child: child.logged("up"))
        assert child.process.alive()
        assert processes.failure() is None
    assert not child.process.alive()
    assert child.popen.returncode == -signal.SIGTERM
    assert list((base / "processes").iterdir()) == []


def test_one_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "STOP_SECONDS", 0.3)
    with Processes() as processes:
        child = processes.start("deaf", python("-c", DEAF), ready=lambda child: child.logged("up"))
    assert child.popen.returncode == -signal.SIGKILL


def test_a_groups_children_end_too() -> None:
    with Processes() as processes:
        child = processes.start("parent", python("-c", PARENT), ready=lambda child: child.logged("child"))
        grandchild = Process.of(int(child.log.read_text().split()[1]))
        assert grandchild.alive()
        processes.kill("parent")
        assert wait_until(lambda: not grandchild.alive(), 5)
        assert processes.children == {}


def test_one_that_dies_is_reported_with_the_end_of_its_log() -> None:
    with Processes() as processes, pytest.raises(ProcessError, match=r"broken ended with 3(.|\n)*because"):
        processes.start(
            "broken",
            python("-c", "print('because'); raise SystemExit(3)"),
            ready=lambda child: child.logged("never"),
        )


def test_one_that_is_never_ready_is_reported_and_ended() -> None:
    with Processes() as processes:
        with pytest.raises(ProcessError, match="not ready in 0 s"):
            processes.start("slow", python("-c", SLEEPER), ready=lambda child: False, seconds=0.2)
        child = processes.children["slow"]
    assert not child.process.alive()


def test_a_command_must_end_well() -> None:
    with Processes() as processes:
        processes.run("good", python("-c", "print(1)"))
        with pytest.raises(ProcessError, match="bad ended with 2"):
            processes.run("bad", python("-c", "raise SystemExit(2)"))
        assert processes.children == {}


def test_what_a_killed_launcher_left_is_ended_by_the_next(base: Path) -> None:
    script = textwrap.dedent(f"""
        import os, pathlib, signal
        from boostflow import local
        local.services_dir = lambda: pathlib.Path({str(base)!r})
        from devtools.processes import Processes, python
        with Processes() as processes:
            print(processes.start("left", python("-c", {SLEEPER!r})).process.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    )
    left = Process.of(int(done.stdout))
    assert left.alive()
    with Processes():
        assert wait_until(lambda: not left.alive(), 5)
    assert list((base / "processes").iterdir()) == []


def test_another_launchers_processes_are_left_alone() -> None:
    with Processes() as mine:
        child = mine.start("mine", python("-c", SLEEPER))
        with Processes():
            assert child.process.alive()
        assert child.process.alive()


def test_a_free_port_is_listened_on_by_nobody() -> None:
    assert not listens(free_port())
