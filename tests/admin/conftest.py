"""People of the console, and an entity with something to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import inbound_event
from workflows.models import Entity, Membership
from workflows.services.inbound import receive_message


@pytest.fixture
def login(clean: object) -> Callable[..., Client]:
    """A client of a person with these memberships, oldest first, reading English."""

    def make(*entities: Entity, superuser: bool = False, role: str = "viewer") -> Client:
        person = User.objects.create_user(
            f"person-{User.objects.count()}", is_staff=True, is_superuser=superuser
        )
        for entity in entities:
            Membership.objects.create(user=person, entity=entity, role=role)
        client = Client(headers={"accept-language": "en"})
        client.force_login(person)
        return client

    return make


@pytest.fixture
def story(entity: Entity, publish: Callable[..., Any], work: Callable[[], int]) -> dict[str, Any]:
    """A published workflow and the execution, waiting for a reply, that one message started."""
    workflow = publish()
    decision = receive_message(entity=entity, event=inbound_event(message_id="wamid.1", text="hola <b>x</b>"))
    work()
    return {"workflow": workflow.pk, "execution": decision.execution_id, "entity": entity}
