"""The services against PostgreSQL, with a CRM in this process and a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from tests import fakes
from tests.fakes import FakeCrm
from tests.service.world import World
from workflows.models import Entity, Workflow


@pytest.fixture
def crm(monkeypatch: pytest.MonkeyPatch) -> FakeCrm:
    """A new CRM in this process, which actions reach through the settings."""
    fresh = FakeCrm()
    monkeypatch.setattr(fakes, "CRM", fresh)
    monkeypatch.setattr(settings, "SERVICES_FACTORY", "tests.fakes.open_services")
    return fresh


@pytest.fixture
def world(
    entity: Entity,
    publish: Callable[..., Workflow],
    work: Callable[..., int],
    hints: list[Any],
    crm: FakeCrm,
) -> World:
    """The entity of the test, its workflows, messages and workers."""
    return World(entity, crm, hints, publish, work)
