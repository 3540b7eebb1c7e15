"""Many readers of the page's stream at once: what each was given, and what it weighs on the server and on a tab."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import httpx
import msgspec
import psutil

from benchmarks.machine import Row
from benchmarks.page_scene import START_SECONDS, position, replay_words, row, served

CLIENTS = 100
CLIENT_EVENTS_PER_SECOND = 200.0
HELD_RATIO = 0.95
"""Of that rate, which the machine has to keep for the figures to say anything."""
GROWTH_PERCENT = 5.0
TAB_MEGABYTES = 300.0
MEGABYTE = 1e6
LOOK_SECONDS = 15.0
"""Between two looks at memory."""


class Update(msgspec.Struct):
    """What a reader counts of one update; the sections are not looked into."""

    skipped: int
    rows: list[tuple[int, int, str, str]]


_read_update = msgspec.json.Decoder(Update).decode


class Follower:
    """One reader of the stream, who counts."""

    def __init__(self) -> None:
        self.refused = self.unsaid = False
        self.events = self.gaps = self.doubles = self.skipped = 0
        self._last = 0

    async def follow(self, http: httpx.AsyncClient) -> None:
        """Read until cancelled; `unsaid` then tells that it was cut off without a reason."""
        self.unsaid = True
        async with http.stream("GET", "/api/stream") as answer:
            if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                self.refused, self.unsaid = True, not await answer.aread()
                return
            unread = b""
            async for chunk in answer.aiter_raw():
                *whole, unread = (unread + chunk).split(b"\n\n")
                for update in whole:
                    _, found, data = update.partition(b"\ndata: ")
                    if found:
                        self.take(_read_update(data))

    def take(self, update: Update) -> None:
        """Count one update."""
        seqs = [one[0] for one in update.rows]
        if not seqs:
            return
        if self._last:
            self.doubles += sum(1 for seq in seqs if seq <= self._last)
            self.gaps += max(0, seqs[-1] - self._last - len(seqs) - update.skipped)
        self.skipped += update.skipped
        self.events += len(seqs)
        self._last = seqs[-1]


async def follow_all(url: str, followers: Sequence[Follower], ended: asyncio.Event) -> None:
    """Let readers follow until told to end."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=START_SECONDS, limits=limits) as http:
        tasks = [asyncio.create_task(one.follow(http)) for one in followers]
        await ended.wait()
        for one, task in zip(followers, tasks, strict=True):
            if not task.done():
                one.unsaid = False
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Crowd:
    """Readers in a thread of their own."""

    def __init__(self, url: str) -> None:
        self.followers = [Follower() for _ in range(CLIENTS)]
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(url,), daemon=True)
        self._thread.start()

    def _run(self, url: str) -> None:
        self._loop.run_until_complete(follow_all(url, self.followers, self._ended))

    def end(self) -> None:
        """Let all of them go."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(START_SECONDS)

    @property
    def events(self) -> float:
        """Events that a served reader got, on average."""
        counts = [one.events for one in self.followers if not one.refused]
        return sum(counts) / max(1, len(counts))

    def rows(self) -> list[Row]:
        """Return what became of them."""
        refused = sum(one.refused for one in self.followers)
        ones = self.followers
        return [
            row("clients that were served", len(ones) - refused, "clients", 1, at_least=True),
            row("clients that were refused with a reason", refused, "clients", CLIENTS),
            row("clients that were cut off without one", sum(one.unsaid for one in ones), "clients", 0),
            row("rows missing without a word", sum(one.gaps for one in ones), "events", 0),
            row("rows twice", sum(one.doubles for one in ones), "events", 0),
            row("rows skipped, and said so", sum(one.skipped for one in ones), "events", math.inf),
        ]  # fmt: skip


class Tab:
    """The page in Chromium, which nobody drives: what a debugger holds of it is not the page's."""

    def __init__(self, browser: psutil.Process) -> None:
        self._browser = browser

    def renderers(self) -> tuple[float, float]:
        """Return what the page's own renderer process weighs, and all of Chromium's, which keeps some in spare, MB;
        shared memory by share.
        """
        children = self._browser.children(recursive=True)
        found = [one for one in children if "--type=renderer" in one.cmdline()]
        weights = [one.memory_full_info().pss / MEGABYTE for one in found]
        return max(weights, default=math.nan), sum(weights)


def pages_of(url: str) -> int:
    """Return how many pages read the server's stream."""
    return int(httpx.get(f"{url}/healthz", timeout=START_SECONDS).json()["pages"])


