"""`python -m devtools.reasons`: every reason that the code gives stands in the list of reasons, with its texts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from workflows.reasons import REASONS

ROOT = Path(__file__).resolve().parent.parent
TREES = ("actions", "boostflow", "pipelines", "triggers", "workflows")
GIVERS = frozenset({"Failure", "GiveUp", "Halt", "Refusal", "halt", "outcome_unknown"})
"""Calls whose texts are reasons, besides every argument of the name `reason`."""

FREE = frozenset({"cancel_execution", "resume_execution", "retry_wait", "cancel", "resume", "end_waits"})
"""Calls whose `reason` is a person's sentence."""


def given(source: str) -> Iterator[tuple[int, str]]:
    """Line and code of each reason that a module gives as a literal."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        named = [word.value for word in node.keywords if word.arg == "reason" and name not in FREE]
        for value in (*named, *(node.args if name in GIVERS else ())):
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                yield value.lineno, value.value


def problems(root: Path = ROOT) -> list[str]:
    """Reasons without an entry in `workflows/reasons.py`, with their places."""
    found = []
    for tree in TREES:
        for path in sorted((root / tree).rglob("*.py")):
            for line, code in given(path.read_text()):
                if code not in REASONS:
                    found.append(f"{path.relative_to(root)}:{line}: {code} stands in no list of reasons")
    return found


def main() -> int:
    """1 with a line for each that is missing."""
    found = problems()
    print("\n".join(found) or "Every reason has its texts.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
