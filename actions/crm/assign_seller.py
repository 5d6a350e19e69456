"""`crm.assign_seller`: who takes care of the contact, through RecordAssignmentsService (G1)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

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
    refusal,
)
from workflows.errors import PermanentFailure


class AssignSellerConfig(Config):
    """How the seller is chosen; `user_id` belongs to the strategy `user` and to no other."""

    strategy: Literal["round_robin", "least_busy", "user"]
    team: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    user_id: Annotated[Annotated[str, Field(min_length=1, max_length=64)] | None, Templated()] = None

    @model_validator(mode="after")
    def _user_named(self) -> AssignSellerConfig:
        if (self.strategy == "user") != (self.user_id is not None):
            raise refusal("seller_user", N_("The strategy user names user_id; the other strategies do not."))
        return self


class AssignedOutput(Output):
    """Who was assigned."""

    employee_id: str | None
    user_id: str


@action_registry.register("crm.assign_seller")
class AssignSellerAction(ActionType[AssignSellerConfig]):
    """Changes a record of the CRM: at most once (decision 13)."""

    label = N_("Assign seller")
    help = N_("Assigns the contact to a seller, in turn, to the least busy or to one user.")
    config = AssignSellerConfig
    output = AssignedOutput
    effect = Effect.AT_MOST_ONCE

    def run(self, call: Call, config: AssignSellerConfig) -> Outcome:
        contact = call.context.get("contact") or {}
        if not contact.get("id"):
            raise PermanentFailure(N_("There is no contact to assign a seller to."))
        assigned = call.crm.assignments.assign_seller(
            contact_id=contact["id"], strategy=config.strategy, team=config.team, user_id=config.user_id
        )
        output = AssignedOutput(employee_id=assigned.employee_id, user_id=assigned.user_id)
        return Continue(output.model_dump(mode="json"))
