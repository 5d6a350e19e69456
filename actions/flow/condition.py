"""`flow.condition`: one of two steps, by a filter on the context."""

from __future__ import annotations

from workflows.contracts import N_, ActionType, Call, Config, GoTo, Outcome, StepKey, action_registry
from workflows.filters import Filter, evaluate


class ConditionConfig(Config):
    """The filter and the steps for its two answers."""

    when: Filter
    on_true: StepKey
    on_false: StepKey


@action_registry.register("flow.condition")
class ConditionAction(ActionType[ConditionConfig]):
    """Terminal, branches (F4)."""

    label = N_("Condition")
    help = N_("Goes to one step if the condition is true and to another if it is not.")
    config = ConditionConfig
    terminal = True

    def run(self, call: Call, config: ConditionConfig) -> Outcome:
        true = evaluate(config.when, call.context, now=call.now, zone=call.zone)
        return GoTo(config.on_true if true else config.on_false)
