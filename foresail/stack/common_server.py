"""The nats-server of several clusters: an account with JetStream, a stream and identities for each of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bus.login import Login, Logins, new_logins, store_logins
from bus.nats_conf import accounts_of_several
from bus.nats_server import READY_SECONDS, NatsServer
from bus.streams import StreamDeclaration
from foresail.settings import StackSettings
from foresail.stack.keeper import Keeper
from foresail.stack.kept_processes import kept_log
from foresail.stack.log_server import (
    LogServer,
    carry_days,
    declaration_of,
    declare_log,
    durability_of,
    max_file_store,
    same_login,
    sync_interval_of,
)
from foresail.stack.processes import sums_up_days
from foresail.stack.state_folder import StateFolder
from services.identities import IDENTITIES

SECONDS_A_CLUSTER = 1.0
"""What each cluster's accounts may add to the server's start: a busy machine took 8 s for 100."""


@dataclass(frozen=True)
class ClusterLog:
    """What one cluster has on the server."""

    incarnation: str
    declaration: StreamDeclaration
    logins: Logins


@dataclass(frozen=True)
class CommonServer:
    """The server, and what each cluster has on it, by the cluster's name."""

    url: str
    folder: Path
    """Where its store is; meaningless on a server of somebody else's."""
    durability: str
    logs: Mapping[str, ClusterLog]
    keeper: Keeper
    """Keeps the server alone; each cluster has a keeper of its own."""
    server: NatsServer | None = None
    """None when somebody else runs it."""

    def incarnation(self, cluster: str) -> str:
        """Return which world of a cluster this is."""
        return self.logs[cluster].incarnation

    def seen_from(self, state: StateFolder) -> str:
        """Return the path of the store from one cluster's state folder; empty on a server of somebody else's."""
        return os.path.relpath(self.folder, state.path) if self.server is not None else ""

    async def log_of(self, settings: StackSettings) -> LogServer:
        """Make sure that a cluster's streams are there, and return where its log is.

        Raises:
            ConfigError: the given URL leads to no server or to one that does not fit.
            BusUnavailable: the own server does not answer.
        """
        log = self.logs[settings.run.cluster]
        await declare_log(settings, log.declaration, self.url, log.logins)
        if self.server is not None:
            self.server.persist()
        embedded = self.server is not None
        return LogServer(self.url, log.declaration.name, embedded, self.durability, log.logins)


async def start_common(
    settings: StackSettings,
    clusters: Mapping[str, tuple[StackSettings, StateFolder]],
    state: StateFolder,
    keeper: Keeper,
) -> CommonServer:
    """Start or reach the server for these clusters; `keeper` stops what was started.

    Args:
        settings: what was given for all clusters.
        clusters: settings and state folder of each by its name.
        state: the stack's own state folder, around theirs.
        keeper: keeps the server running.

    Raises:
        ConfigError: the port is taken.
        Permanent: the server does not start.
    """
    world = state.new_incarnation()
    folder = state.incarnation(world)
    logs = {
        name: _log_of(name, own, place.new_incarnation(least=int(world[1:])))
        for name, (own, place) in clusters.items()
    }
    if settings.nats.url is not None:
        durability = (
            "log: the given nats-server's own sync_interval decides what a power failure can lose"
        )
        return CommonServer(settings.nats.url, folder / "nats", durability, logs, keeper)
    for name, (own, place) in clusters.items():
        store_logins(logs[name].logins, place.incarnation(logs[name].incarnation))
        if sums_up_days(own):
            carry_days(name, folder, scope=name)
    chosen = sync_interval_of(settings)
    server = NatsServer(
        folder / "nats",
        port=settings.nats.port,
        sync_interval=chosen,
        max_file_store=max_file_store(settings.nats.max_bytes * len(clusters)),
        accounts=accounts_of_several(
            (name, log.declaration.name, log.logins) for name, log in logs.items()
        ),
    )
    keeper.add(kept_log(server))
    url = await server.start(READY_SECONDS + SECONDS_A_CLUSTER * len(clusters))
    return CommonServer(url, server.folder, durability_of(chosen), logs, keeper, server)


def _log_of(name: str, settings: StackSettings, incarnation: str) -> ClusterLog:
    if settings.nats.url is None:
        logins: Logins = new_logins(IDENTITIES, scope=name)
    else:
        logins = same_login(Login.from_environment(os.environ))
    return ClusterLog(incarnation, declaration_of(settings, incarnation), logins)
