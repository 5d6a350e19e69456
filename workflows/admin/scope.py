"""In which entity a person acts, and the scope in which that person's page is made and rendered."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.contrib.admin import AdminSite
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from workflows import tenancy
from workflows.models import Entity, Membership, Role

SESSION_KEY = "console_entity"
_CACHE = "_console_entity"
SAFE = ("GET", "HEAD")
OPERATING = (Role.OPERATOR, Role.EDITOR, Role.ADMIN)


def entities_of(user: User | AnonymousUser) -> QuerySet[Entity]:
    """Where a person may act: the entities of its memberships, the oldest first; a superuser in every one."""
    if not user.is_authenticated or not user.is_active:
        return Entity.objects.none()
    if user.is_superuser:
        return Entity.objects.order_by("pk")
    return Entity.objects.filter(memberships__user=user).order_by("memberships__pk")


def chosen_entity(request: HttpRequest) -> Entity | None:
    """The session's entity while the person may still act in it, else the first one; None: there is none."""
    if not hasattr(request, _CACHE):
        allowed = entities_of(request.user)
        wanted = request.session.get(SESSION_KEY)
        chosen = allowed.filter(pk=wanted).first() if wanted is not None else None
        setattr(request, _CACHE, chosen or allowed.first())
    found: Entity | None = getattr(request, _CACHE)
    return found


def choose_entity(request: HttpRequest, external_id: str) -> bool:
    """Act in another entity from now on; False: this person may not, and nothing changed."""
    entity = entities_of(request.user).filter(external_id=external_id).first()
    if entity is None:
        return False
    request.session[SESSION_KEY] = entity.pk
    setattr(request, _CACHE, entity)
    return True


def may_operate(request: HttpRequest) -> bool:
    """Whether the person may act on executions of the chosen entity: an operator, or whoever may do more."""
    entity = chosen_entity(request)
    if entity is None or not request.user.is_authenticated:
        return False
    if request.user.is_superuser:
        return True
    return Membership.objects.filter(user=request.user, entity=entity, role__in=OPERATING).exists()


def in_entity(
    request: HttpRequest, site: AdminSite, page: Callable[[], HttpResponse], *, posts: bool = False
) -> HttpResponse:
    """Make and render a page under the chosen entity and its time zone. A lazy response would query after the scope.

    `posts`: the page is also what a POST is answered with that was refused.
    """
    if request.method not in SAFE and not (posts and request.method == "POST"):
        return HttpResponseNotAllowed(SAFE)
    entity = chosen_entity(request)
    if entity is None:
        return no_entity(request, site)
    with tenancy.entity(entity.pk), timezone.override(ZoneInfo(str(entity.timezone))):
        response = page()
        if isinstance(response, SimpleTemplateResponse):
            response.render()
    return response


def no_entity(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """The page of a person without any membership."""
    context = {**site.each_context(request), "title": _("No entity")}
    return TemplateResponse(request, "admin/boostflow/no_entity.html", context, status=403)
