"""The accumulated data of an automation: it grows and is never replaced (G4, decision 20)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.errors import N_, WorkflowError
from workflows.paths import MISSING, find, parse_path

MAX_CONTEXT_BYTES: Final = 262_144
"""Of the whole context as UTF-8 JSON."""

RESERVED_ROOTS: Final = frozenset(
    ("trigger", "contact", "chat", "message", "input", "reply", "replies", "workflow", "entity")
)
OUTPUT_ROOTS: Final = frozenset(("comms", "crm", "notification", "zauru"))

Document = Mapping[str, Any]
Delta = Mapping[str, Mapping[str, Any]]
"""What one action added: `{category: {output key: output}}`."""


class ContextTooLarge(WorkflowError):
    """The context would pass 256 KiB; `size` is what it would be."""

    code = "context_too_large"
    status = 422
    title = N_("The data of this execution would become too large.")


class ReservedRoot(WorkflowError):
    """An output claims a place that is not an action's: a programming error."""

    code = "reserved_root"
    status = 500
    title = N_("An output cannot replace this part of the context.")


@dataclass(frozen=True, slots=True)
class Context:
    """The document and an upper bound of its size, in bytes.

    The bound grows with each change and is measured again only when it reaches the limit.
    """

    document: Document
    bound: int

    def check(self) -> None:
        """Raise `ContextTooLarge` where the document, as it was opened, is over the limit."""
        _sized(self.document, self.bound)

    def lookup(self, path: str) -> Any:
        """The value at `contact.tags.0`, or MISSING; a leading `context.` is dropped."""
        try:
            return find(self.document, parse_path(path))
        except ValueError:
            return MISSING


def open_context(document: Document, bound: int | None = None) -> Context:
    """From a stored document; measures it unless its bound was stored with it."""
    return Context(document, measure(document) if bound is None else bound)


def measure(value: Any) -> int:
    """Bytes as UTF-8 JSON without spaces."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))


def merge_output(context: Context, category: str, key: str, output: Any) -> Delta:
    """The delta by which an action's output joins the context. ReservedRoot for any place but an action's."""
    if category not in OUTPUT_ROOTS or not isinstance(context.document.get(category, {}), Mapping):
        raise ReservedRoot(root=category)
    return {category: {key: output}}


def apply_delta(context: Context, delta: Delta) -> Context:
    """A new context with the outputs of a delta; a later visit of an action overwrites its earlier output.

    ContextTooLarge when it passes the limit, ReservedRoot when the delta is no output's.
    """
    document = dict(context.document)
    for root, outputs in delta.items():
        if root not in OUTPUT_ROOTS or not isinstance(outputs, Mapping):
            raise ReservedRoot(root=root)
        document[root] = {**document.get(root, {}), **outputs}
    return _sized(document, context.bound + measure(delta))


def add_output(context: Context, category: str, key: str, output: Any) -> Context:
    """The context with an action's output; what `flow.*` gives is a note on its step run and no data (A2, A8)."""
    if category == "flow":
        return context
    return apply_delta(context, merge_output(context, category, key, output))


def merge_reply(context: Context, reply: Mapping[str, Any]) -> Context:
    """A reply becomes `reply` and joins `replies`; a time-out or failed delivery only becomes `reply`."""
    replies = list(context.document.get("replies", ()))
    if not (reply.get("timed_out") or reply.get("delivery_failed")):
        replies.append(dict(reply))
    document = {**context.document, "reply": dict(reply), "replies": replies}
    return _sized(document, context.bound + 2 * measure(reply) + len('"reply":,"replies":[],,'))


def merge_facts(context: Context, facts: Mapping[str, Any]) -> Context:
    """The engine's and the event's own roots, such as `contact` and `message` of each inbound event."""
    for root in facts:
        if root not in RESERVED_ROOTS:
            raise ReservedRoot(root=root)
    return _sized({**context.document, **facts}, context.bound + measure(facts))


def with_visits(context: Context, visits: Mapping[str, int]) -> Context:
    """`workflow.step_visits` as the counters stand; the rest of `workflow` stays."""
    workflow = {**context.document.get("workflow", {}), "step_visits": dict(visits)}
    return merge_facts(context, {"workflow": workflow})


def _sized(document: Document, bound: int) -> Context:
    if bound > MAX_CONTEXT_BYTES:
        bound = measure(document)
        if bound > MAX_CONTEXT_BYTES:
            raise ContextTooLarge(size=bound, limit=MAX_CONTEXT_BYTES)
    return Context(document, bound)
