"""Liquid's tags where their printing, capturing or looping must be ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from liquid.ast import Node
from liquid.builtin.expressions import LoopExpression
from liquid.builtin.output import Output, OutputNode
from liquid.builtin.tags.capture_tag import CaptureNode, CaptureTag
from liquid.builtin.tags.echo_tag import EchoTag
from liquid.builtin.tags.for_tag import ForNode, ForTag
from liquid.context import RenderContext
from liquid.stream import TokenStream

from workflows.errors import N_
from workflows.templating.errors import TemplateProblem
from workflows.templating.rendering import Nothing


class _Output(OutputNode):
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        value = self.expression.evaluate(context)
        if value is None:
            raise TemplateProblem(
                N_("%(path)s has no value and the template gives no default."), path=self.name
            )
        if isinstance(value, Nothing):
            raise value.problem()
        text = context.env.escape(value)  # type: ignore[attr-defined]
        context.charge(1 + len(text) // 16)  # type: ignore[attr-defined]
        return buffer.write(text)

    @property
    def name(self) -> str:
        """What stands between the braces."""
        return str(self.expression) or "nil"


class PrintTag(Output):
    """`{{ … }}`."""

    node_class = _Output


class PrintEchoTag(EchoTag):
    """`{% echo … %}`."""

    node_class = _Output  # type: ignore[assignment]


class _Capture(CaptureNode):
    def _assign(self, context: RenderContext, buf: Any) -> None:
        context.assign(self.name, context.env.captured(buf.getvalue()))  # type: ignore[attr-defined]


class EscapedCaptureTag(CaptureTag):
    """`{% capture %}`: what was escaped once is not escaped again."""

    node_class = _Capture


class _Loop(LoopExpression):
    """Counts the items before python-liquid copies them, as it does for `reversed`."""

    __slots__ = ()

    def _to_iter(self, obj: object, context: RenderContext) -> tuple[Iterator[Any], int]:
        items, length = super()._to_iter(obj, context)
        context.charge(length * context.weight)  # type: ignore[attr-defined]
        return items, length


class CountedForTag(ForTag):
    """`{% for %}` with counted items."""

    def parse(self, stream: TokenStream) -> Node:
        node = super().parse(stream)
        if isinstance(node, ForNode):
            loop = node.expression
            node.expression = _Loop(
                loop.token,
                loop.identifier,
                loop.iterable,
                limit=loop.limit,
                offset=loop.offset,
                reversed_=loop.reversed,
                cols=loop.cols,
            )
        return node
