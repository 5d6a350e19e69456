"""The commands that act on many executions: dry run, commit, selection, exit code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from devtools.sandbox.client import Sandbox
from tests.builders import inbound_event
from tests.failures.conftest import SEND, definition
from workflows.models import Entity, Execution, Workflow
from workflows.services import entities, inbound

Settle = Callable[[], None]
Standing = Callable[[UUID], Execution]

pytestmark = pytest.mark.rule("decision-14")


@pytest.fixture
def paused(
    sandbox: Sandbox, publish: Callable[..., Workflow], entity: Entity, settle: Settle
) -> tuple[UUID, UUID]:
    """Two executions that the CRM refused."""
    sandbox.seed(
        "acme",
        contacts=[{"id": f"c-{n}"} for n in (1, 2)],
        chats=[{"id": f"ch-{n}", "contact_id": f"c-{n}"} for n in (1, 2)],
        users=[{"id": "u-1"}],
    )
    sandbox.fault("send_text", status=422, times=2)
    publish(definition(SEND))
    found = []
    for n in (1, 2):
        event = {**inbound_event(contact_id=f"c-{n}", chat_id=f"ch-{n}"), "extra": {}}
        found.append(inbound.receive_message(entity=entity, event=event).execution_id)
    settle()
    first, second = found
    assert first is not None
    assert second is not None
    return first, second


def run(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, "--entity", "acme", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_without_commit_nothing_changes(paused: tuple[UUID, UUID], standing: Standing) -> None:
    said = run("resume_executions")
    assert [line.split()[1] for line in said.splitlines()[:2]] == [str(pk) for pk in paused]
    assert {standing(pk).status for pk in paused} == {"paused_error"}


def test_commit_needs_a_reason(paused: tuple[UUID, UUID], standing: Standing) -> None:
    with pytest.raises(CommandError, match="--why"):
        run("resume_executions", "--commit")
    assert {standing(pk).status for pk in paused} == {"paused_error"}


def test_resume_acts_on_what_was_chosen(
    paused: tuple[UUID, UUID], standing: Standing, settle: Settle
) -> None:
    said = run("resume_executions", "--contact", "c-1", "--why", "mended", "--commit")
    settle()
    assert [standing(pk).status for pk in paused] == ["completed", "paused_error"]
    assert len(said.splitlines()) == 2


def test_by_default_only_the_last_day_is_resumed(paused: tuple[UUID, UUID], standing: Standing) -> None:
    entities.set_clock_offset(offset=timedelta(hours=25))
    assert run("resume_executions", "--why", "late", "--commit").startswith("0 ")
    assert {standing(pk).status for pk in paused} == {"paused_error"}
    run("resume_executions", "--younger-than", "P2D", "--why", "late", "--commit")
    assert {standing(pk).status for pk in paused} == {"running"}


def test_one_that_is_refused_fails_the_command_and_stops_no_other(
    paused: tuple[UUID, UUID], standing: Standing, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workflows.errors import IllegalTransition
    from workflows.services import acts

    real = acts.resume

    def refuse_first(**given: Any) -> None:
        if given["execution_id"] == paused[0]:
            raise IllegalTransition
        real(**given)

    monkeypatch.setattr(acts, "resume", refuse_first)
    with pytest.raises(CommandError, match=r"refus|rechaz"):
        run("resume_executions", "--why", "x", "--commit")
    settle()
    assert [standing(pk).status for pk in paused] == ["paused_error", "completed"]


def test_cancel(paused: tuple[UUID, UUID], standing: Standing) -> None:
    run("cancel_executions", "--execution", str(paused[1]), "--why", "withdrawn", "--commit")
    assert [standing(pk).status for pk in paused] == ["paused_error", "cancelled"]


def test_retry_waits_finds_queued_executions_only(paused: tuple[UUID, UUID], standing: Standing) -> None:
    assert run("retry_waits", "--why", "x", "--commit").startswith("0 ")
    assert {standing(pk).status for pk in paused} == {"paused_error"}
