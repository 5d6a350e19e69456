"""Where an execution stands in its definition, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_ACTIONS_BETWEEN_PAUSES = 200
"""Decision 2: more of them in one go is a loop."""

MAX_SENDS = 100
"""Decision 2: messages to the contact in one execution."""


@dataclass(frozen=True, slots=True)
class State:
    """Position (step and action as indices), visits by step key, and the counters of the guards."""

    step: int = 0
    action: int = 0
    visits: Mapping[str, int] = field(default_factory=dict)
    actions: int = 0
    sends: int = 0
