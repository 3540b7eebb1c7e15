"""A TCP proxy before nats-server that loses acknowledgements: a publish reaches the server, and the
connection breaks before the answer comes back.

Each message's first acknowledgement is lost, its later ones pass, so every single event of the
chosen processes is published at least twice.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from bus.ports import free_port

CHUNK_BYTES = 65_536
CONNECT = re.compile(rb"CONNECT (\{[^\r\n]*\})\r\n")


@dataclass
class AckLosingProxy:
    """Forwards bytes both ways and breaks a connection at a first acknowledgement."""

    target_port: int
    processes: Collection[str]
    """Client names whose acknowledgements are lost; others pass."""
    lost: int = 0
    """Connections broken so far."""
    active: bool = True
    _seen: set[int] = field(default_factory=set)
    """Positions whose acknowledgement was lost already."""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _port: int = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen on a free loopback port."""
        self._port = free_port()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def loses_ack(self, frame: bytes, name: str) -> bool:
        """Say whether a server's bytes hold a first acknowledgement for a chosen process."""
        if not self.active or name not in self.processes:
            return False
        for match in re.finditer(rb'\{"stream":[^{}\r\n]*"seq":\s*(\d+)[^{}\r\n]*\}', frame):
            seq = int(match[1])
            if seq not in self._seen:
                self._seen.add(seq)
                self.lost += 1
                return True
        return False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.close()
            return
        name: list[str] = []
        pumps = (
            asyncio.create_task(self._up(reader, up_writer, name)),
            asyncio.create_task(self._down(up_reader, writer, name)),
        )
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (writer, up_writer):
                with suppress(OSError, RuntimeError):
                    stream.close()

    async def _up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: list[str]
    ) -> None:
        head = b""
        while data := await reader.read(CHUNK_BYTES):
            if not name:
                head += data
                match = CONNECT.search(head)
                if match is not None:
                    name.append(str(json.loads(match[1]).get("name", "")))
            writer.write(data)
            await writer.drain()

    async def _down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: list[str]
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if name and self.loses_ack(data, name[0]):
                return
            writer.write(data)
            await writer.drain()
