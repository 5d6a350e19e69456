"""A message on its way to its one destination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a message went, as it is answered and stored."""

    outcome: str
    execution_id: UUID | None = None
    workflow_id: UUID | None = None
    reason: str | None = None
    duplicate: bool = False

    def as_answer(self) -> dict[str, str | None]:
        """As it is stored for a second delivery."""
        return {
            "outcome": self.outcome,
            "execution_id": str(self.execution_id) if self.execution_id else None,
            "workflow_id": str(self.workflow_id) if self.workflow_id else None,
            "reason": self.reason,
        }

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> Decision:
        """The first delivery's decision, for a second one."""
        ids = {name: answer[name] and UUID(answer[name]) for name in ("execution_id", "workflow_id")}
        return cls(answer["outcome"], **ids, reason=answer["reason"], duplicate=True)


@dataclass(slots=True)
class Route:
    """A message on its way: what it is, and the trace of what was looked at."""

    entity_id: int
    message_id: UUID
    event: Mapping[str, Any]
    contact_id: str
    chat_id: str
    now: datetime
    zone: ZoneInfo
    trace: list[dict[str, Any]]
