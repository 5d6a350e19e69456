"""The page of rules: what is read, what is refused, what is written, with a forged project."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools import rules

ROOT = Path(__file__).parents[2]
HELD = 'text = "Said."\nenforced = ["engine.py:guard"]\ndue = true\n'
LATER = 'text = "Said."\nenforced = []\ndue = false\nnote = "Still to come."\n'
TEST = 'import pytest\n\n\n@pytest.mark.rule("{rule}")\ndef test_it() -> None:\n    assert True\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A sound project: G1 is due and has a test, all others are still to come."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "engine.py").write_text("def guard() -> None: ...\n")
    write_rules(tmp_path, G1=HELD)
    write_test(tmp_path, TEST.format(rule="G1"))
    assert rules.main([], tmp_path) == 0
    return tmp_path


def write_rules(project: Path, *left_out: str, **changed: str) -> None:
    texts = {name: changed.get(name, LATER) for name in (*rules.KNOWN, *changed) if name not in left_out}
    (project / "docs/rules.toml").write_text("".join(f"[{name}]\n{text}\n" for name, text in texts.items()))


def write_test(project: Path, source: str) -> None:
    (project / "tests/test_made.py").write_text(source)


def wrong(project: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `--check` says of a page that was just written."""
    rules.main([], project)
    capsys.readouterr()
    code = rules.main(["--check"], project)
    lines = capsys.readouterr().err.splitlines()
    assert code == (1 if lines else 0)
    return lines


def test_a_sound_project_passes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong(project, capsys) == []
    page = (project / "docs/rules.md").read_text()
    assert '| <a id="g1"></a>G1 | Said. | `engine.py:guard` | `tests/test_made.py::test_it` |' in page
    assert '| <a id="g2"></a>G2 | Said. *Still to come.* |  |  |' in page


def test_a_stale_page_is_told_and_left(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_test(project, TEST.format(rule="G1").replace("test_it", "test_other"))
    before = (project / "docs/rules.md").read_text()
    assert rules.main(["--check"], project) == 1
    assert capsys.readouterr().err == "docs/rules.md: is stale; python -m devtools.rules writes it again\n"
    assert (project / "docs/rules.md").read_text() == before


def test_a_missing_page_is_stale(project: Path) -> None:
    (project / "docs/rules.md").unlink()
    assert rules.main(["--check"], project) == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "G1: is due and has no test"),
        (
            TEST.format(rule="G1") + TEST.format(rule="G9"),
            "tests/test_made.py::test_it: marks G9, which is no rule",
        ),
        (
            TEST.format(rule="G1") + TEST.format(rule="5"),
            "tests/test_made.py::test_it: marks 5, which is no rule",
        ),
        (
            TEST.format(rule="G1").replace("test_it", "helper"),
            "tests/test_made.py:4: the mark G1 stands on no test",
        ),
        (
            TEST.format(rule="G1").replace('"G1"', '"G" + "1"'),
            "tests/test_made.py:4: a rule mark has one literal text",
        ),
        (
            TEST.format(rule="G1").replace('"G1"', '"G1", "G2"'),
            "tests/test_made.py:4: a rule mark has one literal text",
        ),
        (
            TEST.format(rule="G1") + 'CASES = [pytest.param(1, marks=pytest.mark.rule("G2"))]\n',
            "tests/test_made.py:7: the mark G2 stands on no test",
        ),
    ],
)
def test_marks_that_hold_nothing_are_told(
    project: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    write_test(project, source)
    assert said in wrong(project, capsys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HELD.replace("guard", "gate"), "G1: there is no engine.py:gate"),
        (HELD.replace("engine.py", "motor.py"), "G1: there is no motor.py:guard"),
        (HELD.replace('["engine.py:guard"]', "[]"), "G1: is due and enforced nowhere"),
        (HELD.replace("Said.", ""), "G1: needs a text, and due = true or false"),
        (HELD.replace("true", '"soon"'), "G1: needs a text, and due = true or false"),
        (LATER.replace("Still to come.", ""), "G1: is not due and has no note on what is still to come"),
        (HELD + "issue = 3\n", "G1: unknown field issue"),
    ],
)
def test_wrong_rules_are_told(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    write_rules(project, G1=text)
    assert said in wrong(project, capsys)


def test_every_rule_and_no_other_is_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rules(project, "T3", G1=HELD, X1=LATER)
    assert wrong(project, capsys) == ["T3: is missing", "X1: is no rule"]


def test_marks_of_modules_classes_and_parameters_count(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    write_test(
        tmp_path,
        """
pytestmark = [pytest.mark.timeout(9), pytest.mark.rule("G1")]

@pytest.mark.rule("G2")
class TestMany:
    @pytest.mark.parametrize("value", [pytest.param(1, marks=pytest.mark.rule("G3"))])
    def test_one(self, value): ...
    def help(self): ...

async def test_two(): ...
""",
    )
    marks, unread = rules.collect_marks(tmp_path / "tests", tmp_path)
    one, two = "tests/test_made.py::TestMany::test_one", "tests/test_made.py::test_two"
    assert unread == []
    assert {(mark.rule, mark.test) for mark in marks} == {("G1", one), ("G1", two), ("G2", one), ("G3", one)}


def test_a_mark_in_a_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    write_test(tmp_path, "TEXT = 'pytest.mark.rule(\"G1\")'\n")
    assert rules.collect_marks(tmp_path / "tests", tmp_path) == ([], [])


def test_this_projects_own_file_is_sound() -> None:
    read, found = rules.read_rules((ROOT / rules.SOURCE).read_text())
    assert found == []
    assert len(read) == 75
    assert list(rules.broken_places(read.values(), ROOT)) == []
