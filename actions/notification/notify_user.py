"""`notification.notify_user`: a notice to one user of the CRM, through NotificationsService."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workflows.contracts import (
    N_,
    ActionType,
    Call,
    Config,
    Continue,
    Effect,
    Outcome,
    Output,
    Templated,
    action_registry,
)


class NotifyUserConfig(Config):
    """Whom to notify, and what of."""

    user_id: Annotated[str, Field(min_length=1, max_length=64), Templated()]
    text: Annotated[str, Field(min_length=1, max_length=2000), Templated()]
    title: Annotated[Annotated[str, Field(max_length=200)] | None, Templated()] = None
    link: Annotated[Annotated[str, Field(max_length=2000)] | None, Templated()] = None


class NotifiedOutput(Output):
    """The notification that was made."""

    notification_id: str


@action_registry.register("notification.notify_user")
class NotifyUserAction(ActionType[NotifyUserConfig]):
    """Reaches a person: at most once (decision 13)."""

    label = N_("Notify user")
    help = N_("Notifies one user, in the application and by e-mail.")
    config = NotifyUserConfig
    output = NotifiedOutput
    effect = Effect.AT_MOST_ONCE

    def run(self, call: Call, config: NotifyUserConfig) -> Outcome:
        notified = call.crm.notifications.notify_user(
            user_id=config.user_id, text=config.text, title=config.title, link=config.link
        )
        return Continue(NotifiedOutput(notification_id=notified).model_dump(mode="json"))
