"""Who asks, for which entity, and whether their role may: bearer keys, `X-Entity-Id`, roles per endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from workflows.errors import EntityRequired, NotFound
from workflows.models import ApiKey, Entity, Role
from workflows.services.entities import digest

ENTITY_HEADER: Final = "X-Entity-Id"
RANKS: Final[Mapping[str, int]] = {Role.VIEWER: 1, Role.OPERATOR: 2, Role.EDITOR: 3, Role.ADMIN: 4}
"""Each role may do all that a lower one may; `events` stands outside this order."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The program behind a request and the one entity that it acts on."""

    entity: Entity
    role: str
    name: str
    is_authenticated: bool = True

    @property
    def actor(self) -> str:
        """Its name as it is kept with what it does."""
        return f"key:{self.name}"


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`. Nothing says whether a refused key ever existed."""

    def authenticate(self, request: Request) -> tuple[Any, ApiKey] | None:
        """The caller and its key; None without the header."""
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        scheme, _space, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise AuthenticationFailed(_("The header has the form Authorization: Bearer <key>."))
        found = digest(secret.strip())
        key = ApiKey.objects.select_related("entity").filter(digest=found, revoked_at__isnull=True).first()
        if key is None:
            raise AuthenticationFailed(_("The key is not valid."))
        entity = _entity_of(key, request.headers.get(ENTITY_HEADER))
        return Caller(entity=entity, role=key.role, name=key.name), key

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return 'Bearer realm="boostflow"'


def _entity_of(key: ApiKey, named: str | None) -> Entity:
    """A key's own entity; a platform key names one of its list, unless it is for all."""
    if key.entity is not None:
        if named is not None and named != key.entity.external_id:
            raise NotFound
        return key.entity
    if not named:
        raise EntityRequired
    entity = None if "\x00" in named else Entity.objects.filter(external_id=named).first()
    if entity is None or not (key.all_entities or key.entities.filter(pk=entity.pk).exists()):
        raise NotFound
    return entity


class RolePermission(BasePermission):
    """Compares the caller's role with the view's `roles` by method; a method that is not listed is for administrators.

    `events_methods` are what a key of the scope `events` may call.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the role is high enough; without a caller the answer becomes 401."""
        if not isinstance(request.user, Caller):
            return False
        if request.user.role == Role.EVENTS:
            return request.method in getattr(view, "events_methods", ())
        needed = getattr(view, "roles", {}).get(request.method, Role.ADMIN)
        return RANKS[request.user.role] >= RANKS[needed]


def caller(request: Request) -> Caller:
    """The caller of a request that passed `RolePermission`."""
    return cast(Caller, request.user)
