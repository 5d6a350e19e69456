"""Every domain error, one tree: a stable code and HTTP status shared by API, log, console and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from workflows.reasons import REASONS as REASONS
from workflows.reasons import Reason as Reason
from workflows.texts import N_ as N_


class WorkflowError(Exception):
    """Root of the tree. `detail` is a plain sentence; `extra` holds values for the answer and the log."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400
    title: ClassVar[str] = N_("The request could not be carried out.")

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        self.detail = detail or self.title
        self.extra: Mapping[str, Any] = extra
        super().__init__(self.detail)


class NotFound(WorkflowError):
    """No such object in this entity; the same answer whether it exists elsewhere or nowhere (decision 21)."""

    code = "not_found"
    status = 404
    title = N_("There is no such object in this entity.")


class EntityRequired(WorkflowError):
    """A platform key must say which entity it acts on."""

    code = "entity_required"
    title = N_("A platform key names the entity in X-Entity-Id.")


class TooLarge(WorkflowError):
    """The body of the request is larger than this endpoint takes; `limit` in bytes."""

    code = "too_large"
    status = 413
    title = N_("The body of the request is too large.")


class InvalidInput(WorkflowError):
    """A field of the request is wrong; `fields` maps its name to a sentence."""

    code = "invalid"
    status = 422
    title = N_("The request has invalid fields.")


class InvalidDefinition(WorkflowError):
    """A definition breaks rules; `violations` lists all of them in document order (decision 19)."""

    code = "invalid_definition"
    status = 422
    title = N_("The definition breaks one or more rules.")


class NotAvailableYet(WorkflowError):
    """The definition is valid and stored, but this release cannot run it."""

    code = "not_available_yet"
    status = 422
    title = N_("This kind of trigger cannot be published in this release.")


class IllegalTransition(WorkflowError):
    """The object is in a state from which the act is not allowed; nothing changed."""

    code = "illegal_transition"
    status = 409
    title = N_("The present state does not allow this act.")


class StaleState(WorkflowError):
    """The act was decided on a state that has changed since; `state_version` holds the present one."""

    code = "stale_state"
    status = 409
    title = N_("The state has changed since you looked; look again and decide.")


class NotManual(WorkflowError):
    """Only a manual trigger may be started by hand (S1)."""

    code = "not_manual"
    status = 409
    title = N_("This workflow has no manual trigger.")


class ScopeMissing(WorkflowError):
    """A query ran outside `tenancy.entity()` and `tenancy.fleet()`: a bug, never an answer (G6)."""

    code = "scope_missing"
    status = 500
    title = N_("A query ran without an entity scope.")


class Busy(WorkflowError):
    """The decision could not be committed now; the caller sends the same message again."""

    code = "busy"
    status = 503
    title = N_("The request could not be committed now; send it again.")


class DuplicateKind(WorkflowError):
    """Two plug-ins claim one kind: a programming error."""

    code = "duplicate_kind"
    status = 500


class ActionFailure(WorkflowError):
    """Base of what an action may raise. `reason` is one of `workflows.reasons`; `data` is kept in the log."""

    code = "rejected"

    def __init__(self, detail: str | None = None, *, reason: str | None = None, **extra: Any) -> None:
        super().__init__(detail, **extra)
        self.reason = reason or self.code


class TransientFailure(ActionFailure):
    """The service could not do it now. `sent` says whether the request may have been acted on (decision 13)."""

    code = "unavailable"

    def __init__(
        self,
        detail: str | None = None,
        *,
        sent: bool = False,
        retry_after: float | None = None,
        reason: str | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail, reason=reason, **extra)
        self.sent = sent
        self.retry_after = retry_after


class PermanentFailure(ActionFailure):
    """The service refused, or answered what cannot be used; a repeat would not help."""

    code = "rejected"
