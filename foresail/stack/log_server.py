"""The log of a stack: an embedded nats-server, or one that somebody else runs; in both cases the
stream exists afterwards.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from bus.errors import BusUnavailable, ConfigError
from bus.login import Login
from bus.logins import Logins, new_logins, store_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.streams import StreamDeclaration
from foresail.settings import StackSettings
from foresail.stack.supervised_processes import supervised_log
from foresail.stack.supervisor import Supervisor
from services.identities import IDENTITIES

TWIN_SYNC_INTERVAL = "1s"
REAL_SYNC_INTERVAL = "always"
LEAST_STORE_GB = 16


@dataclass(frozen=True)
class LogServer:
    """Where the log is."""

    url: str
    stream: str
    embedded: bool
    durability: str
    """One line: what the sync setting can lose."""
    logins: Logins
    """One login for each identity; on a server that somebody else runs, all the same one."""
    server: NatsServer | None = None
    """The embedded server; None when somebody else runs it."""


def max_file_store(max_bytes: int) -> str:
    """Return the server's limit for a log of `max_bytes`: room for it, and 16 GB at least, since the
    log's own retention is what bounds it.
    """
    return f"{max(LEAST_STORE_GB, math.ceil(max_bytes / 1e9) + 1)}GB"


async def start_log(
    settings: StackSettings, incarnation: str, folder: Path, supervisor: Supervisor
) -> LogServer:
    """Start or reach the server, and make sure the stream is there; `supervisor` stops what was started.

    Raises:
        ConfigError: the port is taken, or the URL leads to no server or to one that does not fit.
        BusUnavailable: the own server does not answer.
    """
    nats = settings.nats
    declaration = StreamDeclaration.of(
        settings.run.cluster,
        incarnation,
        max_bytes=nats.max_bytes,
        max_age_seconds=nats.max_age_seconds,
        replicas=nats.replicas,
    )
    if nats.url is not None:
        url, server = nats.url, None
        logins = same_login(Login.from_environment(os.environ))
        durability = (
            "log: the given nats-server's own sync_interval decides what a power failure can lose"
        )
    else:
        chosen = nats.sync_interval or (
            REAL_SYNC_INTERVAL if settings.run.kubeconfig else TWIN_SYNC_INTERVAL
        )
        logins = new_logins(IDENTITIES)
        store_logins(logins, folder)
        server = NatsServer(
            folder / "nats",
            port=nats.port,
            sync_interval=chosen,
            max_file_store=max_file_store(nats.max_bytes),
            accounts=accounts_conf(settings.run.cluster, declaration.name, logins),
        )
        supervisor.add(supervised_log(server))
        url = await server.start()
        lost = (
            "nothing that was acknowledged"
            if chosen == "always"
            else f"up to {chosen} of acknowledged events"
        )
        durability = f"log: sync_interval {chosen}; a power failure can lose {lost}, a killed process loses nothing"
    try:
        await NatsBus.declare(url, declaration, login=logins["bootstrap"])
    except BusUnavailable as error:
        if nats.url is None:
            raise
        why = str(error).removeprefix(f"nats.url = {nats.url}: ")
        raise ConfigError("nats.url", nats.url, why) from error
    if server is not None:
        server.persist()
    return LogServer(url, declaration.name, server is not None, durability, logins, server)


def same_login(login: Login) -> dict[str, Login]:
    """Return one login for everybody."""
    return {identity.name: login for identity in IDENTITIES}
