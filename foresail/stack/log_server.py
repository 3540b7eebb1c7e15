"""The log of a stack: an embedded nats-server, or one that somebody else runs; in both cases the
stream exists afterwards.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from bus.errors import BusUnavailable, ConfigError
from bus.login import Login, Logins, new_logins, store_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import MAIN, accounts_conf, main_account
from bus.nats_server import NatsServer
from bus.streams import StreamDeclaration
from foresail.settings import StackSettings
from foresail.stack.keeper import Keeper
from foresail.stack.kept_processes import kept_log
from foresail.stack.processes import sums_up_days
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
    settings: StackSettings, incarnation: str, folder: Path, keeper: Keeper
) -> LogServer:
    """Start or reach the server, and make sure the stream is there; `keeper` stops what was started.

    Raises:
        ConfigError: the port is taken, or the URL leads to no server or to one that does not fit.
        BusUnavailable: the own server does not answer.
    """
    nats = settings.nats
    declaration = declaration_of(settings, incarnation)
    if nats.url is not None:
        url, server = nats.url, None
        logins = same_login(Login.from_environment(os.environ))
        durability = (
            "log: the given nats-server's own sync_interval decides what a power failure can lose"
        )
    else:
        chosen = sync_interval_of(settings)
        logins = new_logins(IDENTITIES)
        store_logins(logins, folder)
        server = NatsServer(
            folder / "nats",
            port=nats.port,
            sync_interval=chosen,
            max_file_store=max_file_store(nats.max_bytes),
            accounts=accounts_conf(settings.run.cluster, declaration.name, logins),
        )
        if sums_up_days(settings):
            carry_days(settings.run.cluster, folder)
        keeper.add(kept_log(server))
        url = await server.start()
        durability = durability_of(chosen)
    await declare_log(settings, declaration, url, logins)
    if server is not None:
        server.persist()
    return LogServer(url, declaration.name, server is not None, durability, logins, server)


def sync_interval_of(settings: StackSettings) -> str:
    """Return how often the embedded server syncs."""
    own = settings.run.kubeconfig or settings.run.kubeconfigs
    return settings.nats.sync_interval or (REAL_SYNC_INTERVAL if own else TWIN_SYNC_INTERVAL)


def durability_of(sync_interval: str) -> str:
    """Return in one line what that can lose."""
    lost = (
        "nothing that was acknowledged"
        if sync_interval == "always"
        else f"up to {sync_interval} of acknowledged events"
    )
    return f"log: sync_interval {sync_interval}; a power failure can lose {lost}, a killed process loses nothing"


async def declare_log(
    settings: StackSettings, declaration: StreamDeclaration, url: str, logins: Logins
) -> None:
    """Make sure that a cluster's streams are there.

    Raises:
        ConfigError: the URL leads to no server or to one that does not fit.
        BusUnavailable: the own server does not answer.
    """
    nats = settings.nats
    try:
        await NatsBus.declare(url, declaration, login=logins["bootstrap"])
        if sums_up_days(settings):
            days = StreamDeclaration.of_days(settings.run.cluster, replicas=nats.replicas)
            await NatsBus.declare(url, days, login=logins["bootstrap"])
    except BusUnavailable as error:
        if nats.url is None:
            raise
        why = str(error).removeprefix(f"nats.url = {nats.url}: ")
        raise ConfigError("nats.url", nats.url, why) from error


def declaration_of(settings: StackSettings, incarnation: str) -> StreamDeclaration:
    """Return the declaration of a cluster's log."""
    nats = settings.nats
    return StreamDeclaration.of(
        settings.run.cluster,
        incarnation,
        max_bytes=nats.max_bytes,
        max_age_seconds=nats.max_age_seconds,
        replicas=nats.replicas,
    )


def carry_days(cluster: str, folder: Path, scope: str = "") -> None:
    """Copy the roll-ups of the newest world before this one that has any: they go on over every start, also from
    a server of one cluster to one of several and back.

    The embedded server keeps each world's log in its own folder; nobody serves an earlier one while this stack holds
    the state folder.

    Args:
        cluster: whose roll-ups.
        folder: this world's.
        scope: the cluster again on a server of several.
    """
    goal = folder / _days_folder(cluster, main_account(scope))
    others = [one for one in folder.parent.iterdir() if one.name[1:].isdigit() and one != folder]
    for other in sorted(others, key=lambda one: -int(one.name[1:])):
        for account in (MAIN, main_account(cluster)):
            days = other / _days_folder(cluster, account)
            if days.is_dir():
                part = folder / "days.partial"
                shutil.rmtree(part, ignore_errors=True)
                shutil.copytree(days, part)
                goal.parent.mkdir(parents=True, exist_ok=True)
                part.rename(goal)
                return


def _days_folder(cluster: str, account: str) -> Path:
    days = StreamDeclaration.of_days(cluster).name
    return Path("nats", "jetstream", account, "streams", days)


def same_login(login: Login) -> dict[str, Login]:
    """Return one login for everybody."""
    return {identity.name: login for identity in IDENTITIES}
