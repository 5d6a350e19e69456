"""Published versions, compiled once per process for the engine."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from workflows.definitions.automation import compile_automation
from workflows.definitions.model import Automation
from workflows.models import Version

_LIMIT = 2_000
_cache: OrderedDict[tuple[int, int], CompiledVersion] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """An immutable version as the engine uses it."""

    id: int
    number: int
    workflow_id: UUID
    automation: Automation


def load_version(*, entity_id: int, version_id: int) -> CompiledVersion:
    """The compiled version; read from the database at its first use in this process, in the caller's scope."""
    key = (entity_id, version_id)
    with _lock:
        found = _cache.get(key)
        if found is not None:
            _cache.move_to_end(key)
            return found
    row = Version.objects.get(pk=version_id, entity_id=entity_id)
    compiled = CompiledVersion(row.pk, row.number, row.workflow_id, compile_automation(row.definition))
    with _lock:
        _cache[key] = compiled
        while len(_cache) > _LIMIT:
            _cache.popitem(last=False)
    return compiled


def cached_version(*, entity_id: int, version_id: int) -> CompiledVersion | None:
    """The compiled version if this process has it; needs no scope."""
    with _lock:
        return _cache.get((entity_id, version_id))
