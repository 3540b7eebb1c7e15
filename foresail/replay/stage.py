"""Where a replay is played: a log of its own on the running stack's server, or on one of its own.

The replay has a state folder like a stack's, so `tap`, `status`, `explain` and the dashboard attach
to it with `--state FOLDER` as to a live cluster. Only the identity `replayer` may publish in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bus.clock import Clock
from bus.errors import BusUnavailable, InputError, JetStreamMissing, Permanent
from bus.identities import REPLAY_PREFIX
from bus.login import Login
from bus.logins import Logins, new_logins, read_logins, store_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer, reload_accounts
from bus.ports import hold_port
from bus.streams import StreamDeclaration
from foresail.replay_place import FOLDER
from foresail.stack.log_server import same_login
from foresail.stack.state_folder import StackFile, StateFolder
from schemas.envelope import rfc3339
from schemas.identity import Origin
from services.dashboard.service import run as run_dashboard
from services.dashboard.settings import DashboardSettings
from services.identities import IDENTITIES

RELOAD_SECONDS = 300.0
"""How long a server may take to have JetStream again after it was given other accounts."""
RETRY_SECONDS = 0.1


@dataclass(frozen=True)
class ReplayTarget:
    """The request."""

    state: Path
    """The stack's state folder."""
    run: str
    """The replay's name; its cluster is `replay-<run>`."""
    incarnation: str
    """The recording's, shown by the dashboard."""
    nats_url: str | None = None
    """A server that somebody else runs."""
    dashboard_port: int | None = 0
    """None: no dashboard; 0: any free port."""

    @property
    def cluster(self) -> str:
        """The replay's cluster."""
        return REPLAY_PREFIX + self.run


@dataclass
class ReplayStatus:
    """Progress of the replay on the dashboard; the replay sets it once it plays."""

    read: Callable[[], str] = str

    def text(self) -> str:
        """Return what it says now."""
        return self.read()


@dataclass
class ReplayLog:
    """A log that waits for a replay."""

    bus: NatsBus
    stack: StackFile
    state: StateFolder
    """The state folder that other verbs are given."""
    where: str
    """In words."""
    caption: ReplayStatus

    @property
    def folder(self) -> Path:
        """The path of the state folder."""
        return self.state.path

    def store(self, file: str, last_seq: int, state: str) -> None:
        """Store what is played and how, where `foresail status` reads it."""
        self.stack.replay = {"file": file, "last_seq": str(last_seq), "state": state}
        with contextlib.suppress(OSError):  # a full disk must not end the replay
            self.state.write(self.stack)


@dataclass(frozen=True)
class _Server:
    url: str
    logins: Logins
    where: str
    own: NatsServer | None = None
    beside: bool = False
    """It is not ours: what was put there is removed again."""
    reloaded: bool = False
    """It was given other accounts just now."""


def run_name(path: Path, name: str | None) -> str:
    """Return the replay's name: what was given, or the file's.

    Raises:
        InputError: what was given cannot be a name.
    """
    if name is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name):
        raise InputError("--name", name, "use up to 60 letters, digits, - and _")
    return name or re.sub(r"[^A-Za-z0-9_-]", "-", path.stem)[:60] or "recording"


