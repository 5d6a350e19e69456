"""python-liquid's environment, less what loads, writes HTML or cannot be bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liquid import Environment
from liquid.template import BoundTemplate
from markupsafe import Markup

from workflows.templating.library import OWN, REMOVED
from workflows.templating.rendering import MAX_LOCALS, MAX_LOOP, Context, Nothing
from workflows.templating.stringify import (
    MAX_OUTPUT,
    JsonText,
    escape_html,
    escape_json,
    to_text,
)
from workflows.templating.tags import (
    CountedForTag,
    EscapedCaptureTag,
    PrintEchoTag,
    PrintTag,
)


class Template(BoundTemplate):
    """A parsed template; `weight` stands for the work of passing once through a loop body."""

    context_class = Context
    weight = 1


class Sandbox(Environment):
    """One environment for each destination."""

    block_nesting_limit = 20
    context_depth_limit = 25
    loop_iteration_limit = MAX_LOOP
    local_namespace_limit = MAX_LOCALS
    output_stream_limit = MAX_OUTPUT
    shorthand_indexes = True
    string_first_and_last = True
    template_class = Template

    def __init__(self, destination: str) -> None:
        self.escape: Callable[[Any], str] = {"text": to_text, "html": escape_html, "json": escape_json}[
            destination
        ]
        self.captured: Callable[[str], str] = {"text": str, "html": Markup, "json": JsonText}[destination]
        super().__init__(undefined=Nothing, autoescape=destination == "html")

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Liquid's own, less what loads templates, writes HTML or cannot be bounded."""
        super().setup_tags_and_filters(extra=False)
        for tag in ("include", "render", "tablerow"):
            del self.tags[tag]
        for replaced in (PrintTag, PrintEchoTag, EscapedCaptureTag, CountedForTag):
            self.add_tag(replaced)
        for name in REMOVED:
            del self.filters[name]
        for name, call in OWN.items():
            self.add_filter(name, call)
