"""The edges of the NATS adapter: outages, wrong servers, wrong addresses; each one clear line, nothing lost."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing, closing
from pathlib import Path

import pytest
import pytest_asyncio

from bus.errors import BusUnavailable, ConfigError, JetStreamMissing, ServerTooOld, StreamMissing
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer, server_binary
from bus.port import Message
from bus.ports import free_port
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.nats
DECLARATION = StreamDeclaration.of("c", "i1")
EVERYTHING = ["foresail.c.>"]


def message(number: int) -> Message:
    """Return the n-th message of one subject."""
    return Message(
        "foresail.c.decision", {"Nats-Msg-Id": f"d{number}", "ce-id": f"d{number}"}, b"{}"
    )


async def connect(url: str) -> NatsBus:
    """Connect to the log."""
    return await NatsBus.connect(url, cluster="c", stream=DECLARATION.name)


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Give a server with the log."""
    running = NatsServer(tmp_path / "nats")
    await NatsBus.declare(await running.start(), DECLARATION)
    yield running
    await running.stop()


async def test_a_restarted_server_loses_nothing(server: NatsServer, tmp_path: Path) -> None:
    """Reader and writer outlive the server: everything is stored once and read once, in order."""
    writer, reader = await connect(server.url), await connect(server.url)
    seen: list[str] = []

    async def read() -> None:
        async with aclosing(reader.read(EVERYTHING)) as messages:
            async for message in messages:
                seen.append(message.headers["ce-id"])  # noqa: PERF401 - the list is read while it grows

    reading = asyncio.create_task(read())
    for number in range(10):
        await writer.publish([message(number)])
    port = int(server.url.rsplit(":", 1)[1])
    await server.stop()
    again = NatsServer(tmp_path / "nats", port=port)
    publishing = asyncio.create_task(writer.publish([message(10)]))
    await again.start()
    await publishing
    for number in range(11, 20):
        await writer.publish([message(number)])
    async with asyncio.timeout(HANGS_SECONDS):
        while len(seen) < 20:
            await asyncio.sleep(0.05)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    for bus in (writer, reader):
        await bus.close()
    await again.stop()

    assert [f"d{number}" for number in range(20)] == seen


async def test_declaring_twice_keeps_the_log(server: NatsServer) -> None:
    """A second start finds its log as it was."""
    bus = await connect(server.url)
    await bus.publish([message(1)])
    await NatsBus.declare(server.url, DECLARATION)

    assert 1 == (await bus.info()).last_seq
    await bus.close()


async def test_a_second_log_for_the_same_cluster_is_refused(server: NatsServer) -> None:
    """Two logs cannot hold the same subjects; the line says what to give instead."""
    with pytest.raises(ConfigError, match="another --cluster"):
        await NatsBus.declare(server.url, StreamDeclaration.of("c", "i2"))


async def test_a_log_that_is_not_there_is_named(server: NatsServer) -> None:
    """Connecting to a log that nobody declared says which."""
    with pytest.raises((StreamMissing, JetStreamMissing), match="FORESAIL_other_i1"):
        await NatsBus.connect(server.url, cluster="other", stream="FORESAIL_other_i1")


async def test_nobody_at_the_address_is_one_line() -> None:
    """A dead address is named with the remedy, within seconds."""
    with pytest.raises(
        BusUnavailable, match=r"nats\.url = nats://127\.0\.0\.1:\d+: no nats-server answers"
    ):
        await connect(f"nats://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("url", ["somewhere", "http://127.0.0.1:4222", ""])
async def test_an_address_that_is_none_is_one_line(url: str) -> None:
    """An address of the wrong form is a setting to correct, not an outage."""
    with pytest.raises(ConfigError, match="nats://HOST:PORT"):
        await connect(url)


async def test_an_old_server_is_refused() -> None:
    """A server without atomic batches is named with its version and the one that is needed."""
    info = {
        "server_id": "x",
        "version": "2.11.4",
        "proto": 1,
        "headers": True,
        "max_payload": 1048576,
        "jetstream": True,
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    fake = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = fake.sockets[0].getsockname()[1]
    async with fake:
        with pytest.raises(
            ServerTooOld, match=r"nats-server 2\.11\.4 is too old; use 2\.12 or newer"
        ):
            await connect(f"nats://127.0.0.1:{port}")


async def test_a_server_without_jetstream_is_refused() -> None:
    """A server that cannot keep a log says how to start one that can."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(server_binary(), "-a", "127.0.0.1", "-p", str(port)), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        with pytest.raises(JetStreamMissing, match="without JetStream"):
            await _declare_when_up(f"nats://127.0.0.1:{port}")
    finally:
        process.terminate()
        await process.wait()


async def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    """The embedded server names the port and what to do."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--nats-port = {port}: choose another port"):
            await NatsServer(tmp_path, port=port).start()


async def _declare_when_up(url: str) -> None:
    for _ in range(100):
        try:
            return await NatsBus.declare(url, DECLARATION)
        except BusUnavailable:
            await asyncio.sleep(0.05)
    return None
