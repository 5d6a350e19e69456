"""The other commands: one line an item, exit code 1 where something is refused, and then nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.commands.conftest import Ran
from workflows import tenancy
from workflows.management.commands import wait_for_services
from workflows.models import ApiKey, Clock, Entity, Version, Workflow
from workflows.services.entities import digest


def test_an_entity_is_created_once(run: Callable[..., Ran]) -> None:
    arguments = ("101", "--name", "Uno", "--timezone", "America/Guatemala", "--system-user", "u-9")
    assert run("create_entity", *arguments).out == "created 101 Uno\n"
    assert (
        run("create_entity", "101", "--name", "Otro", "--timezone", "Europe/Madrid").out == "exists 101 Uno\n"
    )
    entity = Entity.objects.get()
    assert (entity.name, str(entity.timezone), entity.workflow_system_user_id) == (
        "Uno",
        "America/Guatemala",
        "u-9",
    )


@pytest.mark.parametrize(
    ("external_id", "timezone"),
    [("101", "Nowhere/City"), ("x" * 65, "America/Guatemala"), ("", "America/Guatemala")],
)
def test_a_wrong_entity_is_refused(external_id: str, timezone: str, run: Callable[..., Ran]) -> None:
    assert run("create_entity", external_id, "--name", "Uno", "--timezone", timezone).code == 1
    assert not Entity.objects.exists()


def test_a_key_is_shown_once_and_stored_hashed(entity: Entity, run: Callable[..., Ran]) -> None:
    ran = run("create_api_key", "--entity", "acme", "--name", "crm", "--role", "events")
    secret = ran.out.strip()
    key = ApiKey.objects.get()
    assert (key.entity_id, key.role, key.digest) == (entity.pk, "events", digest(secret))
    assert secret not in ran.err


def test_a_platform_key_has_no_entity(run: Callable[..., Ran]) -> None:
    assert run("create_api_key", "--platform", "--name", "crm", "--role", "admin").code == 0
    assert ApiKey.objects.get().entity_id is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("--entity", "nobody", "--name", "x", "--role", "viewer"),
        ("--entity", "acme", "--name", "x", "--role", "king"),
        ("--name", "x", "--role", "viewer"),
        ("--entity", "acme", "--platform", "--name", "x", "--role", "viewer"),
    ],
)
def test_a_wrong_key_is_refused(arguments: tuple[str, ...], entity: Entity, run: Callable[..., Ran]) -> None:
    assert run("create_api_key", *arguments).code == 1
    assert not ApiKey.objects.exists()


def write(path: Path, document: object) -> Path:
    dump = yaml.safe_dump if path.suffix == ".yaml" else json.dumps
    path.write_text(dump(document))
    return path


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_file_becomes_a_draft_and_then_a_version(
    name: str, entity: Entity, document: Callable[..., Any], run: Callable[..., Ran], tmp_path: Path
) -> None:
    path = write(tmp_path / name, document())
    assert " created " in run("load_workflow", path, "--entity", "acme").out
    write(path, document(max_step_visits=5))
    assert " updated published " in run("load_workflow", path, "--entity", "acme", "--publish").out
    with tenancy.entity(entity.pk):
        workflow = Workflow.objects.get()
        version = Version.objects.get()
    assert (workflow.status, workflow.current_version_id) == ("published", version.pk)
    assert version.definition["max_step_visits"] == 5


def test_the_same_name_in_another_entity_is_another_workflow(
    entity: Entity,
    other_entity: Entity,
    document: Callable[..., Any],
    run: Callable[..., Ran],
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "a.json", document())
    assert run("load_workflow", path, "--entity", "acme").code == 0
    assert " created " in run("load_workflow", path, "--entity", "globex").out


@pytest.mark.rule("T3")
@pytest.mark.rule("S4")
def test_all_violations_are_printed_and_other_files_loaded(
    entity: Entity, document: Callable[..., Any], run: Callable[..., Ran], tmp_path: Path
) -> None:
    bad = document(name="Mala")
    bad["steps"] = [
        {"key": "vacio", "actions": []},
        {"key": "b", "actions": [{"key": "x", "type": "flow.nothing", "config": {}}]},
    ]
    files = [write(tmp_path / "bad.json", bad), write(tmp_path / "good.json", document())]
    ran = run("load_workflow", *files, "--entity", "acme")
    assert ran.code == 1
    assert f"{files[0]} T3 /steps/0/actions first_step_empty: " in ran.err
    assert "/steps/1/actions/0/type " in ran.err
    assert f"{files[1]} created " in ran.out
    with tenancy.entity(entity.pk):
        assert list(Workflow.objects.values_list("name", flat=True)) == ["Saludo"]


@pytest.mark.parametrize("text", ["{", "[]", '"text"', ""])
def test_what_is_no_definition_is_refused(
    text: str, entity: Entity, run: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    ran = run("load_workflow", path, tmp_path / "missing.json", "--entity", "acme")
    assert ran.code == 1
    assert str(path) in ran.err
    assert "missing.json" in ran.err


def test_the_clock_moves_and_is_reset(run: Callable[..., Ran]) -> None:
    assert run("move_clock", "--by", "PT25H").code == 0
    assert run("move_clock", "--by", "PT1H").out == "offset 1 day, 2:00:00\n"
    assert Clock.objects.get().offset == timedelta(hours=26)
    assert run("move_clock", "--reset").code == 0
    assert Clock.objects.get().offset == timedelta(0)


@pytest.mark.parametrize("text", ["tomorrow", "-PT1H", "PT0S", "3600"])
def test_a_wrong_move_is_refused(text: str, run: Callable[..., Ran]) -> None:
    assert run("move_clock", f"--by={text}").code == 1
    assert not Clock.objects.exists()


def test_the_clock_of_production_does_not_move(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "ENV", "production")
    assert run("move_clock", "--by", "PT1H").code == 1
    assert not Clock.objects.exists()


def test_services_that_answer_are_not_waited_for(run: Callable[..., Ran]) -> None:
    ran = run("wait_for_services", "--timeout", 10)
    assert (ran.code, ran.out) == (0, "ok database\nok migrations\nok broker\n")


def test_waiting_ends_with_the_reason(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wait_for_services.PARTS, "migrations", lambda: "2 not applied")
    ran = run("wait_for_services", "--timeout", 0)
    assert (ran.code, ran.out) == (1, "ok database\n")
    assert "migrations: 2 not applied" in ran.err


def test_a_broker_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    assert wait_for_services.broker() is not None
