"""kubectl's port-forward: SPDY/3.1 inside one WebSocket, two streams for each connection of its user.

A pair has one `requestid`: the `data` stream carries the bytes, the `error` stream says what went wrong; both
name the `port` (k8s.io/kubectl pkg/polymorphichelpers and the protocol portforward.k8s.io).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from twin.api.spdy import Data, Framer, Opened, Ping, Reset
from twin.errors import ApiError

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
ALLOWED_NAME = "SPDY-3.1+portforward.k8s.io"
"""What it is called between the connection and the application."""
MOST_STREAMS = 256
"""Streams that are open at once; more are not answered."""
_PIECE = 16 << 10
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class _Pair:
    """The two streams of one connection."""

    port: int = 0
    data: int = 0
    error: int = 0
    writer: asyncio.StreamWriter | None = None
    waiting: list[bytes] = field(default_factory=list)  # what came before the port was open
    ended: bool = False  # the peer will send nothing more


class Tunnel:
    """One port-forward of one client."""

    def __init__(self, receive: Receive, send: Send) -> None:
        """Carry it over a WebSocket that has been accepted."""
        self._receive = receive
        self._send = send
        self._framer = Framer()
        self._pairs: dict[str, _Pair] = {}
        self._of_data: dict[int, _Pair] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Carry bytes until the client leaves."""
        try:
            while (message := await self._receive())["type"] == "websocket.receive":
                for frame in self._framer.read(message.get("bytes") or b""):
                    await self._take(frame)
        except ApiError:
            await self._send({"type": "websocket.close", "code": 1002})
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for pair in self._of_data.values():
                if pair.writer is not None:
                    pair.writer.close()

    async def _take(self, frame: Opened | Data | Reset | Ping) -> None:
        match frame:
            case Ping(number):
                await self._put(self._framer.ping(number))
            case Opened():
                await self._open(frame)
            case Data(stream, data, ends) if stream in self._of_data:
                await self._hand_on(self._of_data[stream], data, ends=ends)
            case Reset(stream) if stream in self._of_data:
                pair = self._of_data.pop(stream)
                if pair.writer is not None:
                    pair.writer.close()

    async def _open(self, frame: Opened) -> None:
        headers = frame.headers
        kind, number = headers.get("streamtype", ""), headers.get("requestid", "")
        port = headers.get("port", "")
        if kind not in ("data", "error") or not port.isdigit() or len(self._pairs) >= MOST_STREAMS:
            return
        pair = self._pairs.setdefault(number, _Pair())
        pair.port = int(port)
        if kind == "data":
            pair.data = frame.stream
            self._of_data[frame.stream] = pair
        else:
            pair.error = frame.stream
        await self._put(self._framer.reply(frame.stream))
        if pair.data and pair.error:
            del self._pairs[number]
            task = asyncio.create_task(self._carry(pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, pair: _Pair) -> None:
        """Connect to a port of this machine and send what it says."""
        trouble = b""
        try:
            reader, pair.writer = await asyncio.open_connection("127.0.0.1", pair.port)
            for data in pair.waiting:
                pair.writer.write(data)
            if pair.ended:
                pair.writer.write_eof()
            while data := await reader.read(_PIECE):
                await self._put(self._framer.data(pair.data, data))
        except OSError as error:
            why = error.strerror or str(error)
            trouble = f"error forwarding port {pair.port} to pod: {why}".encode()
        await self._put(self._framer.data(pair.error, trouble, ends=True))
        await self._put(self._framer.data(pair.data, b"", ends=True))
        if pair.writer is not None:
            pair.writer.close()

    async def _hand_on(self, pair: _Pair, data: bytes, *, ends: bool) -> None:
        pair.ended = pair.ended or ends
        if pair.writer is None:
            pair.waiting.append(data)
            return
        with suppress(OSError, RuntimeError):  # it is closed already
            pair.writer.write(data)
            await pair.writer.drain()
            if ends:
                pair.writer.write_eof()

    async def _put(self, frame: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": frame})
