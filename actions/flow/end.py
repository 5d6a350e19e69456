"""`flow.end`: the execution is complete."""

from __future__ import annotations

from workflows.contracts import N_, ActionType, Call, Config, End, Outcome, action_registry


class EndConfig(Config):
    """Nothing to set."""


@action_registry.register("flow.end")
class EndAction(ActionType[EndConfig]):
    """Terminal."""

    label = N_("End")
    help = N_("Ends the execution.")
    config = EndConfig
    terminal = True

    def run(self, call: Call, config: EndConfig) -> Outcome:
        return End()
