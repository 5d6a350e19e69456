"""What a run cost: CPU of the database and of the workers, statements and commits, read from the system."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one instant: seconds of CPU by group, statements and commits of the database."""

    at: float
    database_cpu: float
    worker_cpu: float
    client_cpu: float
    statements: int
    commits: int
    wal_bytes: int


class Meter:
    """Reads the counters of one database server and some worker processes."""

    def __init__(self, owner_url: str, workers: list[int]) -> None:
        self._connection = psycopg.connect(owner_url, autocommit=True)
        row = self._connection.execute("select current_setting('data_directory')").fetchone()
        assert row is not None
        self._server = int(Path(row[0], "postmaster.pid").read_text().split()[0])
        self._workers = workers

    def read(self) -> Reading:
        """Now; the server's own counters are up to a second late, so wait that long first."""
        time.sleep(1.2)
        row = self._connection.execute(
            """select (select coalesce(sum(calls), 0) from pg_stat_statements s
                       join pg_database d on d.oid = s.dbid where d.datname = current_database()),
                      (select xact_commit from pg_stat_database where datname = current_database()),
                      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"""
        ).fetchone()
        assert row is not None
        return Reading(
            at=time.monotonic(),
            database_cpu=_tree(self._server),
            worker_cpu=sum(_tree(pid) for pid in self._workers),
            client_cpu=time.process_time(),
            statements=int(row[0]),
            commits=int(row[1]),
            wal_bytes=int(row[2]),
        )

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


def _tree(pid: int) -> float:
    """CPU seconds of a process, its children, and those that have ended."""
    root = psutil.Process(pid)
    total = 0.0
    for process in [root, *root.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
