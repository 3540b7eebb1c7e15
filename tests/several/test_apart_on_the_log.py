"""Several clusters on one nats-server: what a login of one may do in another's log, tried on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from bus.errors import BusUnavailable
from bus.exit_codes import ExitCode
from bus.login import (
    Login,
    Logins,
    env_lines,
    new_logins,
    read_login,
    read_logins,
    store_logins,
)
from bus.nats_adapter import NatsBus
from bus.nats_conf import MAIN, accounts_conf, accounts_of_several
from bus.nats_conf import main as write_accounts
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from foresail.stack.log_server import carry_days
from proofs.identities.ground import flush
from schemas.rollup import days_cluster
from services.identities import BY_NAME, IDENTITIES

pytestmark = pytest.mark.nats
LOGS = {name: StreamDeclaration.of(name, "i1") for name in ("a", "b")}


@dataclass
class Ground:
    """A server with two clusters."""

    url: str
    logins: dict[str, Logins]


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    """Start the server, with both streams declared."""
    logins: dict[str, Logins] = {name: new_logins(IDENTITIES, scope=name) for name in LOGS}
    accounts = accounts_of_several((name, LOGS[name].name, logins[name]) for name in LOGS)
    server = NatsServer(tmp_path, accounts=accounts)
    url = await server.start()
    try:
        for name, log in LOGS.items():
            await NatsBus.declare(url, log, login=logins[name]["bootstrap"])
        yield Ground(url, logins)
    finally:
        await server.stop()


async def raw(ground: Ground, login: Login, refusals: list[str]) -> Client:
    """Connect with nats-py alone, so that nothing of ours keeps anybody from trying."""

    async def note(error: Exception) -> None:
        refusals.append(str(error))

    return await nats.connect(
        ground.url,
        user=login.user,
        password=login.password,
        inbox_prefix=login.inbox_prefix,
        error_cb=note,
        allow_reconnect=False,
    )


async def count(ground: Ground, cluster: str) -> int:
    """Return how many messages a cluster's log holds."""
    log, login = LOGS[cluster], ground.logins[cluster]["reader"]
    bus = await NatsBus.connect(ground.url, cluster=cluster, stream=log.name, login=login)
    messages = (await bus.info()).messages
    await bus.close()
    return messages


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"bootstrap"}))
async def test_a_login_of_one_is_refused_in_the_other(ground: Ground, name: str) -> None:
    """Whoever it is: neither its own subjects there, nor the other's stream, feed and heartbeats."""
    refusals: list[str] = []
    client = await raw(ground, ground.logins["a"][name], refusals)
    tried = [
        *BY_NAME[name].subjects("b"),
        "foresail.b.control",
        "foresail.b.decision",
        "health.b.executor",
        f"JSM.API.STREAM.INFO.{LOGS['b'].name}",
        f"$JS.API.STREAM.DELETE.{LOGS['b'].name}",
    ]
    for subject in tried:
        await client.publish(subject, b"{}")
    heard = [await client.subscribe(one) for one in ("live.foresail.b.>", "health.b.>")]
    other = await raw(ground, ground.logins["b"]["collector"], [])
    await other.publish("health.b.collector", b"{}")
    await flush(other)
    await flush(client)

    def refused(subject: str) -> bool:
        return any(f'"{subject}"'.lower() in line.lower() for line in refusals)

    assert [subject for subject in tried if not refused(subject)] == []
    assert [one.pending_msgs for one in heard] == [0, 0]
    assert await count(ground, "b") == 0
    await client.close()
    await other.close()


async def test_even_the_bootstrap_of_one_sees_nothing_of_the_other(ground: Ground) -> None:
    """It may do everything in its own account, and the other's stream is not in there."""
    client = await raw(ground, ground.logins["a"]["bootstrap"], [])
    js = client.jetstream()
    assert [info.config.name for info in await js.streams_info()] == [LOGS["a"].name]
    with pytest.raises(NotFoundError):
        await js.stream_info(LOGS["b"].name)
    with pytest.raises(NotFoundError):
        await js.delete_stream(LOGS["b"].name)
    await client.close()
    assert await count(ground, "b") == 0


async def test_logins_and_names_of_one_open_nothing_else(ground: Ground) -> None:
    """A name without its cluster, another cluster's password, and no name at all."""
    good = ground.logins["a"]["reader"]
    wrong = [
        Login("reader", good.password, good.api_prefix, good.inbox_prefix),
        Login("reader@b", good.password, good.api_prefix, good.inbox_prefix),
        Login(),
    ]
    for login in wrong:
        with pytest.raises(BusUnavailable):
            await NatsBus.connect(ground.url, cluster="a", stream=LOGS["a"].name, login=login)


