"""Who may read across entities (G6)."""

import ast
from pathlib import Path

import pytest

from boostflow.env import ROOT

ALLOWED = {"workflows/integrity.py", "workflows/selectors/fleet.py", "workflows/services/sweeps.py"}
FOLDERS = ("boostflow", "workflows", "actions", "pipelines", "triggers")


def names_fleet(source: str) -> bool:
    """Whether a module imports or reaches `tenancy.fleet`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="workflows.tenancy", names=names):
                if any(alias.name in ("fleet", "*") for alias in names):
                    return True
            case ast.Attribute(attr="fleet"):
                return True
    return False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from workflows.tenancy import fleet", True),
        ("from workflows.tenancy import entity, fleet as f", True),
        ("from workflows import tenancy\nwith tenancy.fleet('x'): ...", True),
        ("from workflows.tenancy import entity", False),
    ],
)
def test_the_search_finds_each_way(source: str, expected: bool) -> None:
    assert names_fleet(source) is expected


@pytest.mark.rule("G6")
def test_only_listed_modules_read_across_entities() -> None:
    users = {
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in Path(ROOT / folder).rglob("*.py")
        if names_fleet(path.read_text())
    }
    assert users - {"workflows/tenancy.py"} <= ALLOWED
