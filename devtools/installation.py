"""The installation's own processes, one function each, on a running `Processes`."""

from __future__ import annotations

import http.client

from devtools.processes import Child, Processes, listens, python

HOST = "127.0.0.1"
MAIN_QUEUES = "sweeps,interactive,bulk"
SLOW_QUEUES = "zauru,llm"


def migrate(processes: Processes) -> None:
    """Bring the database to this checkout's state, as the owner role."""
    processes.run("migrate", python("manage.py", "migrate", "--database", "owner", "--no-input"))


def start_web(processes: Processes, port: int, *, threads: int = 16) -> Child:
    """The console and the API."""
    command = python("-m", "gunicorn", "boostflow.wsgi", "--worker-class", "gthread", "--workers", "1")
    command += ["--threads", str(threads), "--bind", f"{HOST}:{port}", "--graceful-timeout", "10"]
    return processes.start("web", command, ready=lambda child: _lives(port))


def start_main(processes: Processes, number: int = 1, *, threads: int = 16) -> Child:
    """A worker for replies, fan-out, sweeps and quick effects."""
    return _start_worker(processes, f"main-{number}", MAIN_QUEUES, threads)


def start_slow(processes: Processes, *, threads: int = 32) -> Child:
    """The worker for calls that take seconds."""
    return _start_worker(processes, "slow", SLOW_QUEUES, threads)


def start_beat(processes: Processes) -> Child:
    """The ticks."""
    command = python("-m", "celery", "-A", "boostflow", "beat")
    return processes.start("beat", command, ready=lambda child: child.logged("beat: Starting"))


def start_sandbox(processes: Processes, port: int) -> Child:
    """The CRM to play with."""
    command = python("-m", "devtools.sandbox", "--port", str(port))
    return processes.start("sandbox", command, ready=lambda child: listens(port))


def _start_worker(processes: Processes, name: str, queues: str, threads: int) -> Child:
    command = python("-m", "celery", "-A", "boostflow", "worker", "-n", f"{name}@%h", "-Q", queues)
    command += ["--pool", "threads", "-c", str(threads), "--without-gossip", "--without-mingle"]
    return processes.start(f"worker-{name}", command, ready=lambda child: child.logged(" ready."))


def _lives(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/health/live")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
