"""Whether a failed call is made again, and when: the table of decision 13 and the delays of decision 23. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from workflows.contracts import Effect

ATTEMPTS: Final = 3
LOOKS: Final = 3
"""How often a call that is said to be in flight is asked after (409 with our key)."""

CAP_SECONDS: Final = 30.0
LONGEST_RETRY_AFTER: Final = 600.0


@dataclass(frozen=True, slots=True)
class Retry:
    """Make the call again, with the same key, after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt; the execution pauses with `reason`."""

    reason: str


def decide(
    effect: Effect,
    kinds: Sequence[str],
    *,
    reason: str,
    honours_keys: bool,
    attempts: int = ATTEMPTS,
    retry_after: float | None = None,
    draw: random.Random | None = None,
) -> Retry | GiveUp:
    """What follows the last of `kinds`, the failures of this try so far, oldest first.

    `honours_keys` says whether the service answers a repeated key with its first answer; `reason` is the failure's
    own. An effect that may have happened is never given up as anything but `outcome_unknown`.
    """
    kind = kinds[-1]
    once = effect is Effect.AT_MOST_ONCE
    doubtful = once and any(seen in ("unknown", "in_flight", "bad_response") for seen in kinds)
    match kind:
        case "not_sent" | "answered_retry":
            again = len(kinds) < attempts
        case "unknown":
            again = len(kinds) < attempts if not once else honours_keys and kinds.count("unknown") <= 1
        case "in_flight":
            if once and not honours_keys:
                return GiveUp("rejected")
            again = kinds.count("in_flight") <= LOOKS
        case "bad_response":
            return GiveUp("outcome_unknown" if once else "bad_response")
        case _:
            return GiveUp(reason)
    if again:
        return Retry(delay(len(kinds) - 1, retry_after=retry_after, draw=draw))
    return GiveUp("outcome_unknown" if doubtful else "unavailable")


def delay(attempt: int, *, retry_after: float | None = None, draw: random.Random | None = None) -> float:
    """Seconds before the retry that follows attempt number `attempt`, the first being 0 (decision 23).

    `retry_after` is a floor, up to ten minutes.
    """
    chance = draw or random.Random()  # noqa: S311 - spreads retries, keeps no secret
    seconds = 2.0 * 2.0 ** min(attempt, 16) + chance.uniform(0.0, 1.0)
    if seconds >= CAP_SECONDS:
        seconds = chance.uniform(CAP_SECONDS / 2, CAP_SECONDS)
    return max(seconds, min(retry_after or 0.0, LONGEST_RETRY_AFTER))
