"""A real server with the generated accounts, and every identity connected to it.

A witness inside the log's account, with every right, sees all that arrives there. It also gives
every subject a listener, which some attacks need to succeed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from bus.login import Login
from bus.logins import new_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from proofs.identities.attacks import CLUSTER, DURABLE, LOG, OTHER, OTHER_SUBJECT
from services.identities import IDENTITIES

WAIT_SECONDS = 900.0
"""Longest wait for an answer that has to come; a busy machine takes seconds."""

WITNESS = '{"user": "witness", "password": "witness"}'
INSIDER = (
    '{"user": "insider", "password": "insider", "permissions": {"publish": {"allow": '
    f'["$JS.API.STREAM.INFO.{LOG.name}"]}}, "subscribe": {{"allow": ["_INBOX_insider.>"]}}}}}}'
)
"""A user with one harmless right in the log's own account, as plain permissions give it."""


@dataclass
class Caller:
    """One connection and what the server refused it."""

    client: Client
    refusals: list[str] = field(default_factory=list)

    def was_refused(self, what: str, subject: str) -> bool:
        """Say whether the server refused to let it `publish` or `subscribe`."""
        expected = f'permissions violation for {what} to "{subject}"'.lower()
        return any(expected in refusal.lower() for refusal in self.refusals)


@dataclass
class Environment:
    """All identities on one server."""

    url: str
    logins: Mapping[str, Login]
    callers: Mapping[str, Caller]
    witness: Client
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    """Subject and data of all that arrived in the account of the log."""

    async def settle(self) -> None:
        """Return when all earlier requests have been answered and seen.

        A call of the witness waits behind the calls that came before it.
        """
        for stream in (LOG.name, OTHER):
            await self.ask(f"STREAM.INFO.{stream}")
        await self.ask("INFO")
        await flush(self.witness)

    async def ask(self, call: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the JetStream API as the witness."""
        reply = await self.witness.request(
            f"$JS.API.{call}", json.dumps(body or {}).encode(), timeout=WAIT_SECONDS
        )
        answer: dict[str, Any] = json.loads(reply.data)
        return answer

    async def state(self) -> tuple[Any, ...]:
        """Return what no attack may change, of both streams."""
        streams = [await self.ask(f"STREAM.INFO.{stream}") for stream in (LOG.name, OTHER)]
        names = await self.ask("STREAM.NAMES")
        counts = [
            (stream["state"]["messages"], stream["state"]["consumer_count"], stream["config"])
            for stream in streams
        ]
        return names["streams"], counts

    def has_arrived(self, subject: str) -> bool:
        """Say whether anything arrived on a subject in the account of the log."""
        return any(other == subject for other, _ in self.seen)


async def flush(client: Client) -> None:
    """Return when the server has taken all that `client` was given, and its answers are here.

    The library writes a ping past what still waits to be written; only the second comes after it.
    """
    await client.flush()
    await client.flush()


@asynccontextmanager
async def start_environment(folder: Path) -> AsyncIterator[Environment]:
    """Start the server, declare the log as bootstrap, and connect every identity."""
    logins = new_logins(IDENTITIES)
    conf = accounts_conf(CLUSTER, LOG.name, logins)
    conf = conf.replace(
        '{"user": "bootstrap"', f'{WITNESS}\n      {INSIDER}\n      {{"user": "bootstrap"', 1
    )
    server = NatsServer(folder, accounts=conf)
    async with AsyncExitStack() as cleanup:
        url = await server.start()
        cleanup.push_async_callback(server.stop)
        await NatsBus.declare(url, LOG, login=logins["bootstrap"])
        witness = await nats.connect(url, user="witness", password="witness")
        cleanup.push_async_callback(witness.close)
        callers: dict[str, Caller] = {}
        for identity in IDENTITIES:
            callers[identity.name] = await connect(url, logins[identity.name])
            cleanup.push_async_callback(callers[identity.name].client.close)
        result = Environment(url, logins, callers, witness)
        await _add_targets(result)
        yield result


async def connect(url: str, login: Login) -> Caller:
    """Connect with nats-py alone, so that nothing of ours keeps anybody from trying."""
    refusals: list[str] = []

    async def note_refusal(error: Exception) -> None:
        refusals.append(str(error))

    client = Client()
    try:
        await client.connect(
            url,
            user=login.user,
            password=login.password,
            inbox_prefix=login.inbox_prefix,
            error_cb=note_refusal,
            allow_reconnect=False,
        )
    except NatsError:
        if client._transport is not None:  # the library leaves it open
            client._transport.close()  # type: ignore[no-untyped-call]
        raise
    return Caller(client, refusals)


async def _add_targets(ground: Environment) -> None:
    """Add a second stream, a consumer that is not theirs, and three stored events."""
    other = {"name": OTHER, "subjects": ["other.>"], "allow_direct": True}
    await ground.ask(f"STREAM.CREATE.{OTHER}", other)
    durable = {"durable_name": DURABLE, "ack_policy": "explicit"}
    body = {"stream_name": LOG.name, "config": durable}
    await ground.ask(f"CONSUMER.DURABLE.CREATE.{LOG.name}.{DURABLE}", body)
    for subject in (OTHER_SUBJECT, f"foresail.{CLUSTER}.decision", f"foresail.{CLUSTER}.control"):
        await ground.witness.request(subject, b'{"furnished": true}', timeout=WAIT_SECONDS)

    async def see(message: Msg) -> None:
        ground.seen.append((message.subject, message.data))

    await ground.witness.subscribe(">", cb=see)
    await flush(ground.witness)
