"""Commands run as an operator would run them: what they print, and how they exit."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.builders import inbound_event
from workflows.models import Entity
from workflows.services.inbound import receive_message


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: what manage.py would exit with, and both outputs, the error's text included."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(clean: object) -> Callable[..., Ran]:
    """Run a command in this process."""

    def command(name: str, *arguments: object) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        code = 0
        try:
            call_command(name, *map(str, arguments), stdout=out, stderr=err)
        except CommandError as problem:
            err.write(str(problem))
            code = problem.returncode
        return Ran(code, out.getvalue(), err.getvalue())

    return command


@pytest.fixture
def waiting(entity: Entity, publish: Callable[..., Any], work: Callable[[], int]) -> Entity:
    """An entity whose one execution waits for a reply."""
    publish()
    receive_message(entity=entity, event=inbound_event(message_id="wamid.1"))
    work()
    return entity
