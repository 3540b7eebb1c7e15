"""Takes a large result out of a pod's log while it is printed, so that it is not lost with the pod."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from lab.sessions.engines.object_watch import (
    FIRST_WAIT_SECONDS,
    LONGEST_WAIT_SECONDS,
    SILENT_SECONDS,
)
from lab.sessions.engines.pod_script import MARKER, PIECE
from lab.sessions.engines.port import RESULT_BYTES
from services.byte_stream import StreamOpened
from services.cluster import ClusterRefused, ClusterUnavailable
from services.kube_follow import WatchTransport

LONGEST_LINE = 2 * PIECE
"""Bytes; of a longer line, which has no end yet, only this last part can hold a piece."""
END_SECONDS = 5.0
"""How long the rest of a log is waited for once its container has ended."""
_MARK = MARKER.encode()


class LogFollower:
    """The marked lines of one pod's log, as far as they have come."""

    def __init__(self, transport: WatchTransport, path: str) -> None:
        """Begin to follow the log at `path`; `close` ends it."""
        self._transport, self._path = transport, path
        self._lines: dict[bytes, None] = {}
        self._bytes = 0
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def text(self) -> str:
        """Return the marked lines, once the log has ended or nothing more has come for a while."""
        await asyncio.wait([self._task], timeout=END_SECONDS)
        return b"\n".join(self._lines).decode(errors="replace")

    def close(self) -> None:
        """Stop following."""
        self._task.cancel()

    async def _follow(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                await self._read()
            except ClusterUnavailable:
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
            except ClusterRefused:
                return  # it is gone, or not ours to read: at the end it is asked for once more
            else:
                return

    async def _read(self) -> None:
        """Read the log from its beginning to its end; lines that came before are the same ones."""
        rest = b""
        stream = self._transport.watch(
            self._path, {"follow": "true"}, silent_seconds=SILENT_SECONDS
        )
        async with aclosing(stream) as pieces:
            async for piece in pieces:
                if isinstance(piece, StreamOpened):
                    continue
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._take(line)
                rest = rest[-LONGEST_LINE:]

    def _take(self, line: bytes) -> None:
        place = line.find(_MARK)
        marked = line[place:]
        if place >= 0 and marked not in self._lines and self._bytes < 2 * RESULT_BYTES:
            self._bytes += len(marked)
            self._lines[marked] = None
