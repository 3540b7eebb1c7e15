"""A log on a real nats-server, a writer for it, and recorders as processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message, StoredMessage
from bus.recording import open_recording
from bus.streams import StreamDeclaration

CLUSTER, INCARNATION = "c", "i1"
SUBJECT = f"foresail.{CLUSTER}.decision"


@dataclass
class Log:
    """A log on a server of the test's own."""

    url: str
    bus: NatsBus
    stream: str
    written: int = 0
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def write(self, count: int, size: int = 20) -> None:
        """Store so many messages more."""
        for _ in range(count):
            self.written += 1
            one = f"d{self.written}"
            data = json.dumps({"number": self.written, "filling": os.urandom(size // 2).hex()})
            message = Message(SUBJECT, {"Nats-Msg-Id": one, "ce-id": one}, data.encode())
            await self.bus.publish([message])

    async def start_recorder(
        self, settings: Mapping[str, Any], log: Path
    ) -> asyncio.subprocess.Process:
        """Start a recorder as `foresail up` does, and wait until it records."""
        before = starts(log)
        environment = {
            **os.environ,
            "FORESAIL_CLUSTER": CLUSTER,
            "FORESAIL_INCARNATION": INCARNATION,
            "FORESAIL_STREAM": self.stream,
            "FORESAIL_NATS_URL": self.url,
            "FORESAIL_SETTINGS": json.dumps(dict(settings)),
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
        }
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "services.recorder"),
                env=environment,
                stdout=output,
                stderr=output,
            )
        self.processes.append(process)
        await until(lambda: starts(log) > before or process.returncode is not None)
        return process

    async def stored(self) -> list[StoredMessage]:
        """Return all that the log holds."""
        return [message async for message in self.bus.history([f"foresail.{CLUSTER}.>"])]


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    """Return an empty log."""
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    declaration = StreamDeclaration.of(CLUSTER, INCARNATION)
    await NatsBus.declare(url, declaration)
    bus = await NatsBus.connect(url, cluster=CLUSTER, stream=declaration.name)
    one = Log(url, bus, declaration.name)
    try:
        yield one
    finally:
        for process in one.processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
        await bus.close()
        await server.stop()


def recorded(folder: Path, ending: str = ".fslog") -> list[StoredMessage]:
    """Return every message of the recordings in a folder, each file in the order of its name, doubles too."""
    found: list[StoredMessage] = []
    for file in sorted(folder.glob(f"*{ending}")):
        recording = open_recording(file)
        found += recording
        assert recording.sealed or ending != ".fslog", f"{file.name}: {recording.damage}"
    return found


def log_lines(log: Path) -> list[dict[str, Any]]:
    """Return what a process wrote to its log."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def starts(log: Path) -> int:
    """Return how often a recorder has begun to record."""
    return log.read_text(encoding="utf-8").count('"records on"') if log.exists() else 0


async def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.05)
