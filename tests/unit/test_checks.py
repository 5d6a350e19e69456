"""System checks that need no server."""

import pytest
from pytest_django import Settings

from boostflow import checks


@pytest.mark.parametrize(
    ("env", "length", "ids"),
    [
        ("production", 49, ["boostflow.E001"]),
        ("production", 50, []),
        ("development", 1, []),
    ],
)
def test_secret_key(settings: Settings, env: str, length: int, ids: list[str]) -> None:
    settings.ENV, settings.SECRET_KEY = env, "k" * length
    assert [found.id for found in checks.check_secret_key(None)] == ids


@pytest.mark.parametrize(
    ("env", "debug", "ids"), [("production", True, ["boostflow.E002"]), ("demo", True, [])]
)
def test_debug(settings: Settings, env: str, debug: bool, ids: list[str]) -> None:
    settings.ENV, settings.DEBUG = env, debug
    assert [found.id for found in checks.check_debug(None)] == ids


def test_a_broker_that_does_not_answer_is_a_warning(settings: Settings) -> None:
    settings.REDIS_URL = "redis+socket:///nowhere/valkey.sock?virtual_host=0"
    assert [found.id for found in checks.check_broker(None)] == ["boostflow.W005"]


def test_nothing_is_asked_of_a_database_that_is_not_checked() -> None:
    assert checks.check_role(None, databases=None) == []
    assert checks.check_clock(None, databases=["owner"]) == []
