"""Named reads for API, console and metrics. Each runs in the caller's tenancy scope; none writes."""

from workflows.selectors.executions import ExecutionFilter, find_execution, list_executions, read_context
from workflows.selectors.fleet import Gauge, fleet_gauges
from workflows.selectors.incidents import list_incidents
from workflows.selectors.messages import MessageFilter, find_message, list_messages
from workflows.selectors.paging import Page, Position
from workflows.selectors.timeline import read_timeline
from workflows.selectors.workflows import (
    WorkflowFilter,
    find_version,
    find_workflow,
    list_versions,
    list_workflows,
)

__all__ = [
    "ExecutionFilter",
    "Gauge",
    "MessageFilter",
    "Page",
    "Position",
    "WorkflowFilter",
    "find_execution",
    "find_message",
    "find_version",
    "find_workflow",
    "fleet_gauges",
    "list_executions",
    "list_incidents",
    "list_messages",
    "list_versions",
    "list_workflows",
    "read_context",
    "read_timeline",
]
