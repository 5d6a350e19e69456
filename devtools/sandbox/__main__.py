"""`python -m devtools.sandbox`: a CRM to develop, test and demonstrate against, in memory."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

from devtools.sandbox import contract
from devtools.sandbox.control import Control
from devtools.sandbox.inbound import Engine
from devtools.sandbox.ledger import Ledger
from devtools.sandbox.server import Server
from devtools.sandbox.service import Service


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m devtools.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=8100, help="0 takes a free one (default 8100)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--token", default="sandbox-token", help="bearer token that callers must have")
    parser.add_argument("--web-url", help="the engine, for answers as a contact")
    parser.add_argument("--api-key", help="its key for entities that were seeded without one")
    parser.add_argument(
        "--journal", type=Path, help="append every call that was carried out, a JSON line each"
    )
    parser.add_argument("--open-control", action="store_true", help="control endpoints not for loopback only")
    parser.add_argument("--exit-with-stdin", action="store_true", help="end when standard input is closed")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Serve until interrupted; the first line printed is the address."""
    options = parse(arguments)
    service = Service(contract.load(), options.token, Ledger(options.journal))
    control = Control(service, Engine(options.web_url, options.api_key))
    with Server((options.host, options.port), service, control, open_control=options.open_control) as server:
        print(f"http://{options.host}:{server.server_port}", flush=True)
        if options.exit_with_stdin:
            threading.Thread(target=_exit_with_stdin, daemon=True).start()
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return 0
    return 0


def _exit_with_stdin() -> None:
    """So that no sandbox outlives the test run that started it, however that ended."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
