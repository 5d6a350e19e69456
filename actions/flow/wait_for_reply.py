"""`flow.wait_for_reply`: pause until the contact answers or the time is over (A5, A11)."""

from __future__ import annotations

from workflows.contracts import (
    N_,
    ActionType,
    Call,
    Outcome,
    ReplyWait,
    WaitForReply,
    action_registry,
)


class WaitForReplyConfig(ReplyWait):
    """The same settings as the `await_reply` of a message."""


@action_registry.register("flow.wait_for_reply")
class WaitForReplyAction(ActionType[WaitForReplyConfig]):
    """A pause inside the step (S6)."""

    label = N_("Wait for reply")
    help = N_("Pauses until the contact answers, at least 1 hour and at most 30 days.")
    config = WaitForReplyConfig

    def reply_wait(self, config: WaitForReplyConfig) -> ReplyWait:
        return config

    def run(self, call: Call, config: WaitForReplyConfig) -> Outcome:
        return WaitForReply(config)
