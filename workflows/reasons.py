"""The one list of statuses, reasons and trace reasons: for each its cause, the next step and the acts it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from workflows.texts import N_

Act = Literal["resume", "cancel", "retry_wait"]
Family = Literal["status", "reason", "trace"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and its sentences as msgids; `acts` are what an operator may do where it stands."""

    code: str
    family: Family
    cause: str
    next_step: str
    acts: tuple[Act, ...] = ()


_NONE = N_("Nothing needs to be done.")
_MEND = N_("Mend the workflow, publish it, and resume with the new version; or cancel.")
_RESUME: tuple[Act, ...] = ("resume", "cancel")

_STATUSES = (
    Reason("running", "status", N_("The execution is under way."), _NONE, ("cancel",)),
    Reason(
        "waiting_for_reply",
        "status",
        N_("The execution waits for the contact's reply."),
        N_("It goes on when the contact answers or the time is over."),
        ("cancel",),
    ),
    Reason(
        "delayed",
        "status",
        N_("The execution waits until a set time."),
        N_("It goes on by itself at that time."),
        ("cancel",),
    ),
    Reason(
        "pending_approval",
        "status",
        N_("The execution waits for a person's decision."),
        N_("Decide on the approval."),
        ("cancel",),
    ),
    Reason(
        "queued_wait_conflict",
        "status",
        N_("Another execution is waiting for a reply in the same chat."),
        N_("It goes on when the chat is free; retry the wait if it is not promoted by itself."),
        ("retry_wait", "cancel"),
    ),
    Reason(
        "paused_error",
        "status",
        N_("An action failed and the execution stands at it."),
        N_("Read the reason, put it right, and resume; or cancel."),
        _RESUME,
    ),
    Reason("completed", "status", N_("The execution reached its end."), _NONE),
    Reason("cancelled", "status", N_("The execution was ended before its end."), _NONE),
    Reason(
        "failed",
        "status",
        N_("The execution ended with an error."),
        N_("Read the error; start it again once it is put right."),
    ),
)

_REASONS = (
    Reason(
        "max_step_visits_exceeded",
        "reason",
        N_("A step would be visited more often than the workflow allows."),
        N_("Look for a loop. Resuming sets the step's counter to 0."),
        _RESUME,
    ),
    Reason(
        "action_budget_exceeded",
        "reason",
        N_("Too many actions ran without a pause; this looks like a loop."),
        _MEND,
        _RESUME,
    ),
    Reason(
        "send_budget_exceeded",
        "reason",
        N_("The execution has sent the contact as many messages as one execution may."),
        N_("Look for a loop of messages; cancel, or resume with a mended version."),
        _RESUME,
    ),
    Reason(
        "outcome_unknown",
        "reason",
        N_("The call left, and no answer says whether it took effect."),
        N_("Look in the other system, then resume as done, or as retry if it did not happen."),
        _RESUME,
    ),
    Reason(
        "auth_not_configured",
        "reason",
        N_("The entity has no system user for this action."),
        N_("Set the system user of the entity, then resume."),
        _RESUME,
    ),
    Reason(
        "auth_revoked",
        "reason",
        N_("The user in whose name the action runs is no longer allowed to."),
        N_("Set an active system user, then resume."),
        _RESUME,
    ),
    Reason(
        "context_too_large",
        "reason",
        N_("The data of the execution would pass 256 KiB."),
        N_("Make the workflow keep less data, publish it, and resume with the new version."),
        _RESUME,
    ),
    Reason(
        "template_error",
        "reason",
        N_("A template could not be rendered with the present data."),
        _MEND,
        _RESUME,
    ),
    Reason(
        "template_type_error",
        "reason",
        N_("A template gave a value of a kind that the action does not take."),
        _MEND,
        _RESUME,
    ),
    Reason(
        "no_chat",
        "reason",
        N_("The contact has no chat to write to."),
        N_("Open a chat with the contact in the CRM, then resume; or cancel."),
        _RESUME,
    ),
    Reason(
        "window_closed",
        "reason",
        N_("The channel no longer takes free messages to this contact."),
        N_("Send a template instead, or resume when the contact has written."),
        _RESUME,
    ),
    Reason(
        "contact_opted_out",
        "reason",
        N_("The contact asked for no more messages."),
        N_("Do not write again."),
        ("cancel",),
    ),
    Reason(
        "contact_blocked",
        "reason",
        N_("The contact is blocked."),
        N_("Unblock the contact, then resume; or cancel."),
        _RESUME,
    ),
    Reason(
        "contact_deleted",
        "reason",
        N_("The contact was deleted in the CRM."),
        N_("Cancel the execution."),
        ("cancel",),
    ),
    Reason(
        "contact_merged",
        "reason",
        N_("The contact was merged into another one."),
        N_("Go on with the other contact."),
        ("cancel",),
    ),
    Reason("human_takeover", "reason", N_("A person took over the conversation."), _NONE),
    Reason(
        "rejected",
        "reason",
        N_("The service refused the request."),
        N_("Read the answer, put the data or the workflow right, and resume; or cancel."),
        _RESUME,
    ),
    Reason(
        "unavailable",
        "reason",
        N_("The service did not answer after every attempt."),
        N_("Resume once the service is back."),
        _RESUME,
    ),
    Reason(
        "bad_response",
        "reason",
        N_("The service answered something that cannot be used."),
        N_("Tell whoever runs the service; resume once it is put right."),
        _RESUME,
    ),
    Reason("delay_too_long", "reason", N_("The delay would be longer than 30 days."), _MEND, _RESUME),
    Reason(
        "held",
        "reason",
        N_("The execution was held back so that it does not act late."),
        N_("Decide whether it still makes sense, then resume or cancel."),
        _RESUME,
    ),
    Reason(
        "poisoned",
        "reason",
        N_("Workers ended again and again while they ran this execution."),
        N_("Tell whoever runs the installation, with the execution's id."),
        _RESUME,
    ),
    Reason(
        "unexpected",
        "reason",
        N_("A fault of the engine or of an action stopped the execution."),
        N_("Tell whoever runs the installation, with the incident's id."),
        _RESUME,
    ),
)

_TRACE = (
    Reason(
        "already_active",
        "trace",
        N_("The contact already has an active execution of this workflow."),
        N_("It starts again once that execution has ended."),
    ),
    Reason("filter_false", "trace", N_("The message does not meet the trigger's conditions."), _NONE),
    Reason("lower_priority", "trace", N_("A workflow with a higher priority took the message."), _NONE),
    Reason(
        "paused", "trace", N_("The workflow is paused."), N_("Activate the workflow to let it listen again.")
    ),
    Reason("cooldown", "trace", N_("The last execution for this contact ended too short a time ago."), _NONE),
    Reason("too_old", "trace", N_("The message is too old to start a workflow."), _NONE),
    Reason("record_only", "trace", N_("The message was recorded and not routed."), _NONE),
    Reason("ignored_kind", "trace", N_("The message is not one that a contact writes."), _NONE),
    Reason("duplicate", "trace", N_("The message had been delivered before."), _NONE),
)

REASONS: Final[Mapping[str, Reason]] = {reason.code: reason for reason in (*_STATUSES, *_REASONS, *_TRACE)}
"""Every code, in the order of the design."""
