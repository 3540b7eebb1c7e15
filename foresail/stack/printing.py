"""Prints on a thread of its own, so that a reader of the output who stops does not stop the stack."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable

from foresail.output import own_console
from schemas.wording import count_text

WAITING_LINES = 1_000
"""Lines kept for a reader that is slow; the oldest go first."""
LAST_SECONDS = 1.0
"""How long the end of a run waits for a reader to take what is left."""


class BackgroundPrinter:
    """Calls what it is given, in order, on a daemon thread.

    A full pipe or a terminal held by Ctrl-S blocks that thread alone. What does not fit into
    `limit` is left out, oldest first, and the next line that is printed says how many there were.
    """

    def __init__(self, *, limit: int = WAITING_LINES) -> None:
        """Start the thread; call this on the event loop that `wait_broken` is awaited on."""
        self.console = own_console()
        """Writes past the buffer of sys.stdout, whose lock a blocked thread would keep."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._limit = limit
        self._left_out = 0
        self._closed = False
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        self._broken: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="printer", daemon=True)
        self._thread.start()

    def print(self, text: str) -> None:
        """Print one line when its turn comes; never wait."""
        self.call(lambda: self.console.print(text, markup=False))

    def call(self, draw: Callable[[], None], *, newest_only: bool = False) -> None:
        """Call `draw` on the thread when its turn comes; never wait.

        With `newest_only`, what still waits is outdated by `draw` and is not called.
        """
        with self._changed:
            if newest_only:
                self._waiting.clear()
            elif len(self._waiting) == self._limit:
                self._waiting.popleft()
                self._left_out += 1
            self._waiting.append(draw)
            self._changed.notify()

    async def wait_broken(self) -> None:
        """Wait until nothing can be printed any more.

        Raises:
            BrokenPipeError: the reader of a pipe went away.
            OSError: the output cannot be written, a full disk for one.
        """
        await asyncio.shield(self._broken)

    def close(self) -> None:
        """Take no more; wait for what is left, `LAST_SECONDS` at most."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        try:
            while (draw := self._next()) is not None:
                draw()
        except OSError as error:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._break, error)

    def _next(self) -> Callable[[], None] | None:
        """Return what is printed next, once there is something; None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            draw, left_out = self._waiting.popleft(), self._left_out
            self._left_out = 0
        if left_out:
            text = count_text(left_out, "line was left out", "lines were left out")
            self.console.print(f"({text}: nobody read them)", markup=False)
        return draw

    def _break(self, error: OSError) -> None:
        if not self._broken.done():
            self._broken.set_exception(error)
