"""The dashboard as the process that people run, over a real nats-server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Bus
from bus.ports import free_port
from bus.streams import StreamDeclaration
from schemas.envelope import Event
from services.dashboard.service import listen
from services.dashboard.settings import DashboardSettings
from tests.builders import ORIGIN
from tests.dashboard.built_cycles import cycles, message_of
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.nats
ROOT = Path(__file__).parents[2]
POLL_SECONDS = 0.05


@asynccontextmanager
async def a_log(folder: Path) -> AsyncIterator[tuple[Bus, dict[str, str]]]:
    """Start a server with a log; give a connection and the environment of a process on it."""
    server = NatsServer(folder / "nats")
    url = await server.start()
    declaration = StreamDeclaration.of(ORIGIN.cluster, ORIGIN.incarnation)
    await NatsBus.declare(url, declaration)
    bus = await NatsBus.connect(url, cluster=ORIGIN.cluster, stream=declaration.name)
    try:
        yield bus, environment_of(url, declaration.name)
    finally:
        await bus.close()
        await server.stop()


def environment_of(url: str, stream: str) -> dict[str, str]:
    """Return what a process is told of the log."""
    return {
        **os.environ,
        "FORESAIL_CLUSTER": ORIGIN.cluster,
        "FORESAIL_INCARNATION": ORIGIN.incarnation,
        "FORESAIL_STREAM": stream,
        "FORESAIL_NATS_URL": url,
    }


@asynccontextmanager
async def start_process(
    environment: dict[str, str], **settings: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `python -m services.dashboard`; it is gone afterwards, also when the test fails."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "services.dashboard"),
        cwd=ROOT,
        env={**environment, "FORESAIL_SETTINGS": json.dumps(settings)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def store(bus: Bus, events: list[Event[Any]]) -> None:
    """Publish events one by one, as their producers would."""
    for event in events:
        await bus.publish([message_of(event)])


async def state_at(http: httpx.AsyncClient, seq: int) -> dict[str, Any]:
    """Return the state once it holds the event of that seq."""
    async with asyncio.timeout(HANGS_SECONDS):
        while True:
            try:
                state: dict[str, Any] = (await http.get("/api/state")).json()
            except httpx.TransportError:
                state = {"seq": 0}
            if state["seq"] >= seq:
                return state
            await asyncio.sleep(POLL_SECONDS)


async def wait_for_end(process: asyncio.subprocess.Process, seconds: float) -> str:
    """Wait for the end of a process; return what it complained about."""
    _, errors = await asyncio.wait_for(process.communicate(), seconds)
    return errors.decode()


def client(port: int) -> httpx.AsyncClient:
    """Return a client of the page."""
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=HANGS_SECONDS)


async def test_it_reads_history_and_tail_and_stops_with_a_page_open(tmp_path: Path) -> None:
    """What was stored before and after its start is shown; SIGTERM ends it with 0 in seconds."""
    events = cycles(3)
    port = free_port()
    async with a_log(tmp_path) as (bus, environment):
        await store(bus, events[:30])
        async with start_process(environment, port=port) as process, client(port) as http:
            assert (await state_at(http, 30))["sections"]["decision"]["cycle"] == 2
            await store(bus, events[30:])
            assert (await state_at(http, 45))["sections"]["decision"]["cycle"] == 3
            event = (await http.get("/api/events/41")).json()
            assert event["subject"] == f"foresail.{ORIGIN.cluster}.decision"
            async with http.stream("GET", "/api/stream") as stream:
                assert (await anext(stream.aiter_lines())) == "id: 45"
                process.send_signal(signal.SIGTERM)
                errors = await wait_for_end(process, 10)
    assert (process.returncode, errors) == (0, "")


async def test_it_stores_nothing(tmp_path: Path) -> None:
    """The dashboard only subscribes: the log is as long after it as before."""
    port = free_port()
    async with a_log(tmp_path) as (bus, environment):
        await store(bus, cycles(1))
        async with start_process(environment, port=port) as process, client(port) as http:
            await state_at(http, 15)
            process.send_signal(signal.SIGTERM)
            await wait_for_end(process, 10)
        assert (await bus.info()).last_seq == 15


@pytest.mark.parametrize(
    ("settings", "named"), [({"port": 70_000}, "port"), ({"colour": "red"}, "colour")]
)
async def test_bad_settings_are_one_line(
    tmp_path: Path, settings: dict[str, Any], named: str
) -> None:
    """A wrong value or an unknown key names itself on one line, with exit code 2."""
    async with (
        a_log(tmp_path) as (_, environment),
        start_process(environment, **settings) as process,
    ):
        errors = await wait_for_end(process, HANGS_SECONDS)
    assert process.returncode == 2
    assert named in errors
    assert errors.count("\n") == 1


async def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    """A port that somebody listens on ends the process with 2 and the remedy."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        async with (
            a_log(tmp_path) as (_, environment),
            start_process(environment, port=port) as process,
        ):
            errors = await wait_for_end(process, HANGS_SECONDS)
    assert process.returncode == 2
    assert "--dashboard-port" in errors
    assert errors.count("\n") == 1


async def test_answers_are_sent_at_once() -> None:
    """Not after a late acknowledgement of their headers, which takes 40 ms."""
    accepted: asyncio.Queue[bool] = asyncio.Queue()

    def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.put_nowait(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    listening = listen(DashboardSettings(port=0))
    async with await asyncio.start_server(note, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await accepted.get()
        writer.close()
