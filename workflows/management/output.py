"""How commands report a domain error: sentences on stderr, one line an item, exit code 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from workflows.definitions.violations import Violation
from workflows.errors import WorkflowError
from workflows.models import Entity


@contextmanager
def reported() -> Iterator[None]:
    """Turn a domain error into the command's failure, with the fields it names."""
    try:
        yield
    except WorkflowError as problem:
        fields = problem.extra.get("fields") or {}
        lines = [
            f"{problem.code}: {_(problem.detail)}",
            *(f"  {name}: {text}" for name, text in fields.items()),
        ]
        raise CommandError("\n".join(lines)) from problem


def find_entity(external_id: str) -> Entity:
    """The entity with the CRM's id."""
    found = Entity.objects.filter(external_id=external_id).first()
    if found is None:
        raise CommandError(_("There is no entity with the CRM id %(id)s.") % {"id": external_id})
    return found


def violation_lines(violations: Sequence[Violation]) -> list[str]:
    """Each with its rule, its place in the document and its sentence in the reader's language."""
    return [
        f"{found.rule or '-'} {found.pointer or '/'} {found.code}: {_sentence(found)}" for found in violations
    ]


def _sentence(found: Violation) -> str:
    return _(found.msgid).format(**found.values) if found.msgid else found.message
