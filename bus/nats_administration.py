"""Creating and removing a log, which only the bootstrap may do."""

from __future__ import annotations

from bus.errors import BusUnavailable, ConfigError
from bus.login import ANONYMOUS, Login
from bus.nats_connection import api_call, connect_client
from bus.nats_wire import TEMPORARY
from bus.streams import StreamDeclaration


async def declare(
    url: str,
    declaration: StreamDeclaration,
    *,
    login: Login = ANONYMOUS,
) -> None:
    """Create the log, or bring an existing one to its declaration; for the bootstrap only.

    Raises:
        JetStreamMissing: the server has none.
        BusUnavailable: no server answers, or the cluster has no leader right now.
        ConfigError: the server refuses, for example because another stream holds the subjects.
    """
    client = await connect_client(url, name="foresail-bootstrap", login=login, retry=False)
    try:
        config = declaration.config()
        answer = await api_call(client, f"STREAM.CREATE.{declaration.name}", config)
        if (
            "error" in answer and answer["error"].get("err_code") == 10058
        ):  # it exists with another configuration
            answer = await api_call(client, f"STREAM.UPDATE.{declaration.name}", config)
        if (answer.get("error") or {}).get("err_code") in TEMPORARY:
            raise BusUnavailable(f"nats.url = {url}: {answer['error']['description']}")
        if "error" in answer:
            raise ConfigError(
                "nats.url",
                url,
                f"the server refuses the log: {answer['error']['description']}; give another --cluster",
            )
    finally:
        await client.close()


async def remove(url: str, name: str, *, login: Login = ANONYMOUS) -> None:
    """Remove a log if it is there, with everything in it; for the bootstrap only, and replays.

    Raises:
        BusUnavailable, JetStreamMissing: see `bus.nats_connection`.
    """
    client = await connect_client(url, name="foresail-bootstrap", login=login, retry=False)
    try:
        await api_call(client, f"STREAM.DELETE.{name}", {})
    finally:
        await client.close()
