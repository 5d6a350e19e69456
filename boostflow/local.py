"""Where the development servers of this checkout listen: paths and addresses, no processes."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from urllib.parse import quote

from boostflow.env import ROOT, environment

SOCKET_PATH_LIMIT = 100  # the kernel's is 108 bytes on Linux, 104 on macOS, its closing zero included
ELSEWHERE = "elsewhere"
DATABASE = "boostflow"
APP_ROLE = "boostflow_app"
OWNER_ROLE = "boostflow_owner"
ADMIN_ROLE = "postgres"
POSTGRES_PORT = 5432  # only names the socket file


def configured_dir() -> Path:
    """The directory asked for: SERVICES_DIR, else var/ beside manage.py."""
    chosen = environment().services_dir
    return Path(chosen).expanduser().absolute() if chosen else ROOT / "var"


def services_dir() -> Path:
    """Data, sockets and logs of the development servers.

    It is the configured directory, or a short one under the system's temporary directory that depends on
    nothing but its name: if a socket's path would be too long, or the launcher left a file `elsewhere`.
    """
    wanted = configured_dir()
    longest = max(len(str(postgres_socket(wanted))), len(str(redis_socket(wanted))))
    if longest <= SOCKET_PATH_LIMIT and not (wanted / ELSEWHERE).exists():
        return wanted
    return temporary_dir(wanted)


def temporary_dir(wanted: Path) -> Path:
    """The short stand-in for a directory that cannot hold sockets."""
    digest = hashlib.sha256(str(wanted).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"boostflow-{digest}"


def postgres_socket_dir(base: Path | None = None) -> Path:
    """The directory that libpq takes as host."""
    return (base or services_dir()) / "run"


def postgres_socket(base: Path | None = None) -> Path:
    """PostgreSQL's socket with the longer of its names, the lock file's."""
    return postgres_socket_dir(base) / f".s.PGSQL.{POSTGRES_PORT}.lock"


def redis_socket(base: Path | None = None) -> Path:
    """Valkey's socket."""
    return (base or services_dir()) / "valkey.sock"


def database_url(role: str, database: str = DATABASE) -> str:
    """libpq's address over the socket: `postgresql://role@/database?host=%2F…`."""
    return f"postgresql://{role}@/{database}?host={quote(str(postgres_socket_dir()), safe='')}"


def redis_url() -> str:
    """kombu's address over the socket: `redis+socket:///…?virtual_host=0`."""
    return f"redis+socket://{quote(str(redis_socket()))}?virtual_host=0"


def redis_client_url(url: str) -> str:
    """The same server as redis-py spells it: kombu's `redis+socket` is its `unix`."""
    if not url.startswith("redis+socket://"):
        return url
    return url.replace("redis+socket://", "unix://", 1).replace("virtual_host=", "db=", 1)
