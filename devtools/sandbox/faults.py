"""Faults to order: what shall go wrong with the next calls of an operation."""

from __future__ import annotations

import threading
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Fault(BaseModel):
    """One rule. It applies to the next `times` calls that match (null: to all), the oldest rule first.

    `status` answers so and does nothing, or does the work first with `work`; `delay_s` waits before the work;
    `drop` closes the connection before or after the work; the others do the work and spoil the answer.
    """

    model_config = ConfigDict(extra="forbid")

    operation: str = "*"
    entity: str | None = None
    contact: str | None = None
    times: int | None = Field(1, ge=1)
    status: int | None = Field(None, ge=200, le=599)
    code: str | None = None
    retry_after: str | int | None = None
    location: str | None = None
    work: bool = False
    delay_s: float = Field(0.0, ge=0, le=60)
    drop: Literal["before", "after"] | None = None
    drip: Literal["headers", "body"] | None = None
    drip_interval_s: float = Field(0.1, gt=0, le=5)
    garbage: bool = False
    wrong_types: bool = False
    huge: int = Field(0, ge=0, le=50_000_000)

    @property
    def idle(self) -> bool:
        """Whether the call is to have no effect."""
        return self.drop == "before" or (self.status is not None and not self.work)

    def matches(self, operation: str, entity: str | None, contact: str | None) -> bool:
        return (
            self.operation in {"*", operation}
            and self.entity in {None, entity}
            and self.contact in {None, contact}
        )


class Faults:
    """The rules in force."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Fault] = []

    def add(self, rule: Fault) -> None:
        with self._lock:
            self._rules.append(rule)

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()

    def shown(self) -> list[dict[str, Any]]:
        with self._lock:
            return [rule.model_dump(mode="json", exclude_defaults=True) for rule in self._rules]

    def take(self, operation: str, entity: str | None, contact: str | None) -> Fault | None:
        """The rule for this call, counted."""
        if not self._rules:
            return None
        with self._lock:
            for rule in self._rules:
                if rule.matches(operation, entity, contact):
                    if rule.times is not None:
                        rule.times -= 1
                        if rule.times == 0:
                            self._rules.remove(rule)
                    return rule
        return None


def spoil(value: Any) -> Any:
    """The same shape with every value of another type."""
    if isinstance(value, dict):
        return {name: spoil(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return "list"
    return 7 if isinstance(value, str) else ["spoiled"]
