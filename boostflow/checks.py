"""System checks of the installation: what would break tenancy, durability or time unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from boostflow.local import redis_client_url

SECRET_KEY_LENGTH = 50
CLOCK_ENVIRONMENTS = ("demo", "test")
APPLICATION = "default"
BROKER_SECONDS = 2


@register(Tags.security)
def check_secret_key(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Production signs sessions with a key of its own that cannot be guessed."""
    if settings.ENV != "production" or len(settings.SECRET_KEY) >= SECRET_KEY_LENGTH:
        return []
    return [
        Error(
            f"SECRET_KEY has {len(settings.SECRET_KEY)} characters.",
            hint=f"Set at least {SECRET_KEY_LENGTH} random characters.",
            id="boostflow.E001",
        )
    ]


@register(Tags.security)
def check_debug(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Production never shows Django's debug pages, which print settings and locals."""
    if settings.ENV != "production" or not settings.DEBUG:
        return []
    return [Error("DEBUG is on in production.", hint="Unset DEBUG.", id="boostflow.E002")]


@register(Tags.database)
def check_role(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """The application's role is bound by row security (G6)."""
    if APPLICATION not in (databases or ()):
        return []
    with connections[APPLICATION].cursor() as cursor:
        cursor.execute("select rolname, rolsuper, rolbypassrls from pg_roles where rolname = current_user")
        name, superuser, bypasses = cursor.fetchone()
    if not superuser and not bypasses:
        return []
    return [
        Error(
            f"The database role {name} {'is a superuser' if superuser else 'has BYPASSRLS'}: "
            "row security does not hold it to one entity.",
            hint="Point DATABASE_URL at a role made with NOSUPERUSER NOBYPASSRLS.",
            id="boostflow.E003",
        )
    ]


@register(Tags.database)
def check_clock(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Only a demo or test installation may have its clock moved."""
    if APPLICATION not in (databases or ()) or settings.ENV in CLOCK_ENVIRONMENTS:
        return []
    with connections[APPLICATION].cursor() as cursor:
        cursor.execute("select to_regprocedure('boostflow_now()') is not null")
        if not cursor.fetchone()[0]:  # not migrated yet, so nothing has moved it
            return []
        cursor.execute("select boostflow_now() - now()")
        offset = cursor.fetchone()[0]
    if not offset:
        return []
    return [
        Error(
            f"The clock is moved by {offset}, and ENV is {settings.ENV}.",
            hint="Delete the clock offset's row, or set ENV to demo or test.",
            id="boostflow.E004",
        )
    ]


@register(Tags.compatibility, deploy=True)
def check_broker(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """A broker that evicts messages loses hints until the sweep finds their rows (`check --deploy`)."""
    try:
        with redis.Redis.from_url(
            redis_client_url(settings.REDIS_URL), socket_timeout=BROKER_SECONDS
        ) as broker:
            policy = broker.info("memory").get("maxmemory_policy")
    except redis.RedisError as error:
        return [
            Warning(
                f"The broker was not asked for its policy: {error}",
                hint="Check REDIS_URL.",
                id="boostflow.W005",
            )
        ]
    if policy == "noeviction":
        return []
    return [
        Warning(
            f"The broker's maxmemory-policy is {policy}.",
            hint="Set maxmemory-policy to noeviction.",
            id="boostflow.W006",
        )
    ]
