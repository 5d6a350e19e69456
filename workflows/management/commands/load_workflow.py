"""Store definitions from files as drafts, and publish them if asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from workflows import tenancy
from workflows.errors import InvalidDefinition, WorkflowError
from workflows.management.output import find_entity, violation_lines
from workflows.models import Entity, Workflow
from workflows.services.publishing import Saved, create_workflow, publish_workflow, save_draft


class Command(BaseCommand):
    """`load_workflow examples/*.json --entity 101 --publish`; a workflow of the same name is updated."""

    help = "Load workflow definitions (JSON or YAML); the entity's workflow of the same name gets them as its draft."

    def add_arguments(self, parser: CommandParser) -> None:
        """Files and the entity."""
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--entity", required=True, help="the CRM's id of the entity")
        parser.add_argument("--publish", action="store_true", help="publish each as its next version")

    def handle(self, *args: Any, **options: Any) -> None:
        """A line per file; all files are tried, and one that is refused fails the command."""
        entity = find_entity(options["entity"])
        failed = 0
        for path in options["files"]:
            try:
                done = _load(entity, path, publish=options["publish"])
            except InvalidDefinition as problem:
                lines = violation_lines(problem.extra["violations"])
            except WorkflowError as problem:
                lines = [f"{problem.code}: {_(problem.detail)}"]
            except (OSError, ValueError, yaml.YAMLError) as problem:
                lines = [" ".join(str(problem).split())]
            else:
                self.stdout.write(f"{path} {done}")
                continue
            failed += 1
            for line in lines:
                self.stderr.write(f"{path} {line}")
        if failed:
            raise CommandError(
                _("%(failed)d of %(all)d files were refused.")
                % {"failed": failed, "all": len(options["files"])}
            )


def _load(entity: Entity, path: Path, *, publish: bool) -> str:
    document = read_document(path)
    present = _of_name(entity, document)
    saved: Saved = (
        create_workflow(entity=entity, document=document)
        if present is None
        else save_draft(entity=entity, workflow_id=present, document=document)
    )
    verb = "created" if present is None else "updated"
    if publish:
        publish_workflow(entity=entity, workflow_id=saved.workflow.pk, actor="command:load_workflow")
        verb += " published"
    warned = "".join(f"\n  warning {line}" for line in violation_lines(saved.warnings))
    return f"{verb} {saved.workflow.pk} {saved.workflow.name}{warned}"


def read_document(path: Path) -> Any:
    """The parsed file, YAML by its suffix, else JSON; what it must contain is the definitions' affair."""
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text) if path.suffix in (".yaml", ".yml") else json.loads(text)


def _of_name(entity: Entity, document: Any) -> UUID | None:
    name = document.get("name") if isinstance(document, dict) else None
    with tenancy.entity(entity.pk):
        rows = Workflow.objects.filter(entity_id=entity.pk, name=str(name)).exclude(status="archived")
        found: UUID | None = rows.order_by("priority").values_list("pk", flat=True).first()
    return found
