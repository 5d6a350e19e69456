"""The texts of django-unfold, which brings no catalogue, as far as Django itself has no Spanish for them."""

from __future__ import annotations

from collections.abc import Iterator
from gettext import GNUTranslations
from importlib.util import find_spec
from pathlib import Path

UNUSED = ("contrib", "layout.py", "datasets.py", "sections.py", "components.py")
"""Parts of django-unfold that no page of ours uses; of `contrib` the filters are."""
DJANGO_CATALOGUES = ("conf", "contrib/admin", "contrib/auth")


def unfold_files() -> Iterator[Path]:
    """Sources and templates of the installed django-unfold that our pages use."""
    base = _package("unfold")
    for path in sorted(base.rglob("*")):
        inside = path.relative_to(base).parts
        if path.suffix in (".py", ".html") and (
            inside[0] not in UNUSED or inside[:2] == ("contrib", "filters")
        ):
            yield path


def django_catalogues() -> list[GNUTranslations]:
    """Django's Spanish texts of its core, admin and auth."""
    catalogues = []
    for part in DJANGO_CATALOGUES:
        with (_package("django") / part / "locale" / "es" / "LC_MESSAGES" / "django.mo").open("rb") as source:
            catalogues.append(GNUTranslations(source))
    return catalogues


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed.")
    return Path(spec.origin).parent
