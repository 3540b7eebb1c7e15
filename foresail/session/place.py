"""Where sessions are kept: a folder each, with the log, the jobs' own logs, and a lock that its runner holds.

```
.foresail/sessions/<session>/
  lock          held by flock while a runner works; freed by the kernel however it ends
  server.json   where the log is served meanwhile
  nats/         the log
  logs/, ended/ what jobs of the local engine printed, and how they ended
```
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import ForesailError, InputError
from inputs.close_matches import remedy_for
from lab.sessions.session_log import SessionLog, connected_log, embedded_log, server_url

SESSIONS = "sessions"
LONGEST_NAME = 80


class SessionTaken(ForesailError):
    """Another runner has the session."""


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add where sessions are kept."""
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER",
        help="state folder; sessions are kept below it (default: %(default)s)",
    )  # fmt: skip


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add which session is meant, and where it is kept."""
    parser.add_argument(
        "session", nargs="?", metavar="SESSION",
        help="name of the session (default: the only one there is, or the newest)",
    )  # fmt: skip
    add_place(parser)


def runner_name() -> str:
    """Return a name for this start of a runner, which no other one has."""
    return f"{socket.gethostname()}-{os.getpid()}-{SystemClock().wall_ns():x}"


def session_name(path: Path, given: str | None, chosen: str = "") -> str:
    """Return what a session is called: as given, or after its file, what is in it, and what is `chosen` of it.

    Raises:
        InputError: the name cannot be that of a folder.
    """
    if given is None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        return "-".join(filter(None, (path.stem[:LONGEST_NAME], digest, chosen)))
    if not given or len(given) > LONGEST_NAME or given != Path(given).name or given[0] == ".":
        raise InputError(
            "--session", given, "give a name without slashes, of 80 characters at most"
        )
    return given


def folder_of(state: str, session: str) -> Path:
    """Return the folder of a session, made or not."""
    return Path(state) / SESSIONS / session


def known_session(arguments: argparse.Namespace) -> str:
    """Return the session that is meant; without a name the newest.

    Raises:
        InputError: there is none of that name, or none at all.
    """
    base = Path(arguments.state) / SESSIONS
    names = [entry.name for entry in base.iterdir() if entry.is_dir()] if base.is_dir() else []
    if not names:
        raise InputError("--state", arguments.state, "no session is here; `session run` begins one")
    if arguments.session is None:
        return max(names, key=lambda name: (base / name / "lock").stat().st_mtime)
    if arguments.session not in names:
        raise InputError("SESSION", arguments.session, remedy_for(arguments.session, names))
    return str(arguments.session)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a session's lock.

    Raises:
        SessionTaken: another process does.
        InputError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        remedy = f"give a folder that can be written ({error.strerror})"
        raise InputError("--state", folder, remedy) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 20, 0).decode().strip() or "another process"
            raise SessionTaken(f"{folder.name} is run by process {holder}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


@asynccontextmanager
async def owned_log(folder: Path, session: str) -> AsyncIterator[SessionLog]:
    """Take a session for this process: hold its lock and serve its log; raises as `held`."""
    with held(folder):
        address = folder / "server.json"
        async with embedded_log(folder, session, runner_name(), SystemClock()) as (log, url):
            address.write_text(json.dumps({"url": url}) + "\n", encoding="utf-8")
            try:
                yield log
            finally:
                address.unlink(missing_ok=True)


@asynccontextmanager
async def any_log(folder: Path, session: str) -> AsyncIterator[tuple[SessionLog, bool]]:
    """Reach a session's log, and say whether a runner serves it; else it is served from here meanwhile."""
    try:
        async with owned_log(folder, session) as log:
            yield log, False
            return
    except SessionTaken:
        url = server_url(folder / "server.json")
        if not url:
            raise
    async with connected_log(url, session, runner_name(), SystemClock()) as log:
        yield log, True
