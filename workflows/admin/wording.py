"""Stored codes of events, traces and actors as sentences in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from workflows.models import Status
from workflows.reasons import REASONS
from workflows.texts import N_

EVENTS = {
    "started": N_("Started with version %(version)s."),
    "waiting": N_("Waits for the contact's reply to %(action)s until %(until)s."),
    "queued": N_("Stands at %(action)s: another execution is waiting for a reply in this chat."),
    "promoted": N_("The chat became free, and the execution got it."),
    "delayed": N_("Waits at %(action)s until %(until)s."),
    "resumed": N_("Went on after %(action)s: %(by)s."),
    "paused": N_("Stopped by an error; nothing after it ran."),
    "completed": N_("Reached its end."),
    "cancelled": N_("Cancelled: %(why)s"),
}
RESUMED_BY = {
    "reply": N_("the contact replied"),
    "timeout": N_("the time for a reply was over"),
    "delay": N_("the delay was over"),
    "delivery_failed": N_("the message could not be delivered"),
    "retry": N_("an operator asked for another try"),
    "done": N_("an operator marked the action as done"),
    "skip": N_("an operator skipped the action"),
}
ACTORS = {
    "engine": N_("the engine"),
    "timer": N_("the clock"),
    "message": N_("message %(name)s"),
    "key": N_("key %(name)s"),
    "user": N_("user %(name)s"),
    "command": N_("command %(name)s"),
}
TRACES = {
    ("message", "ignored_kind"): N_(
        "Not a message that a person wrote to us (%(direction)s, %(author)s, %(kind)s): it goes nowhere."
    ),
    ("wait", "none"): N_("No execution was waiting for a reply of this contact in this chat."),
    ("wait", "resumed"): N_("An execution was waiting for a reply in this chat; the message resumed it."),
    ("wait", "kept"): N_("An execution was just asking in this chat; the message is kept as its answer."),
    ("wait", "already_answered"): N_(
        "An execution was just asking in this chat, and has another message as its answer."
    ),
    ("wait", "gathered"): N_(
        "An execution gathers the contact's messages in this chat; this one joined them."
    ),
    ("agent", "cancelled"): N_("An agent wrote in the chat; an execution ended, as its workflow says."),
    ("wait", "not_waiting"): N_(
        "A wait of this chat belongs to an execution that is not waiting (%(status)s)."
    ),
    ("workflow", "filter_false"): N_("%(priority)s. %(name)s: its filters do not match."),
    ("workflow", "ignored_kind"): N_("%(priority)s. %(name)s: this kind of message does not start it."),
    ("workflow", "already_active"): N_(
        "%(priority)s. %(name)s: matches, but already has an active execution of this contact."
    ),
    ("workflow", "cooldown"): N_(
        "%(priority)s. %(name)s: matches, but its last execution for this contact ended too recently."
    ),
    ("workflow", "too_old"): N_(
        "%(priority)s. %(name)s: matches, but the message is too old to start anything."
    ),
    ("workflow", "does_not_compile"): N_(
        "%(priority)s. %(name)s: its version breaks a rule of this release; publish it again."
    ),
    ("workflow", "started"): N_("%(priority)s. %(name)s: matches, and started an execution."),
    ("workflow", "lower_priority"): N_("%(priority)s. %(name)s: comes after the one that started."),
}

GROUPS = {
    "all": N_("all of these hold"),
    "any": N_("at least one of these holds"),
    "not": N_("this does not hold"),
}


def event_text(kind: str, data: Mapping[str, Any]) -> str:
    """What an event says."""
    template = EVENTS.get(kind)
    if template is None:
        return kind
    return _filled(
        template, {**data, "by": _(RESUMED_BY.get(str(data.get("by")), N_("something else happened")))}
    )


def trace_text(item: Mapping[str, Any]) -> str:
    """What was looked at while a message was routed, and what was found."""
    template = TRACES.get((str(item.get("look")), str(item.get("verdict"))))
    if template is None:
        named = item.get("name") or item.get("look")
        return f"{named}: {item.get('verdict')}"
    return _filled(template, item)


def condition_text(node: Mapping[str, Any]) -> str:
    """A condition of a filter with what it saw, or what a group asks of its parts."""
    group = GROUPS.get(str(node.get("kind")))
    if group is not None:
        return _(group)
    wanted = json.dumps(node["value"], ensure_ascii=False) if "value" in node else ""
    seen = _("missing") if node.get("missing") else json.dumps(node.get("seen"), ensure_ascii=False)
    asked = " ".join(part for part in (str(node.get("field")), str(node.get("operator")), wanted) if part)
    return _("%(condition)s (seen: %(seen)s)") % {"condition": asked, "seen": seen}


def advice(status: str, reason: str) -> str:
    """One sentence on what is happening and one on what to do next; the reason's where there is one."""
    found = REASONS.get(reason) or REASONS.get(status)
    if found is None:
        return str(Status(status).label)
    return f"{_(found.cause)} {_(found.next_step)}"


def actor_text(actor: str) -> str:
    """Who did it: the engine, the clock, a message, a key, a person."""
    kind, _colon, name = actor.partition(":")
    return _filled(ACTORS[kind], {"name": name}) if kind in ACTORS else actor


def moment(value: datetime | None) -> str:
    """A time in the entity's zone, to the second."""
    return "" if value is None else date_format(timezone.localtime(value), "Y-m-d H:i:s")


def moment_cell(value: datetime | None) -> SafeString:
    """`moment` for a column of a list, on one line."""
    return format_html('<span class="whitespace-nowrap">{}</span>', moment(value))


def duration(seconds: float) -> str:
    """Two units at most: `240 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


class _Values(dict[str, str]):
    """A stored event may lack a value that its sentence names: shown as a dash, never as an error."""

    def __missing__(self, key: str) -> str:
        return "—"


def _filled(template: str, values: Mapping[str, Any]) -> str:
    return _(template) % _Values({key: _plain(value) for key, value in values.items()})


def _plain(value: Any) -> str:
    if isinstance(value, str) and len(value) > 18 and value[4:5] == "-":
        at = parse_datetime(value)
        return moment(at) if at is not None else value
    return str(value)
