"""Where a verb reads events from: the running stack's log, the last stack's log on disk, or a
recording.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from bus.login import Login, stored_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.port import Bus, Messages
from bus.recording import open_recording
from foresail.stack.state_folder import StackFile, StateFolder
from schemas import subjects


class Source(Protocol):
    """Something whose events can be read from the beginning, more than once."""

    def messages(self) -> Messages:
        """Yield every stored message in order."""
        ...


class LogSource:
    """The log of a stack."""

    def __init__(self, bus: Bus, cluster: str) -> None:
        """Read all of one cluster's subjects."""
        self._bus = bus
        self._patterns: Sequence[str] = [subjects.pattern(cluster, (">",))]

    def messages(self) -> Messages:
        """Yield every stored message in order, up to the newest at the time of the call."""
        return self._bus.history(self._patterns)


class RecordingSource:
    """A recording."""

    def __init__(self, path: Path) -> None:
        """Read this file."""
        self._path = path

    async def messages(self) -> Messages:
        """Yield every recorded message in order."""
        for message in open_recording(self._path):
            yield message


@asynccontextmanager
async def connected(
    stack: StackFile, state: StateFolder, identity: str = "reader"
) -> AsyncIterator[Bus]:
    """Connect to a stack's log as one identity; when the stack is over, serve its log from disk
    meanwhile.
    """
    server: NatsServer | None = None
    url, folder = stack.nats_url, state.incarnation(stack.incarnation)
    logins = stored_logins(folder) if stack.embedded else {}
    login = logins.get(identity) or Login.from_environment(os.environ)
    if not stack.running and stack.embedded:
        accounts = accounts_conf(stack.cluster, stack.stream, logins) if logins else ""
        server = NatsServer(folder / "nats", accounts=accounts)
        url = await server.start()
    try:
        bus = await NatsBus.connect(url, cluster=stack.cluster, stream=stack.stream, login=login)
        try:
            yield bus
        finally:
            await bus.close()
    finally:
        if server is not None:
            await server.stop()


@asynccontextmanager
async def open_source(recording: str | None, state_path: Path) -> AsyncIterator[Source]:
    """Open a recording, or else the log of the stack in a state folder.

    Raises:
        InputError: there is neither.
    """
    if recording is not None:
        yield RecordingSource(Path(recording))
        return
    state = StateFolder(state_path)
    stack = state.read()
    async with connected(stack, state) as bus:
        yield LogSource(bus, stack.cluster)
