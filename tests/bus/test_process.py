"""A service as a process: exit codes that mean something, heartbeats while it lives, a prompt end when told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.nats
DECLARATION = StreamDeclaration.of("c", "i1")
REPOSITORY = Path(__file__).parents[2]

Environment = dict[str, str]


@pytest_asyncio.fixture
async def environment(tmp_path: Path) -> AsyncIterator[Environment]:
    """Give the environment that `foresail up` gives its processes."""
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    await NatsBus.declare(url, DECLARATION)
    yield {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "FORESAIL_CLUSTER": "c",
        "FORESAIL_INCARNATION": "i1",
        "FORESAIL_STREAM": DECLARATION.name,
        "FORESAIL_NATS_URL": url,
    }
    await server.stop()


async def start(environment: Environment, **changes: str) -> asyncio.subprocess.Process:
    """Start the referee, the simplest service."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.referee"),
        env={**environment, **changes},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_it_sends_heartbeats_and_ends_when_told(environment: Environment) -> None:
    """Heartbeats tell state, pid and memory; SIGTERM ends it with exit code 0 within seconds."""
    process = await start(environment)
    bus = await NatsBus.connect(
        environment["FORESAIL_NATS_URL"], cluster="c", stream=DECLARATION.name
    )
    async with asyncio.timeout(HANGS_SECONDS), aclosing(bus.heartbeats()) as heartbeats:
        name, heartbeat = "", {"state": "starting"}
        while heartbeat["state"] != "live":
            name, payload = await anext(heartbeats)
            heartbeat = json.loads(payload)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(HANGS_SECONDS):
        await process.communicate()
    await bus.close()

    assert ("referee", process.pid) == (name, heartbeat["pid"])
    assert heartbeat["rss_bytes"] > 1_000_000
    assert 0 == process.returncode


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"FORESAIL_STREAM": ""}, "FORESAIL_STREAM = (unset): set it"),
        ({"FORESAIL_SETTINGS": '{"deadline_share_ratio": 7}'}, "deadline_share_ratio = 7"),
        ({"FORESAIL_SETTINGS": "{"}, "FORESAIL_SETTINGS = {"),
    ],
)
async def test_bad_input_is_one_line_and_exit_code_2(
    environment: Environment, changes: dict[str, str], line: str
) -> None:
    """The supervisor does not try again what cannot work."""
    process = await start(environment, **changes)
    async with asyncio.timeout(HANGS_SECONDS):
        _, output = await process.communicate()

    assert 2 == process.returncode
    assert 1 == len(output.decode().strip().splitlines())
    assert line in output.decode()


async def test_an_outage_ends_it_with_exit_code_1(environment: Environment) -> None:
    """No server is no bad input: the process ends and may be started again."""
    process = await start(environment, FORESAIL_NATS_URL="nats://127.0.0.1:9")
    async with asyncio.timeout(HANGS_SECONDS):
        out, _ = await process.communicate()

    assert 1 == process.returncode
    assert "no nats-server answers" in out.decode()
