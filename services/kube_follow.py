"""A list of the API that is kept up to date by a watch, as an informer keeps it.

Listed once in pages, then watched with bookmarks from the list's version on. A watch that ends is
opened again where it ended; only where the server no longer has that version (410) everything is
listed again, after a random wait, so that many do not list at once. A connection that brings nothing
for `silent_seconds` (a server sends bookmarks about once a minute) is given up as dead. While the last
attempt to reach the server has failed, the list is lost, and nothing of it is handed out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from random import Random
from typing import Generic, Protocol, TypeVar, runtime_checkable

import structlog

from bus.clock import Clock
from bus.item_errors import ItemErrors, ends_at_first_error
from services.byte_stream import Piece, StreamOpened
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.kube_index import ObjectIndex, WatchError, WatchExpired
from services.kube_lists import ListDecoder, read_list
from services.kube_objects import KubeStruct

T = TypeVar("T", bound=KubeStruct)
Failure = ClusterUnavailable | ClusterRefused

MOST_LINE_BYTES = 32 * 2**20
"""No change of one object is longer; the API server takes 3 MiB at most."""


class _WatchRefused(Exception):
    """The server lets us list, but not watch."""


@runtime_checkable
class WatchTransport(Transport, Protocol):
    """A transport that can watch."""

    def watch(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncGenerator[Piece]:
        """Send a GET that is answered for as long as `timeoutSeconds` in `query` says.

        Yields `StreamOpened`, then bytes. A read that waits for longer than `silent_seconds` fails.

        Raises:
            ClusterUnavailable: no answer, or it broke off.
            ClusterRefused: an answer with status 400 or more.
        """
        ...


@dataclass(frozen=True, slots=True)
class FollowTimes:
    """Wall seconds of following a list."""

    silent_seconds: float = 90.0
    """A connection without a byte for so long is dead: bookmarks come about once a minute."""
    least_watch_seconds: float = 300.0
    most_watch_seconds: float = 600.0
    """A watch is asked for a random time between these (as by client-go), so that not all end at once."""
    least_wait_seconds: float = 0.8
    most_wait_seconds: float = 30.0
    """Wait after a failure; it doubles with each (client-go's values)."""
    refused_wait_seconds: float = 60.0
    """Wait after a refusal (no right, not served), which seldom changes from one second to the next."""
    ask_again_seconds: float = 600.0
    """Wait after the right to watch was refused."""
    relist_seconds: float = 5.0
    """At most so long, at random, before a list that expired is read again."""


class ClusterTime:
    """The server's clock between two answers, by the clock of this machine."""

    def __init__(self, clock: Clock, speed: float = 1.0) -> None:
        """Let `speed` cluster seconds pass in a second of `clock`."""
        self._clock = clock
        self._speed = speed
        self._anchor: tuple[float, float] | None = None

    def note(self, cluster_time_seconds: float) -> None:
        """An answer has just come with this time, which may be cut to the second (a `Date` header)."""
        now = self.now()
        if now is None or not 0.0 <= now - cluster_time_seconds < 1.5 * max(1.0, self._speed):
            self._anchor = (cluster_time_seconds, self._clock.monotonic())

    def now(self) -> float | None:
        """Return the server's time now; None before the first answer."""
        if self._anchor is None:
            return None
        answered, at = self._anchor
        return answered + (self._clock.monotonic() - at) * self._speed


class FollowedList(Generic[T]):
    """One list and its watch; `run` keeps it up to date until it is cancelled."""

    def __init__(
        self,
        path: str,
        kind: type[T],
        transport: WatchTransport,
        clock: Clock,
        time: ClusterTime,
        random: Random,
        times: FollowTimes,
        errors: ItemErrors | None = None,
    ) -> None:
        """Follow `path`; `random` spreads requests over time and decides nothing else.

        An error that nobody foresaw ends here with `errors`, and the list is lost until it can be read again; without
        them it ends `run`.
        """
        self._path = path
        self._transport = transport
        self._clock = clock
        self._time = time
        self._random = random
        self._times = times
        self._decoder = ListDecoder(kind)
        self._failures = 0
        self._errors = errors or ends_at_first_error("follow")
        self._log = structlog.get_logger("follow").bind(path=path)
        self.index = ObjectIndex(kind)
        self.failure: Failure | None = None
        """Why the list is lost; None while it is not."""
        self.heard_seconds: float | None = None
        """Cluster time of the newest bytes of the server; None before the first list."""
        self.may_not_watch = False
        """Whether the server lets us list, but not watch."""
        self.settled = asyncio.Event()
        """Set once the first list has been read or refused."""
        self.lists = 0
        """How often everything was listed."""
        self.watches = 0
        """How often a watch was opened."""

    async def run(self) -> None:
        """Follow the list until cancelled."""
        while True:
            with self._errors.item(f"follow {self._path}", self.index.version) as item:
                await self._follow()
            if item.failed:
                self.index.version = ""  # how much of it was applied is not known
                await self._fail(ClusterRefused(200, "Unreadable", f"{self._path}: {item.text}"))

    async def _follow(self) -> None:
        """List unless that is known, and watch to the end; wait after what servers and networks do."""
        try:
            if not self.index.version:
                await self._list()
            await self._watch()
        except _WatchRefused as refused:
            self.may_not_watch = True
            self._log.warning("watch refused, so each cycle lists", error=str(refused))
            self.settled.set()
            await self._clock.sleep(self._times.ask_again_seconds)
        except WatchExpired as expired:
            self._log.info("list expired", message=str(expired))
            await self._expire()
        except ClusterRefused as refused:
            if refused.status == 410:
                await self._expire()
            else:
                await self._fail(refused)
        except ClusterUnavailable as unavailable:
            await self._fail(unavailable)

    async def _list(self) -> None:
        listed = await read_list(self._transport, self._path, self._decoder)
        self.lists += 1
        self.index.replace(listed.items, listed.resource_version)
        self._time.note(listed.cluster_time_seconds)
        self._hear()

    async def _watch(self) -> None:
        """Apply changes until the server ends the watch, or the connection has been silent for too long."""
        seconds = self._random.uniform(
            self._times.least_watch_seconds, self._times.most_watch_seconds
        )
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.index.version,
            "timeoutSeconds": str(round(seconds)),
        }
        began = self._clock.monotonic()
        pieces = self._transport.watch(
            self._path, query, silent_seconds=2 * self._times.silent_seconds
        )
        try:
            async with aclosing(pieces):
                await self._take(pieces)
        except ClusterRefused as refused:
            if refused.status in {403, 405}:
                raise _WatchRefused(refused.message) from refused
            raise
        least = self._times.least_wait_seconds
        if self._clock.monotonic() - began < least:  # a server that ends each watch at once
            await self._clock.sleep(least)

    async def _take(self, pieces: AsyncGenerator[Piece]) -> None:
        silent = self._times.silent_seconds
        rest = b""
        while True:
            try:
                async with asyncio.timeout(silent):  # wait_for may swallow a cancellation (3.11)
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except TimeoutError:
                self._log.info("watch silent", seconds=silent)
                return
            if isinstance(piece, StreamOpened):
                self.may_not_watch = False
                self.watches += 1
                self._time.note(piece.cluster_time_seconds)
            else:
                rest = self._apply(rest + piece)
            self._hear()

    def _apply(self, piece: bytes) -> bytes:
        """Apply whole lines; return what is left of the last."""
        *lines, rest = piece.split(b"\n")
        if len(rest) > MOST_LINE_BYTES:
            raise ClusterRefused(200, "Unreadable", f"{self._path}: a change without an end")
        try:
            for line in lines:
                if line:
                    self.index.apply(line)
        except WatchError as error:
            raise ClusterRefused(error.status, error.reason, error.message) from error
        except (ValueError, RecursionError) as error:
            self.index.version = ""  # what the line said is not known, so everything is read again
            raise ClusterRefused(200, "Unreadable", f"{self._path}: {error}") from error
        return rest

    def _hear(self) -> None:
        self.heard_seconds = self._time.now()
        self.failure, self._failures = None, 0
        self.settled.set()

    async def _expire(self) -> None:
        """Forget the version; the objects are handed out until the new list is there."""
        self.index.version = ""
        await self._clock.sleep(self._random.uniform(0.0, self._times.relist_seconds))

    async def _fail(self, failure: Failure) -> None:
        """Note that the list is lost, and wait longer with each failure."""
        if self.failure is None:
            self._log.warning("list lost", error=str(failure))
        self.failure = failure
        self.settled.set()
        least = self._times.least_wait_seconds
        if isinstance(failure, ClusterRefused) and failure.status in {401, 403, 404, 405}:
            least = self._times.refused_wait_seconds
        wait = min(least * 2.0**self._failures, max(least, self._times.most_wait_seconds))
        self._failures = min(self._failures + 1, 30)
        await self._clock.sleep(wait * self._random.uniform(1.0, 1.5))
