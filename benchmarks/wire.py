"""A client that costs next to nothing, so that what is measured is the server.

It writes requests that were put together once and counts bytes: all answers to one request have the
same length, so no answer is parsed while the clock runs.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Door:
    """Where a server is and how to get in."""

    host: str
    port: int
    trust: ssl.SSLContext
    token: str

    def request(self, path: str) -> bytes:
        """Return the bytes of a GET."""
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            f"Authorization: Bearer {self.token}",
            "Accept: application/json",
            "\r\n",
        )
        return "\r\n".join(lines).encode()

    async def fetch(self, path: str, until: bytes = b"") -> bytes:
        """Return the body of one answer, or what of it comes `until` a text has been seen.

        Raises ValueError for any other status than 200.
        """
        reader, writer = await asyncio.open_connection(
            self.host, self.port, ssl=self.trust, limit=READ_BYTES
        )
        try:
            writer.write(self.request(path))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ValueError(head.decode(errors="replace"))
            return await _body(reader, head.lower(), until)
        finally:
            writer.transport.abort()

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of an answer without end, as they come, until it ends.

        Raises ValueError for any other status than 200.
        """
        reader, writer = await asyncio.open_connection(
            self.host, self.port, ssl=self.trust, limit=READ_BYTES
        )
        try:
            writer.write(self.request(path))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ValueError(head.decode(errors="replace"))
            rest = b""
            while size := int(await reader.readuntil(b"\r\n"), 16):
                chunk = await reader.readexactly(size + 2)
                *whole, rest = (rest + chunk[:-2]).split(b"\n")
                for line in whole:
                    yield line
        finally:
            writer.transport.abort()

    async def length(self, path: str) -> int:
        """Return the length of a whole answer, head and body, of one that is not in chunks."""
        reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.trust)
        try:
            writer.write(self.request(path))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ValueError(head.decode(errors="replace"))
            return len(head) + _content_length(head.lower())
        finally:
            writer.transport.abort()


async def rate(door: Door, path: str, connections: int, deep: int, seconds: float) -> float:
    """Return answers a second to one GET, asked over and over with `deep` requests under way on
    each connection.
    """
    loop, request, length = asyncio.get_running_loop(), door.request(path), await door.length(path)
    askers = []
    for _ in range(connections):
        asker = _Asker(request, length, deep)
        await loop.create_connection(lambda made=asker: made, door.host, door.port, ssl=door.trust)
        askers.append(asker)
    await asyncio.sleep(seconds / 5)
    began, before = time.perf_counter(), sum(asker.answers for asker in askers)
    await asyncio.sleep(seconds)
    took, answers = time.perf_counter() - began, sum(asker.answers for asker in askers) - before
    for asker in askers:
        asker.close()
    return answers / took


class _Asker(asyncio.Protocol):
    def __init__(self, request: bytes, length: int, deep: int) -> None:
        self._request, self._length, self._deep = request, length, deep
        self._received = 0
        self.answers = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport  # uvloop has classes of its own
        transport.write(self._request * self._deep)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        answers = self._received // self._length
        if answers > self.answers:
            self._transport.write(self._request * (answers - self.answers))
            self.answers = answers

    def close(self) -> None:
        self._transport.abort()


async def _body(reader: asyncio.StreamReader, head: bytes, until: bytes) -> bytes:
    if b"content-length:" in head:
        return await reader.readexactly(_content_length(head))
    parts = []
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        chunk = await reader.readexactly(size + 2)
        parts.append(memoryview(chunk)[:-2])
        if size == 0 or (until and until in chunk):
            return b"".join(parts)


def _content_length(head: bytes) -> int:
    return int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
