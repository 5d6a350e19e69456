"""A reason that is given and not listed is found; this project gives none."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.reasons import given, problems


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        ('raise PermanentFailure("x", reason="made_up")', ["made_up"]),
        ('GiveUp("made_up")', ["made_up"]),
        ('pauses.halt(turn, "poisoned", error)', ["poisoned"]),
        ('acts.cancel(reason="withdrawn")', []),
        ("GiveUp(reason)", []),
    ],
)
def test_reasons_that_a_module_gives(source: str, codes: list[str]) -> None:
    assert [code for _line, code in given(source)] == codes


def test_an_unlisted_reason_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "actions").mkdir()
    (tmp_path / "actions" / "odd.py").write_text('x = 1\nGiveUp("made_up")\n')
    assert problems(tmp_path) == ["actions/odd.py:2: made_up stands in no list of reasons"]


def test_this_project_lists_every_reason() -> None:
    assert problems() == []
