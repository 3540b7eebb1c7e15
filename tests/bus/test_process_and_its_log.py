"""A process whose log went back ends at once with one line, so that its next start reads what is there."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.nats
DECLARATION = StreamDeclaration.of("c", "i1")
REPOSITORY = Path(__file__).parents[2]


async def start(url: str) -> asyncio.subprocess.Process:
    """Start the referee, the simplest service."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("FORESAIL_")},
        "PYTHONPATH": str(REPOSITORY),
        "FORESAIL_CLUSTER": "c",
        "FORESAIL_INCARNATION": "i1",
        "FORESAIL_STREAM": DECLARATION.name,
        "FORESAIL_NATS_URL": url,
    }
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.referee"),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def live(url: str) -> int:
    """Wait until the referee has applied its own first event and follows; return the log's length."""
    bus = await NatsBus.connect(url, cluster="c", stream=DECLARATION.name)
    async with asyncio.timeout(HANGS_SECONDS), aclosing(bus.heartbeats("referee")) as heartbeats:
        async for _, payload in heartbeats:
            heartbeat = json.loads(payload)
            if heartbeat["state"] == "live" and heartbeat["seq"] >= 1:
                break
    length = await bus.last_seq()
    await bus.close()
    return length


async def test_it_ends_and_its_next_start_goes_on(tmp_path: Path) -> None:
    """The store is put back to before its first event: exit code 1, one line that says why, no
    traceback; started again, it says what the log then lacks.
    """
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    await NatsBus.declare(url, DECLARATION)
    await server.stop()
    shutil.copytree(tmp_path / "nats", tmp_path / "copy")
    await server.restart()
    process = await start(url)
    assert await live(url) >= 1
    await server.stop()
    shutil.rmtree(tmp_path / "nats")
    shutil.copytree(tmp_path / "copy", tmp_path / "nats")
    await server.restart()
    async with asyncio.timeout(HANGS_SECONDS):
        output, _ = await process.communicate()
    again = await start(url)
    assert await live(url) >= 1
    again.terminate()
    await again.communicate()
    await server.stop()

    assert 1 == process.returncode
    assert b"the log went back" in output
    assert b"Traceback" not in output
