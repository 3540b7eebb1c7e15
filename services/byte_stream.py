"""An answer that never ends, read by a thread and handed over piece by piece to the event loop.

The official client blocks, so each open watch has a thread of its own. It stops reading while
`MOST_WAITING` pieces wait, so a slow reader makes the server wait and not our memory grow. The end of
the process does not wait for it: a server that hangs would hold it up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from bus.errors import ForesailError

MOST_WAITING = 32
"""Pieces between the thread and the loop."""
THREAD = "watch"
"""Name of the threads."""
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The server has begun to answer; always the first piece."""

    cluster_time_seconds: float
    """The server's clock then, seconds since the Unix epoch."""


class OpenAnswer(Protocol):
    """An answer that is being read."""

    @property
    def opened(self) -> StreamOpened:
        """When it began."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """Return its bytes as they come."""
        ...

    def abort(self) -> None:
        """Make a read that is under way in another thread end at once."""
        ...


Piece = StreamOpened | bytes


class _Pump:
    """The thread's side."""

    def __init__(self, open_answer: Callable[[], OpenAnswer]) -> None:
        self._open = open_answer
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(MOST_WAITING)
        self._stopped = threading.Event()
        self._answer: OpenAnswer | None = None
        self.queue: asyncio.Queue[Piece | ForesailError | None] = asyncio.Queue()
        """Pieces, why there are no more, and None at the end."""

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, name=THREAD, daemon=True).start()

    def _run(self) -> None:
        try:
            self._answer = self._open()
            if self._stopped.is_set():  # while it was being opened
                return
            self._hand_over(self._answer.opened)
            for piece in self._answer.pieces():
                if self._stopped.is_set():
                    return
                self._hand_over(piece)
        except ForesailError as error:
            self._hand_over(error)
        finally:
            self._hand_over(None)
            self._abort()

    def _hand_over(self, piece: Piece | ForesailError | None) -> None:
        while not self._room.acquire(timeout=_LOOK_SECONDS):
            if self._stopped.is_set():
                return
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.queue.put_nowait, piece)

    def taken(self) -> None:
        """A piece was taken: there is room for another."""
        self._room.release()

    def stop(self) -> None:
        """Let the thread end, whatever it waits for."""
        self._stopped.set()
        self._room.release()
        self._abort()

    def _abort(self) -> None:
        if self._answer is not None:
            with suppress(ValueError, RuntimeError, OSError):  # it has ended by itself
                self._answer.abort()


async def stream_pieces(open_answer: Callable[[], OpenAnswer]) -> AsyncGenerator[Piece]:
    """Open an answer in a thread and yield its pieces; closing the generator closes the connection.

    Raises what `open_answer` and the answer's `pieces` raise of our own errors.
    """
    pump = _Pump(open_answer)
    pump.start()
    try:
        while True:
            piece = await pump.queue.get()
            pump.taken()
            if piece is None:
                return
            if isinstance(piece, ForesailError):
                raise piece
            yield piece
    finally:
        pump.stop()
