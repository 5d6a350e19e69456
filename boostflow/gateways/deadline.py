"""Connections whose every read and write is bounded by one deadline, and their adapter for `requests`.

The time-outs of `requests` hold for a single read, so a peer that sends a byte now and then is never cut off.
Here one `exchange` holds from the look-up of the name to the last byte, headers and TLS handshake included.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, cast

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

IDLE_LIMIT_S = 1.5
"""A connection idle for longer is not re-used: many servers close at 2 s, and a request that meets the close
has an unknown outcome."""


class Exchange:
    """One request under way: when it must be over, and whether any of it may have left this machine."""

    __slots__ = ("ends", "left")

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.left = False

    def remaining(self) -> float:
        """Seconds until the deadline; `TimeoutError` once it has passed."""
        seconds = self.ends - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline of the exchange has passed")
        return seconds


_current: ContextVar[Exchange] = ContextVar("exchange")


@contextmanager
def exchange(seconds: float) -> Iterator[Exchange]:
    """All that this thread reads and writes on our connections in the block ends within `seconds`."""
    under_way = Exchange(seconds)
    token = _current.set(under_way)
    try:
        yield under_way
    finally:
        _current.reset(token)


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_current.get().remaining())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Socket:
    """A connected socket, plain or TLS, whose reads and writes keep to the current exchange."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, *_args: Any, **_options: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock))

    def sendall(self, data: bytes) -> None:
        current, rest = _current.get(), memoryview(data)
        while rest:
            self._sock.settimeout(current.remaining())
            current.left = True
            rest = rest[self._sock.send(rest) :]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def _resolve(host: str, port: int, seconds: float) -> list[tuple[Any, ...]]:
    """`getaddrinfo` knows no time-out, so it runs beside us and is left alone when it takes too long."""
    found: SimpleQueue[list[tuple[Any, ...]] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            found.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError) as error:
            found.put(error if isinstance(error, OSError) else OSError(str(error)))

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    try:
        answer = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError("the name was not resolved in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _dial(host: str, port: int) -> socket.socket:
    """The first address that answers; each has its share of the time left, so a dead one leaves some."""
    current = _current.get()
    addresses = _resolve(host.strip("[]"), port, current.remaining())
    failure = OSError("the name has no address")
    for position, (family, kind, protocol, _name, address) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(current.remaining() / (len(addresses) - position))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            sock.settimeout(current.remaining())
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


class _Bounded(HTTPConnection):
    _used_at = 0.0

    def _new_conn(self) -> socket.socket:
        return _dial(self.host, self.port or self.default_port)

    def connect(self) -> None:
        super().connect()
        self.sock = cast("socket.socket", _Socket(self.sock))

    def getresponse(self) -> Any:
        self._used_at = time.monotonic()
        return super().getresponse()

    @property
    def is_connected(self) -> bool:
        return super().is_connected and time.monotonic() - self._used_at < IDLE_LIMIT_S


class _BoundedTls(_Bounded, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Bounded


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _BoundedTls


class DeadlineAdapter(HTTPAdapter):
    """Pooled connections without retries; usable only inside an `exchange`."""

    def __init__(self, connections: int) -> None:
        super().__init__(pool_connections=4, pool_maxsize=connections, max_retries=0)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
