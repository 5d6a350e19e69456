"""Whether this process lives, and whether what it needs answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from boostflow.local import redis_client_url

OK = "ok"
UNREACHABLE = "unreachable"
BROKER_SECONDS = 2
log = structlog.stdlib.get_logger(__name__)


@never_cache
@require_safe
def live(_request: HttpRequest) -> JsonResponse:
    """200 while the process serves at all; nothing else is asked."""
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def ready(_request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and broker are in order, else 503; `parts` says which is not."""
    parts = {name: check() for name, check in PARTS.items()}
    sound = all(answer == OK for answer in parts.values())
    return JsonResponse(
        {"status": "ready" if sound else "unready", "parts": parts}, status=200 if sound else 503
    )


def check_database() -> str:
    """One round trip."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError as error:
        connection.close()
        return _failed("database", error)
    return OK


def check_migrations() -> str:
    """Every migration on disk is recorded in the database."""
    try:
        missing = _migrations_on_disk() - set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError as error:
        connection.close()
        return _failed("migrations", error)
    return OK if not missing else f"{len(missing)} not applied"


def check_broker() -> str:
    """One PING."""
    try:
        _broker().ping()
    except (redis.RedisError, OSError) as error:
        return _failed("broker", error)
    return OK


PARTS: dict[str, Callable[[], str]] = {
    "database": check_database,
    "migrations": check_migrations,
    "broker": check_broker,
}


@lru_cache(maxsize=1)
def _migrations_on_disk() -> frozenset[tuple[str, str]]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return frozenset(loader.disk_migrations)


@lru_cache(maxsize=1)
def _broker() -> redis.Redis:
    return redis.Redis.from_url(
        redis_client_url(settings.REDIS_URL),
        socket_timeout=BROKER_SECONDS,
        socket_connect_timeout=BROKER_SECONDS,
    )


def _failed(part: str, error: Exception) -> str:
    log.warning("not_ready", part=part, error=str(error))
    return UNREACHABLE
