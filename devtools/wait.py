"""Waits until PostgreSQL and the broker answer: what stands before a process in the Procfile."""

from __future__ import annotations

import sys

import psycopg
import redis

from boostflow import local
from boostflow.env import environment
from devtools.pids import wait_until

SECONDS = 90.0


def main() -> int:
    """0 once both answer."""
    if wait_until(lambda: database_answers() and broker_answers(), SECONDS):
        return 0
    print(f"PostgreSQL or the broker did not answer in {SECONDS:.0f} s.", file=sys.stderr)
    return 1


def database_answers() -> bool:
    """One connection as the application."""
    try:
        psycopg.connect(
            environment().database_url or local.database_url(local.APP_ROLE), connect_timeout=5
        ).close()
    except psycopg.OperationalError:
        return False
    return True


def broker_answers() -> bool:
    """One PING."""
    url = local.redis_client_url(environment().redis_url or local.redis_url())
    try:
        with redis.Redis.from_url(url, socket_timeout=5) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


if __name__ == "__main__":
    sys.exit(main())
