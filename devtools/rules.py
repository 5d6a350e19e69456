"""The rules, where they are held and by which tests: `python -m devtools.rules` writes docs/rules.md or checks it."""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from boostflow.env import ROOT

SOURCE, PAGE = Path("docs/rules.toml"), Path("docs/rules.md")
COUNTS = {"G": 6, "T": 6, "S": 6, "A": 16, "F": 4, "decision-": 37}
KNOWN = tuple(f"{family}{number}" for family, last in COUNTS.items() for number in range(1, last + 1))
FIELDS = {"text", "enforced", "due", "note"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule or decision; `enforced` has `file:name` entries."""

    id: str
    text: str
    enforced: tuple[str, ...]
    due: bool
    note: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A test (`file::name`) that says which rule it holds."""

    rule: str
    test: str


def read_rules(text: str) -> tuple[dict[str, Rule], list[str]]:
    """The rules in the file's order, and what is wrong with it."""
    rules: dict[str, Rule] = {}
    wrong: list[str] = []
    for name, raw in tomllib.loads(text).items():
        unknown = set(raw) - FIELDS
        rule = Rule(
            name, raw.get("text", ""), tuple(raw.get("enforced", ())), raw.get("due"), raw.get("note", "")
        )
        rules[name] = rule
        wrong += [f"{name}: unknown field {field}" for field in sorted(unknown)]
        if not rule.text or not isinstance(rule.due, bool):
            wrong.append(f"{name}: needs a text, and due = true or false")
        if rule.due and not rule.enforced:
            wrong.append(f"{name}: is due and enforced nowhere")
        if rule.due is False and not rule.note:
            wrong.append(f"{name}: is not due and has no note on what is still to come")
    wrong += [f"{name}: is missing" for name in KNOWN if name not in rules]
    wrong += [f"{name}: is no rule" for name in rules if name not in KNOWN]
    return rules, wrong


def broken_places(rules: Iterable[Rule], root: Path) -> Iterator[str]:
    """`enforced` entries whose file is gone or no longer has the name."""
    for rule in rules:
        for place in rule.enforced:
            path, _colon, name = place.partition(":")
            file = root / path
            if not file.is_file() or not re.search(rf"\b{re.escape(name)}\b", file.read_text()):
                yield f"{rule.id}: there is no {place}"


def collect_marks(tests: Path, root: Path) -> tuple[list[Mark], list[str]]:
    """Every `pytest.mark.rule("…")` below a directory, and the marks that cannot be read."""
    marks: list[Mark] = []
    wrong: list[str] = []
    for file in sorted(tests.rglob("*.py")):
        name = file.relative_to(root).as_posix()
        for rule, test, line in _marks_of(ast.parse(file.read_text(), name)):
            if rule is None:
                wrong.append(f"{name}:{line}: a rule mark has one literal text")
            elif not test:
                wrong.append(f"{name}:{line}: the mark {rule} stands on no test")
            else:
                marks += [Mark(rule, f"{name}::{each}") for each in test]
    return marks, wrong


def _marks_of(module: ast.Module) -> Iterator[tuple[str | None, list[str], int]]:
    """Rule, tests and line of each mark; those of a module or class hold for all its tests."""
    seen: set[int] = set()
    for name, node in _definitions(module, ""):
        for decorator in node.decorator_list:
            for call in _rule_calls(decorator):
                seen.add(id(call))
                yield _rule_of(call), _tests(node, name), call.lineno
    everything = [
        test for name, top in _definitions(module, "") if "::" not in name for test in _tests(top, name)
    ]
    for statement in module.body:
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and "pytestmark" in ast.unparse(statement).split("=")[0]
        ):
            for call in _rule_calls(statement):
                seen.add(id(call))
                yield _rule_of(call), everything, call.lineno
    for call in _rule_calls(module):
        if id(call) not in seen:
            yield _rule_of(call), [], call.lineno


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in node.body:
        if isinstance(child, Definition):
            yield prefix + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{prefix}{child.name}::")


def _tests(node: ast.AST, name: str) -> list[str]:
    """The tests that a function or class is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [name] if node.name.startswith("test_") else []
    if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
        return [test for inner, child in _definitions(node, f"{name}::") for test in _tests(child, inner)]
    return []


def _rule_calls(node: ast.AST) -> Iterator[ast.Call]:
    for found in ast.walk(node):
        if isinstance(found, ast.Call) and ast.unparse(found.func).endswith("mark.rule"):
            yield found


def _rule_of(call: ast.Call) -> str | None:
    match call.args, call.keywords:
        case [ast.Constant(value=str(rule))], []:
            return rule
    return None


def render(rules: Mapping[str, Rule], marks: Iterable[Mark]) -> str:
    """The page."""
    tests: dict[str, set[str]] = defaultdict(set)
    for mark in marks:
        tests[mark.rule].add(mark.test)
    due = [rule for rule in rules.values() if rule.due]
    later = [rule for rule in rules.values() if not rule.due]
    parts = [
        "# Rules",
        "Written by `python -m devtools.rules` from `docs/rules.toml` and the marks of the tests; `make check` "
        "fails when it is out of date, when a rule of this release has no test, or when a mark names no rule.",
        "G, T, S, A and F are the product's rules for workflows, triggers, steps, actions and the flow between "
        "steps; the decisions settle what these leave open.",
        "## Held by this release",
        _table(due, tests),
        "## Still to come",
        "What of these is built already is held by the tests named here; the note says what is missing.",
        _table(later, tests),
    ]
    return "\n\n".join(parts) + "\n"


def _table(rules: Iterable[Rule], tests: Mapping[str, set[str]]) -> str:
    lines = ["| rule | what it says | where it is held | tests |", "|---|---|---|---|"]
    for rule in rules:
        text = f"{rule.text} *{rule.note}*" if rule.note else rule.text
        held = "<br>".join(f"`{place}`" for place in rule.enforced)
        by = "<br>".join(f"`{test}`" for test in sorted(tests.get(rule.id, ())))
        cells = (f'<a id="{rule.id.lower()}"></a>{rule.id}', text, held, by)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def examine(root: Path) -> tuple[str, list[str]]:
    """The page as it should be, and everything that is wrong but its being stale."""
    rules, wrong = read_rules((root / SOURCE).read_text())
    marks, unread = collect_marks(root / "tests", root)
    wrong += unread
    wrong += broken_places(rules.values(), root)
    wrong += sorted(
        {f"{mark.test}: marks {mark.rule}, which is no rule" for mark in marks if mark.rule not in rules}
    )
    held = {mark.rule for mark in marks}
    wrong += [
        f"{rule.id}: is due and has no test" for rule in rules.values() if rule.due and rule.id not in held
    ]
    return render(rules, marks), wrong


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the page, or with --check say what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m devtools.rules", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on anything wrong or stale")
    check = parser.parse_args(arguments).check
    page, wrong = examine(root)
    present = root / PAGE
    if not check:
        present.write_text(page)
    elif not present.exists() or present.read_text() != page:
        wrong.append(f"{PAGE}: is stale; python -m devtools.rules writes it again")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
