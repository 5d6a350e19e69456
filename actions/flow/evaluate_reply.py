"""`flow.evaluate_reply`: the step of the first true branch, or the way out without a reply (decision 8)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workflows.contracts import N_, ActionType, Call, Config, GoTo, Outcome, StepKey, action_registry
from workflows.filters import Filter, evaluate


class Branch(Config):
    """A filter and the step for it."""

    when: Filter
    goto: StepKey


class EvaluateReplyConfig(Config):
    """Branches are tried in order; `on_timeout` (absent: `default`) is taken before any of them is tried."""

    branches: Annotated[list[Branch], Field(max_length=50)]
    default: StepKey
    on_timeout: StepKey | None = None


@action_registry.register("flow.evaluate_reply")
class EvaluateReplyAction(ActionType[EvaluateReplyConfig]):
    """Terminal, branches (F4)."""

    label = N_("Evaluate reply")
    help = N_("Goes to the step of the first branch that is true for the contact's reply.")
    config = EvaluateReplyConfig
    terminal = True

    def run(self, call: Call, config: EvaluateReplyConfig) -> Outcome:
        reply = call.context.get("reply") or {}
        if reply.get("timed_out") or reply.get("delivery_failed"):
            return GoTo(config.on_timeout or config.default)
        for branch in config.branches:
            if evaluate(branch.when, call.context, now=call.now, zone=call.zone):
                return GoTo(branch.goto)
        return GoTo(config.default)
