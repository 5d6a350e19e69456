"""What README and docs say is so: links, definitions, variables, targets, commands, operators, reasons, endpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from django.core.management import get_commands
from django.urls import resolve, reverse

from boostflow.env import Environment
from workflows.api.auth import RANKS
from workflows.api.message_model import MessageIn
from workflows.api.urls import urlpatterns
from workflows.contracts import action_registry, trigger_registry
from workflows.definitions.automation import read_automation
from workflows.filters.base import operator_registry
from workflows.integrity import CHECKS
from workflows.models import MessageOutcome, Role
from workflows.reasons import REASONS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
PAGE_IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```json\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
COMPOSE_ONLY = {"ADMIN_PASSWORD", "OWNER_PASSWORD", "APP_PASSWORD"}
LATER_OUTCOMES = {"opted_out"}


def text(name: str) -> str:
    return (ROOT / name).read_text()


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of the tables whose first cell is `header`."""
    found: list[list[str]] = []
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        inside = bool(cells) and (inside or cells[0] == header)
        if inside and cells[0] != header and set(cells[0]) - set("-"):
            found.append(cells)
    return found


def fences() -> list[tuple[str, object]]:
    return [
        (f"{page.relative_to(ROOT).as_posix()}:{number}", json.loads(body))
        for page in PAGES
        for number, body in enumerate(FENCE.findall(page.read_text()), start=1)
    ]


def definitions() -> list[tuple[str, object]]:
    return [
        (name, value)
        for name, value in fences()
        if isinstance(value, dict) and "kind" in value and "steps" in value
    ]


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if link.startswith("https://"):
            continue
        path, _hash, fragment = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if fragment:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert fragment in {anchor(heading) for heading in headings}, link


def test_the_pages_are_there_and_name_each_other() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/rules.md", "docs/api.md"} <= set(PAGE_IDS)
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(page.read_text())
    }
    assert [
        name for name, page in zip(PAGE_IDS, PAGES, strict=True) if page not in linked and name != "README.md"
    ] == []


@pytest.mark.parametrize(("name", "document"), definitions(), ids=[name for name, _ in definitions()])
def test_definitions_are_valid_without_a_warning(name: str, document: object) -> None:
    reading = read_automation(document)
    assert (reading.violations, reading.warnings) == ((), ())


def test_readme_and_definitions_each_show_a_definition() -> None:
    assert {name.partition(":")[0] for name, _ in definitions()} == {"README.md", "docs/definitions.md"}


def test_the_shown_message_is_one() -> None:
    messages = [value for _, value in fences() if isinstance(value, dict) and "message_id" in value]
    assert len(messages) == 1
    assert MessageIn.model_validate(messages[0]).extras() == {}


def test_variables_are_those_that_are_read() -> None:
    known = {name.upper() for name in Environment.model_fields}
    table = {cells[0].strip("`"): cells[1:] for cells in rows(text("README.md"), "variable")}
    assert set(table) == known
    for name, field in Environment.model_fields.items():
        assert table[name.upper()][1] == field.description
    named = {
        code
        for page in PAGES
        for code in CODE.findall(page.read_text())
        if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", code)
    }
    assert named - known - {"SERVICES_FACTORY"} == COMPOSE_ONLY
    assert all(name in text("docker-compose.yml") for name in COMPOSE_ONLY)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"(?:`|^)make ([a-z]+)", page.read_text(), re.MULTILINE)
    }
    assert {"demo", "test", "up", "bench", "check"} <= named <= targets


def test_commands_and_modules_exist() -> None:
    read = "\n".join(page.read_text() for page in PAGES)
    commands = set(re.findall(r"manage\.py ([a-z_]+)", read))
    commands |= {cells[0].strip("`").split()[0] for cells in rows(text("docs/operations.md"), "command")}
    assert commands <= set(get_commands())
    ours = {path.stem for path in (ROOT / "workflows/management/commands").glob("[a-z]*.py")}
    assert ours <= commands
    for module in re.findall(r"python -m ([a-z_.]+[a-z_])", read):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_files_named_in_the_text_exist() -> None:
    for page in PAGES:
        for code in CODE.findall(page.read_text()):
            if re.fullmatch(
                r"(boostflow|workflows|actions|triggers|devtools|deploy|docs|tests|locks)/[\w./-]+", code
            ):
                assert (ROOT / code).exists(), f"{page.name}: {code}"


