"""The tables. Constraints hold what a row can show; `services` are the only writers."""

from workflows.models.entity import ApiKey, Clock, Entity, Membership, Role
from workflows.models.execution import (
    ACTIVE,
    FINAL,
    Attempt,
    Event,
    Execution,
    Frame,
    FrameStatus,
    Status,
    StepRun,
    StepRunStatus,
)
from workflows.models.inbound import InboundMessage, MessageOutcome
from workflows.models.incident import Incident
from workflows.models.wait import SLOT_STATES, Timer, Wait, WaitKind, WaitState
from workflows.models.workflow import (
    Action,
    Kind,
    Step,
    Version,
    VersionTrigger,
    Workflow,
    WorkflowStatus,
)

__all__ = [
    "ACTIVE",
    "FINAL",
    "SLOT_STATES",
    "Action",
    "ApiKey",
    "Attempt",
    "Clock",
    "Entity",
    "Event",
    "Execution",
    "Frame",
    "FrameStatus",
    "InboundMessage",
    "Incident",
    "Kind",
    "Membership",
    "MessageOutcome",
    "Role",
    "Status",
    "Step",
    "StepRun",
    "StepRunStatus",
    "Timer",
    "Version",
    "VersionTrigger",
    "Wait",
    "WaitKind",
    "WaitState",
    "Workflow",
    "WorkflowStatus",
]
