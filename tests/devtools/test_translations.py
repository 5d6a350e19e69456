"""Catalogues: collected, compiled, found lacking."""

import gettext
from pathlib import Path

import pytest

from devtools import translations


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "a.py").write_text('title = N_("Stopped.")\n')
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.html").write_text(
        "{% load i18n %}\n  <p>it's {% translate 'Hello' %}</p>\n"
        "{% blocktranslate count n=n %}one{% plural %}{{ n }} of them{% endblocktranslate %}\n"
    )
    translations.update(tmp_path)
    return tmp_path


def test_texts_of_sources_and_templates_are_collected(root: Path) -> None:
    assert {message.id for message in translations.collect(root) if message.id} == {
        "Stopped.",
        "Hello",
        ("one", "%(n)s of them"),
    }


def test_only_spanish_lacks_translations_after_an_update(root: Path) -> None:
    assert translations.problems(root) == [
        "es: not translated 'Stopped.' (workflows/a.py)",
        "es: not translated 'Hello' (templates/a.html)",
        "es: not translated 'one' (templates/a.html)",
    ]


def test_a_text_that_no_catalogue_has_is_missing_in_each(root: Path) -> None:
    (root / "workflows" / "a.py").write_text('title = N_("Stopped.") + N_("New.")\n')
    missing = [line for line in translations.problems(root) if "missing" in line]
    assert missing == ["es: missing 'New.' (workflows/a.py)", "en: missing 'New.' (workflows/a.py)"]


def test_a_compiled_catalogue_translates(root: Path) -> None:
    path = translations.catalogue_path("es", root)
    path.write_text(path.read_text().replace('msgid "Hello"\nmsgstr ""', 'msgid "Hello"\nmsgstr "Hola"'))
    translations.compile_all(root)
    with path.with_suffix(".mo").open("rb") as compiled:
        assert gettext.GNUTranslations(compiled).gettext("Hello") == "Hola"