def test_every_operator_has_its_row() -> None:
    assert sorted(cells[0].strip("`") for cells in rows(text("docs/definitions.md"), "operator")) == sorted(
        operator_registry
    )


def test_every_action_and_trigger_has_its_row() -> None:
    kinds = [cells[0].strip("`") for cells in rows(text("docs/definitions.md"), "type")]
    assert sorted(kinds) == sorted([*action_registry, *trigger_registry])


def test_rows_of_actions_name_every_setting_and_output() -> None:
    table = {cells[0].strip("`"): cells for cells in rows(text("docs/definitions.md"), "type")}
    for kind, handler in action_registry.items():
        for name in handler.config.model_fields:
            assert f"`{name}" in table[kind][1], f"{kind}: {name}"
        for name in handler.output.model_fields if handler.output else ():
            assert f"`{name}`" in table[kind][2], f"{kind}: {name}"
        assert handler.terminal == ("terminal" in table[kind][3])
    for kind, trigger in trigger_registry.items():
        for name, field in trigger.config.model_fields.items():
            if not any(type(each).__name__ == "SkipJsonSchema" for each in field.metadata):
                assert f"`{name}`" in table[kind][1], f"{kind}: {name}"


def test_statuses_and_reasons_are_those_of_the_product() -> None:
    page = text("docs/operations.md")
    for family, header in (("status", "status"), ("reason", "reason"), ("trace", "trace reason")):
        wanted = [
            [f"`{each.code}`", each.cause, each.next_step, ", ".join(f"`{act}`" for act in each.acts)]
            for each in REASONS.values()
            if each.family == family
        ]
        assert rows(page, header) == wanted


def test_every_outcome_and_role_is_told() -> None:
    page = text("docs/api.md")
    told = {cells[0].strip("`") for cells in rows(page, "outcome")}
    assert told == set(MessageOutcome.values) - LATER_OUTCOMES
    roles = [cells[0].strip("`") for cells in rows(page, "role")]
    assert roles == [*sorted(RANKS, key=lambda role: RANKS[role]), Role.EVENTS]


def test_every_endpoint_is_told_and_no_other() -> None:
    section = text("docs/api.md").partition("## Endpoints")[2].partition("## Errors")[0]
    told = set()
    for code in CODE.findall(section):
        if found := re.fullmatch(r"(?:GET|POST|PUT|PATCH|DELETE)(?:, [A-Z]+)* ([a-z{}/-]+)(?:\?.*)?", code):
            told.add(re.sub(r"{\w+}", "{}", found.group(1)))
    routes = {re.sub(r"<\w+:\w+>", "{}", str(route.pattern)) for route in urlpatterns[:-1]}
    assert told == routes


def test_the_addresses_outside_the_interface_answer() -> None:
    for path in ("/health/live", "/health/ready", "/metrics", "/api/v1/docs/"):
        assert f"`{path}`" in text("docs/api.md")
        assert resolve(path).func is not None
    assert reverse("admin:index") == "/admin/"


def test_the_transcript_names_checks_that_exist() -> None:
    shown = re.findall(r"ok (\w+): (.+)", text("README.md"))
    known = {check.code: check.sentence for check in CHECKS}
    assert shown
    assert all(known[code] == sentence for code, sentence in shown)


def test_pictures_are_readable_in_light_and_dark() -> None:
    pictures = sorted((ROOT / "docs/img").glob("*.svg"))
    assert [picture.name for picture in pictures] == ["flow.svg", "turn.svg"]
    for picture in pictures:
        drawn = picture.read_text()
        assert "prefers-color-scheme: dark" in drawn
        assert "<title" in drawn
        assert "<desc" in drawn
