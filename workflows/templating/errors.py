"""What can be wrong with a template, when it is saved and when it is rendered."""

from __future__ import annotations

from typing import Any

from workflows.errors import N_, WorkflowError


class TemplateSyntaxProblem(WorkflowError):
    """The text is no valid template. `line` and `column` count from 1."""

    code = "template_syntax"
    status = 422
    title = N_("The template cannot be read.")

    def __init__(self, detail: str, *, line: int, column: int) -> None:
        super().__init__(detail, line=line, column=column)
        self.line = line
        self.column = column


class TemplateProblem(WorkflowError):
    """Rendering failed. `path` is the path without a value, if that is why; `message` the sentence."""

    code = "template_error"
    status = 422
    title = N_("The template could not be rendered.")

    def __init__(self, msgid: str, *, path: str | None = None, **params: Any) -> None:
        self.msgid = msgid
        self.params = params if path is None else {"path": path, **params}
        self.path = path
        self.message = msgid % self.params
        super().__init__(self.message, path=path)
