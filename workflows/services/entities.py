"""Tenants and the keys of their programs. A key is shown once; only its digest is stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from workflows.errors import IllegalTransition, InvalidInput
from workflows.models import ApiKey, Clock, Entity, Role

PREFIX = "bf_"


def create_entity(
    *, external_id: str, name: str, timezone: str, system_user_id: str = "", system_employee_id: str = ""
) -> tuple[Entity, bool]:
    """The entity with the CRM's id, created if it is new; whether it was."""
    if not external_id or len(external_id) > 64:
        raise InvalidInput(fields={"external_id": "1 to 64 characters"})
    return Entity.objects.get_or_create(
        external_id=external_id,
        defaults={
            "name": name,
            "timezone": timezone,
            "workflow_system_user_id": system_user_id,
            "workflow_system_employee_id": system_employee_id,
        },
    )


def create_api_key(
    *, entity: Entity | None, name: str, role: str, entities: Sequence[Entity] | None = None
) -> tuple[ApiKey, str]:
    """A key for one entity and its secret, which is never shown again. Without an entity it is a platform key for
    those of `entities`, or for all where that is None."""
    if role not in Role.values:
        raise InvalidInput(fields={"role": f"one of {', '.join(Role.values)}"})
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        key = ApiKey.objects.create(
            entity=entity,
            all_entities=entity is None and entities is None,
            name=name,
            role=role,
            digest=digest(secret),
            hint=secret[-4:],
        )
        key.entities.set(entities or ())
    return key, secret


def digest(secret: str) -> str:
    """What is stored of a key: it has 256 random bits, so one hash round is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def set_clock_offset(*, offset: timedelta) -> None:
    """Move the clock of waits, delays and schedules; refused outside demo and test installations."""
    if settings.ENV not in ("demo", "test"):
        raise IllegalTransition("Only a demo or test installation may move the clock.")
    with transaction.atomic():
        Clock.objects.update_or_create(id=1, defaults={"offset": offset})
