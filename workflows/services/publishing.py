"""The life of a workflow: draft, published, paused, archived, and the order in which triggers are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Max

from workflows import clock, tenancy
from workflows.definitions.automation import Reading, read_automation
from workflows.definitions.model import Trigger
from workflows.definitions.rows import rows
from workflows.definitions.violations import Violation
from workflows.errors import N_, IllegalTransition, InvalidDefinition, InvalidInput, NotAvailableYet, NotFound
from workflows.models import Action, Entity, Step, Version, VersionTrigger, Workflow
from workflows.models.base import uuid7
from workflows.services.versions import load_version


@dataclass(frozen=True, slots=True)
class Saved:
    """A stored workflow and what its definition was warned of."""

    workflow: Workflow
    warnings: tuple[Violation, ...]


def validate_definition(*, entity: Entity, document: Any) -> Reading:
    """All violations and warnings of a document; stores nothing."""
    with tenancy.entity(entity.pk):
        now = clock.now()
    return read_automation(document, now=now, zone=ZoneInfo(str(entity.timezone)))


def _valid(entity: Entity, document: Any) -> Reading:
    reading = validate_definition(entity=entity, document=document)
    if reading.definition is None:
        raise InvalidDefinition(violations=reading.violations)
    return reading


def create_workflow(*, entity: Entity, document: Mapping[str, Any]) -> Saved:
    """Store a valid definition as the draft of a new workflow, last in priority (decision 5)."""
    reading = _valid(entity, document)
    with tenancy.entity(entity.pk):
        _lock_order(entity)
        last = Workflow.objects.filter(entity_id=entity.pk).aggregate(last=Max("priority"))["last"] or 0
        workflow = Workflow.objects.create(
            id=uuid7(),
            entity_id=entity.pk,
            name=document["name"],
            kind=document["kind"],
            priority=last + 1,
            draft=dict(document),
        )
    return Saved(workflow, reading.warnings)


def save_draft(*, entity: Entity, workflow_id: UUID, document: Mapping[str, Any]) -> Saved:
    """Replace the draft by a valid definition; published versions stay as they are."""
    reading = _valid(entity, document)
    with tenancy.entity(entity.pk):
        workflow = _locked(entity, workflow_id)
        if workflow.status == "archived":
            raise IllegalTransition(present=workflow.status)
        workflow.draft = dict(document)
        workflow.name = document["name"]
        workflow.save(update_fields=["draft", "name", "updated_at"])
    return Saved(workflow, reading.warnings)


def publish_workflow(*, entity: Entity, workflow_id: UUID, actor: str) -> Saved:
    """Freeze the draft as the next version and let its trigger listen; executions stay on theirs (decision 22)."""
    with tenancy.entity(entity.pk):
        workflow = _locked(entity, workflow_id)
        if workflow.status == "archived" or workflow.draft is None:
            raise IllegalTransition(present=workflow.status)
        document = workflow.draft
        reading = read_automation(document, now=clock.now(), zone=ZoneInfo(str(entity.timezone)))
        if reading.definition is None:
            raise InvalidDefinition(violations=reading.violations)
        if not reading.definition.trigger.handler.publishable:
            raise NotAvailableYet(trigger=reading.definition.trigger.kind)
        version = _freeze(workflow, document, reading.definition.trigger.kind, actor)
        workflow.current_version_id = version.pk
        workflow.status = "published"
        workflow.save(update_fields=["current_version_id", "status", "updated_at"])
        shadow = _shadowed(workflow, reading.definition.trigger)
    return Saved(workflow, (*reading.warnings, *shadow))


def _shadowed(workflow: Workflow, trigger: Trigger) -> tuple[Violation, ...]:
    """A warning where a workflow above takes every message that this trigger could match (decision 5)."""
    above = Workflow.objects.filter(
        entity_id=workflow.entity_id,
        status="published",
        current_version__trigger_type="message.inbound",
        priority__lt=workflow.priority,
    ).order_by("priority")
    if trigger.kind != "message.inbound":
        return ()
    mine = getattr(trigger.config, "channels", None)
    for name, version_id in above.values_list("name", "current_version_id"):
        other = load_version(entity_id=workflow.entity_id, version_id=version_id).automation.trigger
        theirs = getattr(other.config, "channels", None)
        if other.filters is None and (theirs is None or (mine is not None and set(mine) <= set(theirs))):
            text = N_("The workflow {name} above it matches every message of its channels.")
            return (
                Violation(
                    "decision-5",
                    "shadowed",
                    "/trigger",
                    text.format(name=name),
                    "warning",
                    text,
                    {"name": name},
                ),
            )
    return ()


def _freeze(workflow: Workflow, document: Mapping[str, Any], trigger: str, actor: str) -> Version:
    """The immutable version and its rows for people and queries."""
    entity_id = workflow.entity_id
    last = Version.objects.filter(entity_id=entity_id, workflow_id=workflow.pk).aggregate(last=Max("number"))[
        "last"
    ]
    version: Version = Version.objects.create(
        entity_id=entity_id,
        workflow_id=workflow.pk,
        number=(last or 0) + 1,
        definition=document,
        trigger_type=trigger,
        published_by=actor,
    )
    stored = rows(document)
    VersionTrigger.objects.create(
        entity_id=entity_id,
        version_id=version.pk,
        type=stored.trigger.type,
        config=stored.trigger.config,
        filters=stored.trigger.filters,
    )
    steps = Step.objects.bulk_create(
        Step(entity_id=entity_id, version_id=version.pk, position=step.position, key=step.key, name=step.name)
        for step in stored.steps
    )
    ids = {step.position: step.pk for step in steps}
    Action.objects.bulk_create(
        Action(
            entity_id=entity_id,
            step_id=ids[action.step_position],
            position=action.position,
            key=action.key,
            type=action.type,
            config=action.config,
        )
        for action in stored.actions
    )
    return version


def pause_workflow(*, entity: Entity, workflow_id: UUID) -> Workflow:
    """Stop the trigger; executions go on (decision 22)."""
    return _set_status(entity, workflow_id, sources=("published", "paused"), target="paused")


def activate_workflow(*, entity: Entity, workflow_id: UUID) -> Workflow:
    """Let a paused trigger listen again; nothing that was missed is replayed (decision 22)."""
    return _set_status(entity, workflow_id, sources=("paused", "published"), target="published")


def archive_workflow(*, entity: Entity, workflow_id: UUID) -> Workflow:
    """Take a workflow out of the order for good; its executions and versions stay."""
    sources = ("draft", "published", "paused", "archived")
    return _set_status(entity, workflow_id, sources=sources, target="archived")


def _set_status(entity: Entity, workflow_id: UUID, *, sources: Sequence[str], target: str) -> Workflow:
    with tenancy.entity(entity.pk):
        workflow = _locked(entity, workflow_id)
        if workflow.status not in sources:
            raise IllegalTransition(present=workflow.status)
        workflow.status = target
        if target == "archived":
            workflow.priority = None
        workflow.save(update_fields=["status", "priority", "updated_at"])
    return workflow


def reorder_workflows(*, entity: Entity, workflow_ids: Sequence[UUID]) -> None:
    """Give all workflows of the entity that are not archived their order at once (decision 5)."""
    with tenancy.entity(entity.pk):
        _lock_order(entity)
        present = set(
            Workflow.objects.filter(entity_id=entity.pk)
            .exclude(status="archived")
            .values_list("pk", flat=True)
        )
        if len(set(workflow_ids)) != len(workflow_ids) or set(workflow_ids) != present:
            raise InvalidInput(
                "The list must name every workflow that is not archived, once each.",
                fields={"workflows": f"{len(present)} expected"},
            )
        for priority, workflow_id in enumerate(workflow_ids, start=1):
            Workflow.objects.filter(pk=workflow_id, entity_id=entity.pk).update(priority=priority)


def _lock_order(entity: Entity) -> None:
    """One act on the workflows of an entity at a time: each writes rows of the order that the others compare with.

    Like every row lock here it leaves keys alone, so that messages go on starting executions meanwhile.
    """
    Entity.objects.select_for_update(no_key=True).get(pk=entity.pk)


def _locked(entity: Entity, workflow_id: UUID) -> Workflow:
    _lock_order(entity)
    found: Workflow | None = (
        Workflow.objects.select_for_update(no_key=True).filter(pk=workflow_id, entity_id=entity.pk).first()
    )
    if found is None:
        raise NotFound
    return found
