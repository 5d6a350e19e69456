"""`flow.goto_step`: go to an earlier or later step; the trigger never fires again (F2)."""

from __future__ import annotations

from pydantic import field_validator

from workflows.contracts import (
    N_,
    ActionType,
    Call,
    Config,
    GoTo,
    Outcome,
    StepKey,
    action_registry,
    refusal,
)


class GoToStepConfig(Config):
    """`skip_trigger` exists for definitions that say it; only true is accepted (decision 33)."""

    step: StepKey
    skip_trigger: bool = True

    @field_validator("skip_trigger")
    @classmethod
    def _never_fires(cls, value: bool) -> bool:
        if not value:
            raise refusal(
                "skip_trigger_false",
                N_("Going to a step never fires the trigger: leave skip_trigger out or set it to true."),
                "decision-33",
            )
        return value


@action_registry.register("flow.goto_step")
class GoToStepAction(ActionType[GoToStepConfig]):
    """Terminal."""

    label = N_("Go to step")
    help = N_("Goes on with another step.")
    config = GoToStepConfig
    terminal = True

    def run(self, call: Call, config: GoToStepConfig) -> Outcome:
        return GoTo(config.step)
