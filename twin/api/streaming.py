"""Watches on the wire: lines go out as they come, and a watcher that does not keep up is cut.

Guarantee: a watcher gets every line in order up to some moment, then the end of its answer; it
never costs more than its bounded backlog, even if it reads nothing at all.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from twin.api.messages import WatchResponse
from twin.api.round_robin import RoundRobin
from twin.changes import Change
from twin.store import Store

BOOKMARK_SECONDS = 30.0
"""Wall seconds between two bookmarks of a silent watch; a real server sends one about once a
minute.
"""
LAST_BOOKMARK_SECONDS = 2.0
"""Wall seconds before its time-out at which a watch gets a bookmark, whatever it was sent before
(kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go, nextBookmarkTime).
"""
BACKLOG_LINES = 10_000
BACKLOG_BYTES = 32 << 20
"""What is kept for a slow watcher; one that falls further behind is cut off and lists again."""
CUT_SECONDS = 5.0
"""Wall seconds that a watcher which is cut has to take what it was sent before."""
LINES_AT_ONCE = 500

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Backlog:
    """Lines that wait to be sent to one watcher."""

    def __init__(self, lines: int = BACKLOG_LINES, size: int = BACKLOG_BYTES) -> None:
        """Keep at most so many lines of at most so many bytes together."""
        self._most = (lines, size)
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._cut = asyncio.Event()

    def put(self, line: bytes) -> None:
        """Add a line, unless one before it did not fit."""
        if self.overrun:
            return
        self._bytes += len(line)
        if len(self._lines) >= self._most[0] or self._bytes > self._most[1]:
            self._cut.set()
        else:
            self._lines.append(line)
        self._news.set()

    def take(self) -> bytes:
        """Return what waits, up to `LINES_AT_ONCE`."""
        count = min(len(self._lines), LINES_AT_ONCE)
        content = b"".join([self._lines.popleft() for _ in range(count)])
        self._bytes -= len(content)
        if not self._lines and not self.overrun:
            self._news.clear()
        return content

    def cut(self, last: bytes = b"") -> None:
        """Accept no lines after this one: waiting lines are sent, then the watch ends."""
        if last:
            self.put(last)
        self._cut.set()
        self._news.set()

    def wake(self) -> None:
        """Let who waits go on, though nothing is new."""
        self._news.set()

    async def wait(self) -> None:
        """Return when there is something to take, when it is overrun, or when it was woken."""
        await self._news.wait()

    async def wait_overrun(self) -> None:
        """Return when a line did not fit."""
        await self._cut.wait()

    @property
    def overrun(self) -> bool:
        """Whether a line did not fit or it was cut; nothing is taken from then on."""
        return self._cut.is_set()

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._lines


class BookmarkTimer:
    """Tells when a watch gets a bookmark: when it has been silent for `BOOKMARK_SECONDS`, and shortly before its
    time-out.

    One timer runs all the time and looks when it ends; one that each line began anew would cost more than
    the line.
    """

    def __init__(self, wake: Callable[[], None], seconds: float | None = None) -> None:
        """Begin now with a watch of so many seconds; `wake` is called when a bookmark is due."""
        self._loop = asyncio.get_running_loop()
        self._wake = wake
        self._beat_at = self._loop.time()
        self._timer = self._loop.call_later(BOOKMARK_SECONDS, self._look)
        self._ends = False
        self._last: asyncio.TimerHandle | None = None
        if seconds is not None and seconds > LAST_BOOKMARK_SECONDS:
            self._last = self._loop.call_later(seconds - LAST_BOOKMARK_SECONDS, self._end)

    @property
    def due(self) -> bool:
        """Whether a bookmark is to be sent."""
        return self._ends or self._loop.time() >= self._beat_at + BOOKMARK_SECONDS

    def beat(self) -> None:
        """Note that something was sent."""
        self._beat_at = self._loop.time()

    def mark(self) -> None:
        """Note that a bookmark was sent."""
        self._ends = False

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()
        if self._last is not None:
            self._last.cancel()

    def _end(self) -> None:
        self._ends = True
        self._wake()

    def _look(self) -> None:
        if self.due:
            self._wake()
            self._timer = self._loop.call_later(BOOKMARK_SECONDS, self._look)
        else:
            self._timer = self._loop.call_at(self._beat_at + BOOKMARK_SECONDS, self._look)


async def stream(
    store: Store,
    answer: WatchResponse,
    headers: list[tuple[bytes, bytes]],
    send: Send,
    disconnected: asyncio.Future[None],
    on_cut: Callable[[Callable[[bytes], None]], Callable[[], None]],
    initial: AsyncIterator[bytes] | None = None,
) -> None:
    """Send a watch until it times out, its client disconnects or falls behind, or a fault cuts it
    (`on_cut` gets the function that does). `initial`: the answer's first lines, taken in turn with others'.
    """
    first = RoundRobin().pieces(answer.initial) if initial is None else initial
    backlog = Backlog()

    def take(change: Change) -> None:
        if not backlog.overrun:
            line = answer.translate(change)
            if line is not None:
                backlog.put(line)

    stop, spare = store.subscribe(take), on_cut(backlog.cut)
    stop_feed = None if answer.feed is None else answer.feed(backlog.put)
    sending = asyncio.ensure_future(
        _send_lines(answer, first, backlog, headers, send, disconnected)
    )
    overrun = asyncio.ensure_future(backlog.wait_overrun())
    both: set[asyncio.Future[Any]] = {sending, overrun}
    try:
        async with asyncio.timeout(answer.timeout_seconds):
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        sending.cancel()
        raise
    finally:
        stop()
        spare()
        if stop_feed is not None:
            stop_feed()
        overrun.cancel()
    await _finish_stream(sending, send, disconnected, cut=backlog.overrun)


async def _finish_stream(
    sending: asyncio.Future[None], send: Send, disconnected: asyncio.Future[None], *, cut: bool
) -> None:
    """Let the last lines out, but not for long, and end the answer."""
    with suppress(TimeoutError, asyncio.CancelledError):
        if cut:
            await asyncio.wait_for(sending, CUT_SECONDS)
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    if not disconnected.done():
        with suppress(TimeoutError):
            async with asyncio.timeout(CUT_SECONDS):
                await send({"type": "http.response.body", "body": b""})


async def _send_lines(
    answer: WatchResponse,
    initial: AsyncIterator[bytes],
    backlog: Backlog,
    headers: list[tuple[bytes, bytes]],
    send: Send,
    disconnected: asyncio.Future[None],
) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _body(send, b"")
    async for lines in initial:
        await _body(send, lines)
    disconnected.add_done_callback(lambda _done: backlog.wake())
    heart = BookmarkTimer(backlog.wake, answer.timeout_seconds)
    try:
        while not disconnected.done() and not (backlog.overrun and backlog.empty):
            if answer.over is not None and answer.over() and backlog.empty:
                return
            await backlog.wait()
            lines = backlog.take()
            if heart.due and backlog.empty and answer.bookmark is not None:
                lines += answer.bookmark()
                heart.mark()
            if lines:
                await _body(send, lines)
                heart.beat()
    finally:
        heart.stop()


async def _body(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": True})
