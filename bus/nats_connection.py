"""Connecting to a nats-server: what is checked before the first message, and how errors are worded."""

from __future__ import annotations

import bus.lean_nats  # noqa: F401  # before nats itself

# isort: split

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from bus.errors import BusUnavailable, ConfigError, JetStreamMissing, ServerTooOld
from bus.login import ANONYMOUS, API, Login
from bus.nats_client import LightClient

OLDEST_SERVER = (2, 12)
"""Atomic batches."""
ACK_SECONDS = 5.0
"""How long the server may take to answer one request."""

ADMINISTRATION_SECONDS = 120.0
"""How long a server that is connected may leave a question about a log unanswered; it is asked again meanwhile."""
CONNECT_SECONDS = 15.0
"""How long a server that takes connections may need to greet."""
TRIES = 6
"""Times a publish or a read is tried before the bus counts as unavailable."""
MOVE_ON_TRIES = 2
"""Unanswered tries after which another server of the same cluster is asked, where there is one."""
PING_SECONDS = 3
"""How often the connection is tried; after three silent pings another server is looked for."""
RESPONDER_SECONDS = 0.3
"""Pause before asking again where the server has no responder."""

_log = structlog.get_logger("bus")


async def connect_client(
    url: str,
    *,
    name: str,
    login: Login = ANONYMOUS,
    retry: bool,
    on_loss: Callable[[], None] = lambda: None,
) -> LightClient:
    """Connect to a server that is new enough; `on_loss` is called for each lost connection, before
    anything arrives over the next one.

    Raises:
        ConfigError: the URL is none.
        BusUnavailable: no server answers.
        ServerTooOld: it lacks atomic batches.
    """
    servers = [word.strip() for word in url.split(",")]
    if not all(server.startswith(("nats://", "tls://")) for server in servers):
        raise ConfigError("nats.url", url, "write it as nats://HOST:PORT, several with commas")
    client = LightClient()

    async def on_disconnect() -> None:
        client.forget_unsent()
        on_loss()

    try:
        await client.connect(
            servers,
            name=name,
            user=login.user,
            password=login.password,
            inbox_prefix=login.inbox_prefix,
            error_cb=_ignore_error,
            disconnected_cb=on_disconnect,
            connect_timeout=CONNECT_SECONDS,  # type: ignore[arg-type]  # as below
            allow_reconnect=retry,
            reconnect_time_wait=0.25,  # type: ignore[arg-type]  # seconds; the library only adds it up
            max_reconnect_attempts=-1 if retry else 1,  # 0 would mean forever, too
            ping_interval=PING_SECONDS,
            pending_size=64 * 1024**2,
        )
    except (NatsError, OSError, ValueError, TimeoutError) as error:
        await _close_quietly(client)
        raise BusUnavailable(
            f"nats.url = {url}: no nats-server answers there; start one or leave the URL out ({short_error(error)})"
        ) from error
    version = client.connected_server_version
    if (version.major, version.minor) < OLDEST_SERVER:
        await client.close()
        running = f"{version.major}.{version.minor}.{version.patch}"
        raise ServerTooOld(
            f"nats.url = {url}: nats-server {running} is too old; use 2.12 or newer (atomic batches)"
        )
    return client


async def _close_quietly(client: Client) -> None:
    """Close what a refused connection left open; the library leaves its socket to the garbage collector."""
    with suppress(NatsError, OSError, TimeoutError):
        await client.close()


async def api_call(client: Client, call: str, body: dict[str, Any]) -> dict[str, Any]:
    """Call the JetStream API and return its answer, errors included.

    The call is made again while a connected server, busy with other work, does not answer: it must be one
    that may be made twice, as creating, changing and removing a log are.

    Raises:
        JetStreamMissing: the server runs without JetStream.
        BusUnavailable: it does not answer, or the connection is lost.
    """
    for _ in range(round(ADMINISTRATION_SECONDS / ACK_SECONDS)):
        try:
            reply = await client.request(
                f"{API}.{call}", json.dumps(body).encode(), timeout=ACK_SECONDS
            )
        except NoRespondersError as error:
            raise JetStreamMissing(
                "nats.url: that nats-server runs without JetStream; start it with -js"
            ) from error
        except (NatsError, TimeoutError) as error:
            unanswered = error
            if not client.is_connected or not isinstance(error, TimeoutError):
                break
        else:
            answer: dict[str, Any] = json.loads(reply.data)
            return answer
    raise BusUnavailable(
        f"the nats-server does not answer {call} ({short_error(unanswered)})"
    ) from unanswered


async def _ignore_error(error: Exception) -> None:
    """Connection errors are handled where they matter; the library would print each with a
    traceback.
    """
    _log.debug("nats", error=str(error))


def short_error(error: object) -> str:
    """Return an error in a few words, without the library's prefix."""
    text = str(error) or type(error).__name__
    return text.removeprefix("nats: ")
