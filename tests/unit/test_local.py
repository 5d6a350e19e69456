"""Addresses of the development servers."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from boostflow import local


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    base = Path("/srv/boostflow's services")
    monkeypatch.setattr(local, "configured_dir", lambda: base)
    return base


def test_sockets_lie_in_the_configured_directory(configured: Path) -> None:
    assert local.services_dir() == configured
    assert local.redis_socket() == configured / "valkey.sock"


def test_database_url_is_read_back_by_libpq(configured: Path) -> None:
    assert conninfo_to_dict(local.database_url("boostflow_app")) == {
        "user": "boostflow_app",
        "dbname": "boostflow",
        "host": str(configured / "run"),
    }


@pytest.mark.parametrize(("length", "stays"), [(60, True), (77, True), (78, False), (200, False)])
def test_a_path_too_long_for_a_socket_is_left(
    monkeypatch: pytest.MonkeyPatch, length: int, stays: bool
) -> None:
    wanted = Path("/" + "x" * (length - 1))
    monkeypatch.setattr(local, "configured_dir", lambda: wanted)
    chosen = local.services_dir()
    assert (chosen == wanted) is stays
    assert len(str(local.postgres_socket(chosen))) <= local.SOCKET_PATH_LIMIT
    assert local.services_dir() == chosen


def test_a_directory_marked_elsewhere_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = tmp_path / "v"
    base.mkdir()
    monkeypatch.setattr(local, "configured_dir", lambda: base)
    monkeypatch.setattr(local, "SOCKET_PATH_LIMIT", 1000)
    assert local.services_dir() == base
    (base / local.ELSEWHERE).touch()
    assert local.services_dir() == local.temporary_dir(base)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://valkey:6379/3", "redis://valkey:6379/3"),
        ("redis+socket:///a/b.sock?virtual_host=2", "unix:///a/b.sock?db=2"),
    ],
)
def test_redis_client_url(url: str, expected: str) -> None:
    assert local.redis_client_url(url) == expected