async def test_each_writes_and_reads_its_own(ground: Ground) -> None:
    """The same identity of both, at the same time, on one server."""
    for cluster, log in LOGS.items():
        login = ground.logins[cluster]["referee"]
        bus = await NatsBus.connect(ground.url, cluster=cluster, stream=log.name, login=login)
        await bus.publish([Message(f"foresail.{cluster}.decision", {}, b"{}")])
        await bus.close()
    assert [await count(ground, cluster) for cluster in LOGS] == [1, 1]


def test_logins_keep_their_cluster(tmp_path: Path) -> None:
    """Stored and read again; those of a server of one cluster say none, as before."""
    logins = new_logins(IDENTITIES, scope="shop")
    store_logins(logins, tmp_path)
    assert read_logins(tmp_path) == logins
    assert logins["referee"].user == "referee@shop"
    assert new_logins(IDENTITIES)["referee"].user == "referee"


def test_accounts_of_one_cluster_are_named_as_before() -> None:
    """A stack of one has no cluster in any name of an account or a user."""
    conf = accounts_conf("c", "FORESAIL_c_i1", new_logins(IDENTITIES))
    assert '  "MAIN" {' in conf
    assert "@" not in conf.replace('"password"', "")


@pytest.mark.parametrize(("before", "after"), [("", "shop"), ("shop", ""), ("shop", "shop")])
async def test_days_are_carried_over_between_the_forms(
    tmp_path: Path, before: str, after: str
) -> None:
    """A cluster that had a stack of its own keeps its roll-ups among several, and back."""
    days = StreamDeclaration.of_days("shop")
    (pattern,) = BY_NAME["rollup"].subjects(days_cluster("shop"))
    found = []
    for number, scope in enumerate((before, after), 1):
        world = tmp_path / f"i{number}"
        world.mkdir()
        carry_days("shop", world, scope)
        logins = new_logins(IDENTITIES, scope)
        stream = StreamDeclaration.of("shop", f"i{number}").name
        accounts = (
            accounts_of_several([("shop", stream, logins)])
            if scope
            else accounts_conf("shop", stream, logins)
        )
        server = NatsServer(world / "nats", accounts=accounts)
        url = await server.start()
        try:
            await NatsBus.declare(url, days, login=logins["bootstrap"])
            bus = await NatsBus.connect(
                url, cluster=days_cluster("shop"), stream=days.name, login=logins["rollup"]
            )
            if number == 1:
                await bus.publish([Message(pattern.replace("*", "2026-01-01"), {}, b"{}")])
            found.append((await bus.info()).messages)
            await bus.close()
        finally:
            await server.stop()
    assert found == [1, 1]
    assert MAIN in str(next((tmp_path / "i2" / "nats" / "jetstream").iterdir()))


async def test_the_command_line_writes_what_a_server_of_several_takes(tmp_path: Path) -> None:
    """For containers: one accounts.conf, and a folder of logins for each cluster, kept when asked to."""
    words = ["--cluster", "a", "--cluster", "b", "--incarnation", "i1", "--out", str(tmp_path)]
    assert write_accounts(words, IDENTITIES) == ExitCode.GOOD
    before = (tmp_path / "b" / "referee" / "login.env").read_text(encoding="utf-8")
    assert write_accounts([*words, "--keep"], IDENTITIES) == ExitCode.GOOD
    login = read_login(tmp_path / "b" / "referee" / "login.env")
    assert (login.user, before) == ("referee@b", env_lines(login))
    accounts = (tmp_path / "server" / "accounts.conf").read_text(encoding="utf-8")
    server = NatsServer(tmp_path / "nats", accounts=accounts)
    url = await server.start()
    try:
        bootstrap = read_login(tmp_path / "b" / "bootstrap" / "login.env")
        await NatsBus.declare(url, LOGS["b"], login=bootstrap)
        bus = await NatsBus.connect(url, cluster="b", stream=LOGS["b"].name, login=login)
        await bus.publish([Message("foresail.b.decision", {}, b"{}")])
        await bus.close()
    finally:
        await server.stop()
    assert write_accounts([*words, "--anonymous"], IDENTITIES) == ExitCode.BAD_INPUT
