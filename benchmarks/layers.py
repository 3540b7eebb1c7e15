"""The layers as real, separate processes on a real nats-server, without anything that the stack adds.

`running` starts the server, declares the log and starts the services asked for, each as
`python -m services.<name>` with the settings given; it returns when all of them are live, and stops
everything on the way out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scene import CLUSTER, INCARNATION
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message, StoredMessage
from bus.streams import StreamDeclaration
from schemas.agents import agent_names

LIVE_SECONDS = 60.0
STOP_SECONDS = 20.0
REPOSITORY = Path(__file__).parents[1]
DECIDING: Mapping[str, tuple[str, ...]] = {
    "inference": ("services.inference",),
    **{f"agent-{name}": ("services.agents", name) for name in agent_names()},
    "referee": ("services.referee",),
}
"""From an observation to its decision."""


@dataclass(frozen=True)
class Layers:
    """What runs: the log's connection and every process by name."""

    bus: NatsBus
    url: str
    stream: str
    pids: Mapping[str, int]
    live_seconds: float
    """From starting the services until the last of them was live."""


@contextlib.asynccontextmanager
async def running(
    modules: Mapping[str, tuple[str, ...]],
    *,
    sync_interval: str = "1s",
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Layers]:
    """Run services until the block ends; `settings` by process name, defaults elsewhere."""
    async with contextlib.AsyncExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        server = NatsServer(folder / "nats", sync_interval=sync_interval)
        url = await server.start()
        cleanup.push_async_callback(server.stop)
        declaration = StreamDeclaration.of(CLUSTER, INCARNATION)
        await NatsBus.declare(url, declaration)
        bus = await NatsBus.connect(url, cluster=CLUSTER, stream=declaration.name)
        cleanup.push_async_callback(bus.close)
        began = asyncio.get_running_loop().time()
        waiting = asyncio.create_task(_until_live(bus, set(modules)))
        pids = {"nats-server": server.pid}
        for name, words in modules.items():
            settings_json = json.dumps((settings or {}).get(name, {}))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *words),
                cwd=REPOSITORY,
                stdout=asyncio.subprocess.DEVNULL,
                env={
                    **os.environ,
                    **_variables(url, declaration.name),
                    **(environment or {}),
                    "FORESAIL_SETTINGS": settings_json,
                },
            )
            cleanup.push_async_callback(_stop, process)
            pids[name] = process.pid
        await asyncio.wait_for(waiting, LIVE_SECONDS)
        seconds = asyncio.get_running_loop().time() - began
        yield Layers(bus, url, declaration.name, pids, seconds)


def as_new_messages(recorded: Sequence[StoredMessage]) -> list[Message]:
    """Return recorded events as they are published again."""
    return [Message(message.subject, message.headers, message.data) for message in recorded]


def _variables(url: str, stream: str) -> dict[str, str]:
    return {
        "FORESAIL_CLUSTER": CLUSTER,
        "FORESAIL_INCARNATION": INCARNATION,
        "FORESAIL_STREAM": stream,
        "FORESAIL_NATS_URL": url,
        "FORESAIL_PARENT": str(os.getpid()),
    }


async def _until_live(bus: NatsBus, names: set[str]) -> None:
    async with aclosing(bus.heartbeats()) as heartbeats:
        async for name, payload in heartbeats:
            if json.loads(payload)["state"] == "live":
                names.discard(name)
            if not names:
                return


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
