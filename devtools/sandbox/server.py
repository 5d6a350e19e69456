"""The sandbox's HTTP server: HTTP/1.1, kept connections, a thread each, and the faults that were ordered."""

from __future__ import annotations

import json
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from devtools.sandbox.control import PREFIX, Control
from devtools.sandbox.faults import Fault, spoil
from devtools.sandbox.service import Answer, Service, problem

MAX_REQUEST = 10_000_000
PAGE = Path(__file__).with_name("page.html")
LOOPBACK = ("127.", "::1", "::ffff:127.")


class Server(ThreadingHTTPServer):
    """One process; `open_control` lets others than loopback use the control endpoints (containers)."""

    daemon_threads = True
    request_queue_size = 512
    allow_reuse_address = True

    def __init__(
        self, address: tuple[str, int], service: Service, control: Control, *, open_control: bool
    ) -> None:
        self.service, self.control, self.open_control = service, control, open_control
        super().__init__(address, Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news; anything else is shown as usual."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 75
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the ledger is the log."""

    def _serve(self) -> None:
        target = urlsplit(self.path)
        if (raw := self._read()) is None:
            return
        if target.path == "/" and self.command == "GET":
            self._write(200, {"Content-Type": "text/html; charset=utf-8"}, PAGE.read_bytes())
            return
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        if target.path.startswith(PREFIX):
            answer = self._forbidden() or self.server.control.handle(self.command, target.path, query, raw)
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = self.server.service.handle(self.command, target.path, query, headers, raw)
        self._answer(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _read(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > MAX_REQUEST:
            self.close_connection = True
            self._answer(problem(411, "invalid", "A body needs a Content-Length within bounds."))
            return None
        return self.rfile.read(int(length))

    def _forbidden(self) -> Answer | None:
        """Control is for this machine, and not for pages of other origins in its browser."""
        if not self.server.open_control and not self.client_address[0].startswith(LOOPBACK):
            return problem(403, "unauthorized", "Control endpoints answer loopback only.")
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            return problem(403, "unauthorized", "Control endpoints answer this page only.")
        return None

    def _answer(self, answer: Answer) -> None:
        fault = answer.fault
        if fault and fault.drop:
            self._drop()
            return
        body = answer.body
        if fault and fault.wrong_types:
            body = spoil(body)
        content = json.dumps(body, ensure_ascii=False).encode()
        if fault and fault.garbage:
            content = b"<html>\xff\x00 not json"
        if fault and fault.huge:
            content = b'{"filler": "' + b"x" * fault.huge + b'"}'
        headers = {"Content-Type": "application/json", **answer.headers}
        if fault and fault.drip:
            self._drip(fault, answer.status, headers, content)
        else:
            self._write(answer.status, headers, content)

    def _write(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _drip(self, fault: Fault, status: int, headers: dict[str, str], content: bytes) -> None:
        """A byte at a time, from the status line or from the body on."""
        lines = [f"HTTP/1.1 {status} Slow", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, f"Content-Length: {len(content)}", "Connection: close", "", ""]).encode()
        whole, at_once = head + content, 0 if fault.drip == "headers" else len(head)
        self.close_connection = True
        self.wfile.write(whole[:at_once])
        self.wfile.flush()
        for position in range(at_once, len(whole)):
            self.wfile.write(whole[position : position + 1])
            self.wfile.flush()
            time.sleep(fault.drip_interval_s)

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
