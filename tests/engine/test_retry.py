"""Whether and when a failed call is made again: decision 13 row by row, column by column, and decision 23."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts import Effect
from workflows.engine.retry import CAP_SECONDS, GiveUp, Retry, decide, delay

COLUMNS = {
    "read": (Effect.READ, True),
    "idempotent": (Effect.IDEMPOTENT, False),
    "once_keyed": (Effect.AT_MOST_ONCE, True),
    "once": (Effect.AT_MOST_ONCE, False),
}
UNAVAILABLE = ["retry", "retry", "unavailable"]
TABLE = {
    # the same failure again and again: what follows the first, the second, …
    "not_sent": {
        "read": UNAVAILABLE,
        "idempotent": UNAVAILABLE,
        "once_keyed": UNAVAILABLE,
        "once": UNAVAILABLE,
    },
    "answered_retry": {
        "read": UNAVAILABLE,
        "idempotent": UNAVAILABLE,
        "once_keyed": UNAVAILABLE,
        "once": UNAVAILABLE,
    },
    "unknown": {
        "read": UNAVAILABLE,
        "idempotent": UNAVAILABLE,
        "once_keyed": ["retry", "outcome_unknown"],
        "once": ["outcome_unknown"],
    },
    "in_flight": {
        "read": ["retry", "retry", "retry", "unavailable"],
        "idempotent": ["retry", "retry", "retry", "unavailable"],
        "once_keyed": ["retry", "retry", "retry", "outcome_unknown"],
        "once": ["rejected"],
    },
    "rejected": {
        "read": ["window_closed"],
        "idempotent": ["window_closed"],
        "once_keyed": ["window_closed"],
        "once": ["window_closed"],
    },
    "bad_response": {
        "read": ["bad_response"],
        "idempotent": ["bad_response"],
        "once_keyed": ["outcome_unknown"],
        "once": ["outcome_unknown"],
    },
}
CELLS = [(kind, column, wanted) for kind, row in TABLE.items() for column, wanted in row.items()]


def verdict(column: str, *kinds: str, attempts: int = 3, retry_after: float | None = None) -> str:
    effect, honours_keys = COLUMNS[column]
    found = decide(
        effect,
        kinds,
        reason="window_closed",
        honours_keys=honours_keys,
        attempts=attempts,
        retry_after=retry_after,
    )
    return found.reason if isinstance(found, GiveUp) else "retry"


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize(("kind", "column", "wanted"), CELLS, ids=[f"{k}-{c}" for k, c, _ in CELLS])
def test_every_cell_of_the_table(kind: str, column: str, wanted: list[str]) -> None:
    found = [verdict(column, *[kind] * count) for count in range(1, len(wanted) + 1)]
    assert found == wanted


@pytest.mark.rule("decision-13")
@pytest.mark.rule("A9")
@pytest.mark.parametrize("kind", ["not_sent", "answered_retry", "unknown"])
def test_a_read_of_zauru_is_made_twice(kind: str) -> None:
    assert verdict("read", kind, attempts=2) == "retry"
    assert verdict("read", kind, kind, attempts=2) == "unavailable"


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        (("not_sent", "unknown"), "retry"),
        (("unknown", "not_sent"), "retry"),
        (("unknown", "not_sent", "not_sent"), "outcome_unknown"),
        (("unknown", "answered_retry", "answered_retry"), "outcome_unknown"),
        (("unknown", "in_flight"), "retry"),
        (("unknown", "in_flight", "in_flight", "in_flight"), "retry"),
        (("unknown", "in_flight", "in_flight", "in_flight", "in_flight"), "outcome_unknown"),
        (("answered_retry", "not_sent", "answered_retry"), "unavailable"),
        (("unknown", "rejected"), "window_closed"),
    ],
)
def test_mixed_failures_of_a_keyed_effect(kinds: tuple[str, ...], wanted: str) -> None:
    """After a call that may have happened, the service's own answer to the key is the only thing that settles it."""
    assert verdict("once_keyed", *kinds) == wanted


@pytest.mark.rule("decision-13")
@pytest.mark.parametrize("kinds", [("not_sent", "unknown"), ("not_sent", "not_sent", "unknown")])
def test_an_effect_without_keys_is_not_repeated_once_it_may_have_happened(kinds: tuple[str, ...]) -> None:
    assert verdict("once", *kinds) == "outcome_unknown"


@pytest.mark.rule("decision-13")
def test_retry_after_is_the_floor_of_the_delay() -> None:
    found = decide(Effect.READ, ["answered_retry"], reason="unavailable", honours_keys=True, retry_after=90.0)
    assert found == Retry(90.0)


class Draw(random.Random):
    """Draws the lower or the upper end."""

    def __init__(self, upper: bool) -> None:
        super().__init__(0)
        self.upper = upper

    def uniform(self, a: float, b: float) -> float:
        return b if self.upper else a


@pytest.mark.rule("decision-23")
@pytest.mark.parametrize(
    ("attempt", "least", "most"),
    [(0, 2.0, 3.0), (1, 4.0, 5.0), (2, 8.0, 9.0), (3, 16.0, 17.0), (4, 15.0, 30.0), (5, 15.0, 30.0)],
)
def test_delays_double_and_are_spread_at_the_cap(attempt: int, least: float, most: float) -> None:
    assert (delay(attempt, draw=Draw(False)), delay(attempt, draw=Draw(True))) == (least, most)


@pytest.mark.rule("decision-23")
@pytest.mark.parametrize(
    ("retry_after", "wanted"),
    [(None, 2.0), (0.0, 2.0), (1.0, 2.0), (45.0, 45.0), (600.0, 600.0), (601.0, 600.0)],
)
def test_retry_after_is_a_floor_up_to_ten_minutes(retry_after: float | None, wanted: float) -> None:
    assert delay(0, retry_after=retry_after, draw=Draw(False)) == wanted


@pytest.mark.rule("decision-23")
@given(attempt=st.integers(0, 10_000), seed=st.integers())
def test_every_delay_is_within_two_seconds_and_the_cap(attempt: int, seed: int) -> None:
    assert 2.0 <= delay(attempt, draw=random.Random(seed)) <= CAP_SECONDS
