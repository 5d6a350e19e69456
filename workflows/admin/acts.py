"""What an operator does with an execution: a page that says what will happen, and a POST that does it (decision 14)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from workflows import selectors
from workflows.admin.scope import chosen_entity, in_entity, may_operate
from workflows.admin.wording import advice
from workflows.contracts import action_registry
from workflows.errors import InvalidInput, WorkflowError
from workflows.models import Entity, Execution, Version
from workflows.reasons import REASONS
from workflows.services import acts
from workflows.texts import N_


@dataclass(frozen=True, slots=True)
class Act:
    """A verb with its msgids: the button, what it does, and what is said when it is done."""

    title: str
    effect: str
    done: str


ACTS = {
    "resume": Act(
        N_("Resume"),
        N_("The execution goes on from the action at which it stands."),
        N_("The execution goes on."),
    ),
    "retry_wait": Act(
        N_("Retry wait"),
        N_("The execution gets the chat, if no other execution has it now."),
        N_("The execution has the chat."),
    ),
    "cancel": Act(
        N_("Cancel"),
        N_("The execution ends at once and cannot be resumed; a call under way is still recorded."),
        N_("The execution was cancelled."),
    ),
}
HOW = {
    "retry": N_("Retry: the action runs again from its beginning, under a new key."),
    "done": N_(
        "Done: the action counts as done, with the output below; a question waits for its answer from now on."
    ),
    "skip": N_("Skip: the action is left out, with its wait; it has no output."),
}


def allowed(request: HttpRequest, execution: Execution) -> list[tuple[str, str]]:
    """The acts that status and reason allow, for a person who may operate: name and button."""
    if not may_operate(request):
        return []
    found = (
        REASONS.get(execution.reason) if execution.status == "paused_error" else REASONS.get(execution.status)
    )
    return [(name, _(ACTS[name].title)) for name in (found.acts if found else ())]


def act_view(request: HttpRequest, site: AdminSite, object_id: UUID, verb: str) -> HttpResponse:
    """GET shows, POST decides; an act that the present state refuses changes nothing and says why."""
    entity = chosen_entity(request)
    if entity is None or verb not in ACTS or not may_operate(request):
        raise Http404
    problem: WorkflowError | None = None
    if request.method == "POST":
        try:
            _do(request, entity, object_id, verb)
        except WorkflowError as refused:
            problem = refused
        else:
            messages.success(request, _(ACTS[verb].done))
            return HttpResponseRedirect(reverse("admin:workflows_execution_change", args=[object_id]))
    return in_entity(
        request, site, lambda: _page(request, site, entity, object_id, verb, problem), posts=True
    )


def _do(request: HttpRequest, entity: Entity, execution_id: UUID, verb: str) -> None:
    """The service that interface and commands call too."""
    given = request.POST
    reason = given.get("reason", "").strip()
    if not reason:
        raise InvalidInput(fields={"reason": _("Say why; it is kept with the act.")})
    common: dict[str, Any] = {
        "entity": entity,
        "execution_id": execution_id,
        "actor": f"user:{request.user.get_username()}",
        "reason": reason[:500],
        "state_version": _number(given.get("state_version", ""), "state_version"),
    }
    if verb == "cancel":
        acts.cancel(**common)
    elif verb == "retry_wait":
        acts.retry_wait(**common)
    else:
        how = given.get("as", "retry")
        if how not in HOW:
            raise InvalidInput(fields={"as": ", ".join(HOW)})
        version = given.get("version", "")
        acts.resume(
            **common,
            how=how,  # type: ignore[arg-type]
            output=_output(given.get("output", "")) if how == "done" else None,
            version=_number(version, "version") if version else None,
        )


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidInput(fields={name: _("This is no number.")})
    return int(text)


def _output(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(fields={"output": _("The output is a JSON object.")})
    return found


def _page(
    request: HttpRequest,
    site: AdminSite,
    entity: Entity,
    execution_id: UUID,
    verb: str,
    problem: WorkflowError | None,
) -> HttpResponse:
    execution = (
        Execution.objects.filter(pk=execution_id, entity_id=entity.pk)
        .defer("context")
        .select_related("workflow")
        .first()
    )
    if execution is None:
        raise Http404
    position = selectors.find_execution(entity_id=entity.pk, execution_id=execution_id)["position"]
    kind = action_registry.get(position["type"]) if position else None
    act = ACTS[verb]
    context = {
        **site.each_context(request),
        "title": _(act.title),
        "execution": execution,
        "verb": verb,
        "effect": _(act.effect),
        "advice": advice(execution.status, execution.reason),
        "position": position,
        "ways": [
            (how, _(text)) for how, text in HOW.items() if how == "retry" or not (kind and kind.terminal)
        ],
        "output_fields": _required(kind.output) if kind and kind.output else [],
        "versions": _versions(entity, execution, position) if position else [],
        "open": any(name == verb for name, _title in allowed(request, execution)),
        "given": request.POST,
        "problem": _sentence(problem),
        "fields": dict(problem.extra.get("fields", {})) if problem else {},
    }
    status = problem.status if problem else 200
    return TemplateResponse(request, "admin/boostflow/act.html", context, status=status)


def _required(model: Any) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]


def _versions(entity: Entity, execution: Execution, position: dict[str, Any]) -> list[int]:
    """Published versions that have the step and action at which the execution stands."""
    return list(
        Version.objects.filter(
            entity_id=entity.pk,
            workflow_id=execution.workflow_id,
            steps__key=position["step_key"],
            steps__actions__key=position["action_key"],
        )
        .exclude(pk=execution.version_id)
        .order_by("-number")
        .values_list("number", flat=True)[:50]
    )


def _sentence(problem: WorkflowError | None) -> str:
    return _(problem.detail) if problem else ""