@contextlib.contextmanager
def left_alone(url: str) -> Iterator[Tab]:
    """Open the page in a Chromium of its own, and end it afterwards.

    Raises:
        SystemExit: the page does not read the server's stream.
    """
    from tests.dashboard.test_page import CHROMIUM, FLAGS  # noqa: PLC0415 - only this part needs it

    with tempfile.TemporaryDirectory() as folder:
        words = [
            str(CHROMIUM),
            *FLAGS,
            "--headless",
            "--window-size=1440,900",
            f"--user-data-dir={folder}",
            url,
        ]
        browser = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not pages_of(url):
                if time.monotonic() > deadline:
                    raise SystemExit("the page does not read the stream")
                time.sleep(0.2)
            yield Tab(psutil.Process(browser.pid))
        finally:
            browser.terminate()
            browser.wait(START_SECONDS)


@dataclass(frozen=True, slots=True)
class Look:
    """Memory at one moment, MB."""

    seconds: float
    seq: int
    server: float
    log_server: float
    tab: float = math.nan
    """Of the page's own renderer process, shared pages by share,"""
    renderers: float = math.nan
    """and of all of Chromium's."""

    def line(self, crowd: Crowd) -> str:
        """Say it in a line."""
        skipped = sum(one.skipped for one in crowd.followers)
        return (
            f"{self.seconds:6.0f} s, event {self.seq:,}, {crowd.events:,.0f} a client, {skipped:,} skipped; server"
            f" {self.server:.1f} MB, nats-server {self.log_server:.0f},"
            f" tab {self.tab:.0f}, all renderers {self.renderers:.0f}"
        )


def clients(options: argparse.Namespace) -> list[Row]:
    """Let many readers follow, and check what each was given."""
    with tempfile.TemporaryDirectory() as state:
        words = [*replay_words(options.recording, CLIENT_EVENTS_PER_SECOND), "--state", state]
        with served(*words) as (url, server):
            return _watched(url, server, options.seconds, None)


def hour(options: argparse.Namespace) -> list[Row]:
    """Let many readers and one tab follow the same replay for a long time, and see what memory does."""
    words = [str(options.recording), str(CLIENT_EVENTS_PER_SECOND)]
    with (
        tempfile.TemporaryDirectory() as state,
        served(*words, state, module="benchmarks.page_player") as (url, server),
        left_alone(url) as tab,
    ):
        return _watched(url, server, options.seconds, tab)


def _watched(url: str, server: psutil.Process, seconds: float, tab: Tab | None) -> list[Row]:
    crowd = Crowd(url)
    begin, looks = time.monotonic(), [_look(url, server, tab, 0.0)]
    while (now := time.monotonic() - begin) < seconds:
        pause = min(LOOK_SECONDS, seconds / 20, seconds - now)
        time.sleep(pause)
        looks.append(_look(url, server, tab, time.monotonic() - begin))
        print(looks[-1].line(crowd), file=sys.stderr, flush=True)
    pages = pages_of(url)
    crowd.end()
    rows = [*_rate_rows(looks), *crowd.rows(), *_memory_rows(looks)]
    if tab is None:
        return rows
    beside = pages - sum(not one.refused for one in crowd.followers)
    return [
        *rows,
        row("tabs that read to the end", beside, "", 1, at_least=True),
        *_tab_rows(looks),
    ]


def _look(url: str, server: psutil.Process, tab: Tab | None, seconds: float) -> Look:
    log_server = sum(one.memory_info().rss for one in server.children(recursive=True))
    weight = server.memory_info().rss / MEGABYTE
    seen = Look(seconds, position(url), weight, log_server / MEGABYTE)
    if tab is None:
        return seen
    own, renderers = tab.renderers()
    return replace(seen, tab=own, renderers=renderers)


def _rate_rows(looks: Sequence[Look]) -> list[Row]:
    first, last = looks[0], looks[-1]
    rate = (last.seq - first.seq) / (last.seconds - first.seconds)
    bar = HELD_RATIO * CLIENT_EVENTS_PER_SECOND
    return [
        row("lasting", last.seconds, "s", math.inf),
        row("live events", rate, "events/s", bar, at_least=True),
    ]


def _memory_rows(looks: Sequence[Look]) -> list[Row]:
    """Return what the server weighs: a quarter of the time is left for what is filled once."""
    last = looks[-1]
    early = next(one for one in looks if one.seconds >= last.seconds / 4)
    grown, events = last.server - early.server, max(1, last.seq - early.seq)
    return [
        row("server at the end", last.server, "MB", math.inf),
        row("its growth from the first quarter on", 100 * grown / early.server, "%", GROWTH_PERCENT),
        row("its growth for 100,000 events", 1e5 * grown / events, "MB", math.inf),
        row("nats-server at the end", last.log_server, "MB", math.inf),
    ]  # fmt: skip


def _tab_rows(looks: Sequence[Look]) -> list[Row]:
    first, last = looks[1], looks[-1]  # at the first look it is not all there
    return [
        row("tab's process at first", first.tab, "MB", math.inf),
        row("tab's process at the end", last.tab, "MB", TAB_MEGABYTES),
        row("tab's process, most", max(one.tab for one in looks), "MB", TAB_MEGABYTES),
        row("all renderer processes, most", max(one.renderers for one in looks), "MB", math.inf),
    ]
