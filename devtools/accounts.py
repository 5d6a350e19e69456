"""The account that PostgreSQL runs as: it refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CANDIDATES = ("postgres", "nobody")


class NoAccountError(Exception):
    """Nobody can run the server here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """How a command is run: what stands before it, Popen's arguments, and who owns the data."""

    owner: int
    prefix: tuple[str, ...] = ()
    popen: dict[str, Any] = field(default_factory=dict)

    def give(self, path: Path) -> None:
        """Make a directory the account's own."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(path, self.owner, self.popen.get("group", -1))
        elif path.stat().st_uid != self.owner:
            raise NoAccountError(
                f"{path} belongs to user {path.stat().st_uid}. Remove it or set SERVICES_DIR."
            )


def choose_account(binary: Path, base: Path, data: Path) -> Account:
    """Ourselves unless root.

    For root: whoever owns the data, else the first unprivileged account that reaches the binary and the base
    directory, else root seen as that account from inside a user namespace, which opens directories closed to
    others without changing their modes.
    """
    if os.geteuid() != 0:
        return Account(owner=os.geteuid())
    stat = data.stat() if data.exists() else None
    if stat and stat.st_uid:
        return _other(stat.st_uid, stat.st_gid)
    if stat is None:
        for account in _others():
            if _runs(account, binary) and _reaches(account, base):
                return account
    inside = _inside_namespace()
    if inside is None or not _runs(inside, binary):
        raise NoAccountError(
            f"PostgreSQL does not run as root, and no other account reaches {binary} and {base}. "
            "Set DATABASE_URL, run as another user, or move the checkout where others may enter."
        )
    return inside


def can_enter(base: Path) -> bool:
    """Whether some account that PostgreSQL accepts reaches the directory."""
    if os.geteuid() != 0 or any(_reaches(account, base) for account in _others()):
        return True
    inside = _inside_namespace()
    return inside is not None and _reaches(inside, base)


def _others() -> Iterator[Account]:
    for name in CANDIDATES:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        yield _other(user.pw_uid, user.pw_gid)


def _other(uid: int, gid: int) -> Account:
    return Account(owner=uid, popen={"user": uid, "group": gid, "extra_groups": []})


def _inside_namespace() -> Account | None:
    unshare = shutil.which("unshare")
    account = next(_others(), None)
    if unshare is None or account is None:
        return None
    uid, gid = account.popen["user"], account.popen["group"]
    return Account(owner=0, prefix=(unshare, "-U", f"--map-user={uid}", f"--map-group={gid}"))


def _runs(account: Account, binary: Path) -> bool:
    return _succeeds(account, [str(binary), "--version"])


def _reaches(account: Account, directory: Path) -> bool:
    return _succeeds(account, ["/bin/sh", "-c", 'cd "$1"', "sh", str(directory)])


def _succeeds(account: Account, command: list[str]) -> bool:
    try:
        done = subprocess.run(
            [*account.prefix, *command],
            capture_output=True,
            cwd="/",
            timeout=30,
            check=False,
            **account.popen,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
