"""`make bench`: a database and two main workers of its own, three rounds and their medians."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from boostflow import local
from devtools import installation, postgres, services
from devtools.processes import Processes, free_port
from devtools.sandbox.client import TOKEN

DATABASE = "boostflow_bench"
BROKER = 3


def main() -> int:
    """Prepare, measure in a process of its own, and stop all that was started."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--executions", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with services.running(print):
        postgres.drop_database(DATABASE)
        postgres.create_database(DATABASE)
        with postgres.connect(DATABASE) as admin:
            admin.execute("create extension if not exists pg_stat_statements")
            admin.execute(f"grant pg_read_all_stats, pg_read_all_settings to {local.OWNER_ROLE}")
        port = free_port()
        environ = {
            "CRM_BASE_URL": f"http://127.0.0.1:{port}",
            "CRM_SERVICE_TOKEN": TOKEN,
            "DATABASE_URL": local.database_url(local.APP_ROLE, DATABASE),
            "MIGRATE_DATABASE_URL": local.database_url(local.OWNER_ROLE, DATABASE),
            "REDIS_URL": local.redis_url().replace("virtual_host=0", f"virtual_host={BROKER}"),
            "ENV": "test",
            "LOG_LEVEL": "INFO",
        }
        try:
            with Processes(environ, print) as processes:
                installation.migrate(processes)
                installation.start_sandbox(processes, port)
                workers = [installation.start_main(processes, number) for number in (1, 2)]
                installation.start_beat(processes)
                pids = ",".join(str(worker.process.pid) for worker in workers)
                command = [sys.executable, "-m", "benchmarks.measure", "--workers", pids]
                command += ["--executions", str(options.executions), "--rounds", str(options.rounds)]
                return subprocess.run(command, env={**os.environ, **environ}, check=False).returncode
        finally:
            postgres.drop_database(DATABASE)


if __name__ == "__main__":
    raise SystemExit(main())
