"""What is answered about executions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict, Field

from workflows.api.fields import QueryText, QueryTime
from workflows.api.pagination import PageOut, PageQuery
from workflows.errors import REASONS

ExecutionStatus = Literal[
    "running",
    "waiting_for_reply",
    "delayed",
    "pending_approval",
    "queued_wait_conflict",
    "paused_error",
    "completed",
    "cancelled",
    "failed",
]


class CodeText(BaseModel):
    """A status or reason in words: why, what to do, and which acts are open."""

    code: str
    cause: str
    next_step: str
    acts: list[str]


class WorkflowRef(BaseModel):
    """The workflow and version of an execution."""

    id: UUID
    name: str
    version: int


class ExecutionOut(BaseModel):
    """An execution without its data."""

    id: UUID
    kind: Literal["automation", "pipeline"]
    workflow: WorkflowRef
    contact_id: str | None
    chat_id: str | None
    trigger_type: str
    status: ExecutionStatus
    reason: str | None
    state_version: int
    created_at: datetime
    status_at: datetime
    finished_at: datetime | None


class PositionOut(BaseModel):
    """The action that runs next, or that it stands at; `visits` counts those of each step."""

    step: str
    action: str
    type: str
    visits: dict[str, int]


class WaitOut(BaseModel):
    """What it waits for, and until when."""

    kind: Literal["reply", "delay", "approval"]
    state: Literal["queued", "reserved", "open"]
    step: str
    action: str
    since: datetime
    armed_at: datetime | None
    deadline: datetime | None


class ExecutionDetail(ExecutionOut):
    """With where it stands and what can be done."""

    status_text: CodeText
    reason_text: CodeText | None
    error: dict[str, Any] | None
    trigger_message_id: UUID | None
    position: PositionOut | None
    wait: WaitOut | None


class ExecutionPage(PageOut[ExecutionOut]):
    """A page of executions."""


class ExecutionQuery(PageQuery):
    """What the list is narrowed to; `created_from` is included, `created_to` is not."""

    status: ExecutionStatus | None = None
    workflow: UUID | None = None
    contact: QueryText | None = None
    reason: QueryText | None = None
    created_from: QueryTime | None = None
    created_to: QueryTime | None = None


class TimelineItem(BaseModel):
    """An event, a step run, an attempt or a wait, with the fields of its kind."""

    model_config = ConfigDict(extra="allow")

    item: Literal["event", "step_run", "attempt", "wait"]
    at: datetime


class TimelinePage(PageOut[TimelineItem]):
    """A page of a timeline."""


class Context(BaseModel):
    """The data of an execution as it stands (G4)."""

    model_config = ConfigDict(extra="allow")


class CancelIn(BaseModel):
    """Why, and the `state_version` on which it was decided."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]
    state_version: Annotated[int, Field(ge=0, le=2**31 - 1)]


def code_text(code: str) -> CodeText:
    """The sentences of a code in the language of the request."""
    found = REASONS.get(code)
    if found is None:
        return CodeText(code=code, cause=code, next_step="", acts=[])
    return CodeText(
        code=code, cause=gettext(found.cause), next_step=gettext(found.next_step), acts=list(found.acts)
    )


def execution_out(row: dict[str, Any]) -> ExecutionOut:
    """From a selector's row."""
    return ExecutionOut(**_common(row))


def execution_detail(row: dict[str, Any]) -> ExecutionDetail:
    """From a selector's row with position and wait."""
    position, wait = row["position"], row["wait"]
    return ExecutionDetail(
        **_common(row),
        status_text=code_text(row["status"]),
        reason_text=code_text(row["reason"]) if row["reason"] else None,
        error=row["error"],
        trigger_message_id=row["trigger_message_id"],
        position=position
        and PositionOut(
            step=position["step_key"],
            action=position["action_key"],
            type=position["type"],
            visits=position["visits"],
        ),
        wait=wait
        and WaitOut(
            kind=wait["kind"],
            state=wait["state"],
            step=wait["step_key"],
            action=wait["action_key"],
            since=wait["created_at"],
            armed_at=wait["armed_at"],
            deadline=wait["deadline"],
        ),
    )


def timeline_item(row: dict[str, Any]) -> TimelineItem:
    """From a selector's row: keys are named as everywhere else, ids of rows stay inside."""
    names = {"step_key": "step", "action_key": "action"}
    hidden = ("id",) if row["item"] != "wait" else ()
    return TimelineItem(**{names.get(name, name): value for name, value in row.items() if name not in hidden})


def _common(row: dict[str, Any]) -> dict[str, Any]:
    workflow = WorkflowRef(id=row["workflow_id"], name=row["workflow_name"], version=row["version_number"])
    names = set(ExecutionOut.model_fields) - {"workflow", "reason"}
    return {"workflow": workflow, "reason": row["reason"] or None, **{name: row[name] for name in names}}
