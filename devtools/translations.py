"""Catalogues without gettext's tools: compiled (`python -m devtools.translations`), checked, updated."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from boostflow.env import ROOT
from devtools.vendor_texts import django_catalogues, unfold_files

SOURCES = ("boostflow", "workflows", "actions", "pipelines", "triggers")
TEMPLATES = ("templates", "workflows", "pipelines")
LANGUAGES = ("es", "en")
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "N_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}


def catalogue_path(language: str, root: Path = ROOT) -> Path:
    """Where a language's catalogue is."""
    return root / "locale" / language / "LC_MESSAGES" / "django.po"


def compile_all(root: Path = ROOT) -> None:
    """Write each `.mo` that is older than its `.po`."""
    for source in sorted((root / "locale").glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        temporary = target.with_suffix(".mo.new")
        with temporary.open("wb") as output:
            write_mo(output, _read(source))
        temporary.replace(target)


def problems(root: Path = ROOT) -> list[str]:
    """What the catalogues lack: a line each. English may leave one empty, the msgid being it."""
    template = collect(root)
    found = []
    for language in LANGUAGES:
        path = catalogue_path(language, root)
        catalogue = _read(path, language) if path.exists() else Catalog(locale=language)
        for message in template:
            if not message.id:
                continue
            known = catalogue.get(message.id, context=message.context)
            if known is None:
                found.append(f"{language}: missing {_shown(message)}")
            elif known.fuzzy or (language != "en" and not _translated(known)):
                found.append(f"{language}: not translated {_shown(message)}")
    return found


def update(root: Path = ROOT) -> None:
    """Add the new texts to each catalogue and take out those that no source has."""
    template = collect(root)
    for language in LANGUAGES:
        path = catalogue_path(language, root)
        path.parent.mkdir(parents=True, exist_ok=True)
        catalogue = _read(path, language) if path.exists() else Catalog(locale=language, project="boostflow")
        catalogue.update(template, no_fuzzy_matching=True, update_creation_date=False)
        catalogue.obsolete.clear()
        catalogue.fuzzy = False
        catalogue.header_comment = f"# boostflow, {catalogue.locale_identifier}"
        with path.open("wb") as output:
            write_po(output, catalogue, width=110, sort_by_file=True, omit_header=False, include_lineno=False)


def collect(root: Path = ROOT) -> Catalog:
    """Every text of Python sources and Django templates."""
    catalogue = Catalog(project="boostflow")
    for path, text in _texts(root):
        for _line, message, _comments, context in extract("python", io.BytesIO(text), KEYWORDS):
            catalogue.add(message, locations=[(str(path.relative_to(root)), 0)], context=context)
    if root == ROOT:
        _add_vendor_texts(catalogue)
    return catalogue


def _add_vendor_texts(catalogue: Catalog) -> None:
    known = django_catalogues()
    for path in unfold_files():
        source = path.read_bytes() if path.suffix == ".py" else _calls(path)
        for _line, message, _comments, context in extract("python", io.BytesIO(source), KEYWORDS):
            text = message if isinstance(message, str) else message[0]
            if text and all(catalogue_of.gettext(text) == text for catalogue_of in known):
                catalogue.add(message, locations=[("django-unfold", 0)], context=context)


def _texts(root: Path) -> Iterator[tuple[Path, bytes]]:
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            yield path, path.read_bytes()
    for folder in TEMPLATES:
        for pattern in ("*.html", "*.txt"):
            for path in sorted((root / folder).rglob(pattern)):
                yield path, _calls(path)


def _calls(path: Path) -> bytes:
    """A template as Python calls, without the indentation that Python would refuse."""
    calls = templatize(path.read_text(encoding="utf-8"), origin=str(path))
    return "\n".join(line.strip() for line in calls.splitlines()).encode()


def _read(path: Path, language: str | None = None) -> Catalog:
    with path.open("rb") as source:
        return read_po(source, locale=language or path.parent.parent.name)


def _shown(message: Message) -> str:
    text = message.id if isinstance(message.id, str) else message.id[0]
    where = ", ".join(sorted({location[0] for location in message.locations}))
    return f"{text!r} ({where})"


def _translated(message: Message) -> bool:
    strings = [message.string] if isinstance(message.string, str) else list(message.string or ())
    return bool(strings) and all(strings)


def main() -> int:
    """Compile, check or update."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="say what the catalogues lack")
    mode.add_argument("--update", action="store_true", help="add new texts, remove old ones")
    options = parser.parse_args()
    if options.update:
        update()
    if options.check:
        lacking = problems()
        print("\n".join(lacking) or "The catalogues are complete.")
        return 1 if lacking else 0
    compile_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
