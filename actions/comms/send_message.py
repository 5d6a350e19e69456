"""`comms.send_message`: a text, with options to tap, through InteractionsService (A3)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, field_validator

from workflows.contracts import (
    N_,
    ActionType,
    Call,
    Config,
    Continue,
    Effect,
    Outcome,
    Output,
    ResponsePolicy,
    Templated,
    WaitForReply,
    action_registry,
    refusal,
)
from workflows.errors import PermanentFailure


class Option(Config):
    """A button or a row of a list; `id` comes back as the reply's payload."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    title: Annotated[str, Field(min_length=1, max_length=60), Templated()]


class SendMessageConfig(Config):
    """The text, up to 10 options, and whether the step waits for the answer."""

    text: Annotated[str, Field(min_length=1, max_length=4096), Templated()]
    options: list[Option] = Field(default=[], max_length=10)
    response_policy: ResponsePolicy | None = None

    @field_validator("options")
    @classmethod
    def _distinct(cls, value: list[Option]) -> list[Option]:
        if len({option.id for option in value}) < len(value):
            raise refusal("duplicate_option", N_("Two options have the same id."))
        return value


class SentOutput(Output):
    """What InteractionsService answered."""

    message_id: str
    status: str
    accepted_at: datetime


@action_registry.register("comms.send_message")
class SendMessageAction(ActionType[SendMessageConfig]):
    """Reaches the contact: at most once (decision 13)."""

    label = N_("Send message")
    help = N_("Sends a text to the contact, with options to tap; may wait for the reply.")
    config = SendMessageConfig
    output = SentOutput
    effect = Effect.AT_MOST_ONCE
    prompts = True

    def run(self, call: Call, config: SendMessageConfig) -> Outcome:
        contact, chat = call.context.get("contact") or {}, call.context.get("chat") or {}
        if not contact.get("id") or not chat.get("id"):
            raise PermanentFailure(
                N_("There is no contact and chat to send the message to."), reason="no_chat"
            )
        sent = call.crm.interactions.send_text(
            contact_id=contact["id"],
            chat_id=chat["id"],
            text=config.text,
            options=[option.model_dump() for option in config.options],
        )
        output = SentOutput(
            message_id=sent.message_id, status=sent.status, accepted_at=sent.accepted_at
        ).model_dump(mode="json")
        if config.response_policy is not None:
            return WaitForReply(config.response_policy.await_reply, output)
        return Continue(output)