@asynccontextmanager
async def open_stage(place: ReplayTarget, clock: Clock) -> AsyncIterator[ReplayLog]:
    """Make a log for a replay, with a dashboard over it; take away what is not ours afterwards.

    Raises:
        ConfigError: another replay uses the folder, or a port is taken.
        BusUnavailable: the server does not answer.
    """
    folder = place.state / FOLDER
    state = StateFolder(folder)
    state.lock()
    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.callback(state.unlock)
        incarnation = state.new_incarnation()
        declaration = StreamDeclaration.of(place.cluster, FOLDER, max_age_seconds=0.0)
        server = await _server(place, state.incarnation(incarnation), declaration, cleanup)
        await _declare(server, declaration, clock)
        if server.beside:
            cleanup.push_async_callback(_remove, server, declaration)

        async def connect(identity: str) -> NatsBus:
            bus = await NatsBus.connect(
                server.url,
                cluster=place.cluster,
                stream=declaration.name,
                login=server.logins[identity],
            )
            cleanup.push_async_callback(bus.close)
            return bus

        stack = StackFile(
            cluster=place.cluster,
            incarnation=incarnation,
            stream=declaration.name,
            nats_url=server.url,
            embedded=place.nats_url is None,
            pid=os.getpid(),
            mode="replay",
            started=rfc3339(clock.wall_ns() / 1e9),
        )
        if server.own is not None:
            stack.servers = {"nats-server": server.own.pid}
        caption = ReplayStatus()
        if place.dashboard_port is not None:
            port = place.dashboard_port or hold_port(stack)
            stack.dashboard_url = f"http://127.0.0.1:{port}"
            origin = Origin(place.cluster, place.incarnation)
            showing = run_dashboard(
                DashboardSettings(port=port),
                await connect("dashboard"),
                clock,
                origin,
                replay_text=caption.text,
            )
            cleanup.push_async_callback(_cancel, asyncio.create_task(showing, name="dashboard"))
        state.write(stack)
        cleanup.callback(_note_end, state, stack, server)
        yield ReplayLog(await connect("replayer"), stack, state, server.where, caption)


async def _server(
    place: ReplayTarget,
    folder: Path,
    declaration: StreamDeclaration,
    cleanup: contextlib.AsyncExitStack,
) -> _Server:
    """Return the server to play on: one that was named, the running stack's, or a new one."""
    if place.nats_url is not None:
        login = Login.from_environment(os.environ)
        return _Server(place.nats_url, same_login(login), "the server at hand", beside=True)
    if (running := _running_stack(place.state)) is not None:
        state, stack = running
        if not stack.embedded:
            login = Login.from_environment(os.environ)
            return _Server(stack.nats_url, same_login(login), "the stack's server", beside=True)
        incarnation_folder = state.incarnation(stack.incarnation)
        logins = read_logins(incarnation_folder)
        store_logins(logins, folder)
        replay = (place.cluster, declaration.name)
        reload_accounts(
            incarnation_folder / "nats",
            accounts_conf(stack.cluster, stack.stream, logins, replay=replay),
        )
        own = accounts_conf(stack.cluster, stack.stream, logins)
        cleanup.callback(_give_back, incarnation_folder / "nats", own)
        return _Server(
            stack.nats_url, logins, "the running stack's server", beside=True, reloaded=True
        )
    logins = new_logins(IDENTITIES)
    store_logins(logins, folder)
    accounts = accounts_conf(place.cluster, declaration.name, logins)
    server = NatsServer(folder / "nats", accounts=accounts)
    url = await server.start()
    cleanup.push_async_callback(server.stop)
    return _Server(url, logins, "a server of its own", own=server)


async def _declare(server: _Server, declaration: StreamDeclaration, clock: Clock) -> None:
    """Make the replay's stream anew; a server that takes other accounts is without JetStream meanwhile."""
    login, deadline = server.logins["bootstrap"], clock.monotonic() + RELOAD_SECONDS
    while True:
        try:
            await NatsBus.remove(server.url, declaration.name, login=login)
            await NatsBus.declare(server.url, declaration, login=login)
            return
        except JetStreamMissing:
            if not server.reloaded or clock.monotonic() >= deadline:
                raise
        await clock.sleep(RETRY_SECONDS)


def _running_stack(path: Path) -> tuple[StateFolder, StackFile] | None:
    state = StateFolder(path)
    try:
        stack = state.read()
    except InputError:
        return None
    return (state, stack) if stack.running else None


def _give_back(folder: Path, accounts: str) -> None:
    with contextlib.suppress(Permanent):  # the stack ended before its replay
        reload_accounts(folder, accounts)


async def _remove(server: _Server, declaration: StreamDeclaration) -> None:
    with contextlib.suppress(BusUnavailable):
        await NatsBus.remove(server.url, declaration.name, login=server.logins["bootstrap"])


def _note_end(state: StateFolder, stack: StackFile, server: _Server) -> None:
    stack.running = False
    stack.embedded = server.own is not None  # elsewhere nothing is left to be served
    state.write(stack)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
