"""The colour in which a status is shown, on lists and detail pages alike."""

from __future__ import annotations

STATUS = {
    "running": "info",
    "waiting_for_reply": "primary",
    "delayed": "primary",
    "pending_approval": "primary",
    "queued_wait_conflict": "warning",
    "paused_error": "danger",
    "completed": "success",
    "cancelled": "default",
    "failed": "danger",
}
WORKFLOW = {"draft": "default", "published": "success", "paused": "warning", "archived": "default"}
OUTCOME = {
    "resumed": "info",
    "kept": "info",
    "started": "success",
    "opted_out": "warning",
    "ignored": "default",
    "unmatched": "default",
}
RUN = {"open": "info", "waiting": "primary", "done": "success", "failed": "danger", "cancelled": "default"}
WAIT = {
    "queued": "warning",
    "reserved": "info",
    "open": "primary",
    "held": "info",
    "resolved": "success",
    "cancelled": "default",
}
