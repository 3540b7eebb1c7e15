"""An answer without end, handed over from a thread: its order, its end, its errors, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator

import pytest

from services.byte_stream import MOST_WAITING, THREAD, Piece, StreamOpened, stream_pieces
from services.cluster import ClusterUnavailable
from tests.patience import HANGS_SECONDS

OPENED = StreamOpened(7.0)


class ScriptedAnswer:
    """Brings numbers up to `count`, then ends or waits until it is aborted."""

    opened = OPENED

    def __init__(self, count: int, error: Exception | None = None, *, waits: bool = False) -> None:
        self.read = 0
        self.aborted = threading.Event()
        self._count, self._error, self._waits = count, error, waits

    def pieces(self) -> Iterator[bytes]:
        """Return the numbers."""
        for number in range(self._count):
            self.read += 1
            yield str(number).encode()
        if self._waits:
            assert self.aborted.wait(HANGS_SECONDS)
        if self._error is not None:
            raise self._error

    def abort(self) -> None:
        """Note it."""
        self.aborted.set()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(HANGS_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def rest_of(pieces: AsyncGenerator[Piece]) -> list[Piece]:
    """Return all pieces."""
    return [piece async for piece in pieces]


def threads() -> list[threading.Thread]:
    """Return the threads that read."""
    return [one for one in threading.enumerate() if one.name == THREAD]


async def test_pieces_come_in_order_after_the_opening() -> None:
    """And the connection is let go of at the end."""
    answer = ScriptedAnswer(100)
    found = await rest_of(stream_pieces(lambda: answer))
    assert found == [OPENED, *(str(number).encode() for number in range(100))]
    await until(answer.aborted.is_set)


async def test_an_error_comes_after_what_was_read() -> None:
    """It is raised where the pieces are taken."""
    pieces = stream_pieces(lambda: ScriptedAnswer(1, ClusterUnavailable("reset by peer")))
    assert [await anext(pieces), await anext(pieces)] == [OPENED, b"0"]
    with pytest.raises(ClusterUnavailable, match="reset by peer"):
        await anext(pieces)


async def test_a_slow_reader_makes_the_server_wait() -> None:
    """No more than `MOST_WAITING` pieces lie between; all come once they are taken."""
    answer = ScriptedAnswer(10 * MOST_WAITING)
    pieces = stream_pieces(lambda: answer)
    await anext(pieces)
    await until(lambda: answer.read >= MOST_WAITING)
    await asyncio.sleep(0.2)
    assert answer.read <= MOST_WAITING + 2
    assert len(await rest_of(pieces)) == 10 * MOST_WAITING


async def test_closing_ends_a_read_under_way() -> None:
    """The connection is aborted, so the thread ends."""
    answer = ScriptedAnswer(1, waits=True)
    before = len(threads())
    pieces = stream_pieces(lambda: answer)
    assert [await anext(pieces), await anext(pieces)] == [OPENED, b"0"]
    await pieces.aclose()
    assert answer.aborted.is_set()
    await until(lambda: len(threads()) == before)


async def test_closing_while_it_opens_reads_nothing() -> None:
    """What opens too late is aborted at once; the end of the process does not wait for it."""
    answer, may_open = ScriptedAnswer(1, waits=True), threading.Event()

    def open_answer() -> ScriptedAnswer:
        assert may_open.wait(HANGS_SECONDS)
        return answer

    pieces = stream_pieces(open_answer)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(pieces)
    assert threads()
    assert all(thread.daemon for thread in threads())
    may_open.set()
    await until(answer.aborted.is_set)
    assert answer.read == 0
