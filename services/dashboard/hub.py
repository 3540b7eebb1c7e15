"""The hub: follows the log once and keeps every open page up to date.

Pages hold a place in a shared state, not a queue: at each update a page gets the sections that
changed since its last one and the newest rows of the tail. A slow page therefore costs no memory;
it skips what it missed and gets the number of those rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from bus.clock import Clock
from bus.item_errors import ItemErrors
from bus.port import Bus, StoredMessage
from projections.operating import EXECUTOR
from schemas import subjects
from schemas.control import Control
from schemas.identity import Origin
from schemas.mismatch import OutcomeMismatch
from schemas.registry import LAYERS, to_json
from services.dashboard.arrival import arrival_of
from services.dashboard.cycle_json import MILLISECOND_NS, Json
from services.dashboard.node_measures import measure_json
from services.dashboard.page import Page, after_event, with_operating_state, with_row
from services.dashboard.past import Past
from services.dashboard.sections import age_seconds, row_json, sections_of
from services.dashboard.settings import DashboardSettings

LARGE_BYTES = 128 * 1024
"""Bytes of a message that takes long enough to read that others should have their turn after it."""
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A moment of the page: sections as JSON, each with the version of its last change."""

    page: Page
    version: int = 0
    sections: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    replay: str = ""
    """How far the replay is that is shown; empty for a live stack."""
    appended_ms: int | None = None
    """When the recording that is shown was last added to; None: nothing more comes."""


class Hub:
    """One reader of the log for all pages."""

    def __init__(
        self,
        settings: DashboardSettings,
        bus: Bus,
        clock: Clock,
        origin: Origin,
        on_progress: Progress | None = None,
        replay_text: Callable[[], str] | None = None,
        errors: ItemErrors | None = None,
        file: str = "",
        appended_ms: Callable[[], int | None] | None = None,
    ) -> None:
        self.errors = errors or ItemErrors("dashboard")
        self.settings = settings
        self._bus = bus
        self._clock = clock
        self._origin = origin
        self._file = file
        self._appended_ms = appended_ms or (lambda: None)
        self._replay_text = replay_text or (lambda: "")
        self._on_progress = on_progress or (lambda _state, _seq: None)
        self._pattern = subjects.pattern(origin.cluster, (">",))
        self.past = Past(bus, origin.cluster, settings.tail_rows, self.errors)
        self._started = asyncio.Event()
        self._page = Page(tail_rows=settings.tail_rows)
        self._rendered = Rendered(self._page)
        self._changed = asyncio.Event()
        self._closing = False
        self.pages = 0
        """Pages open now."""
        self.state = "starting"
        self._reads_to: int | None = None
        """Up to which position a recording is still read; None: all of it was."""

    @property
    def page(self) -> Page:
        """The page's state after the newest message."""
        return self._page

    async def follow(self) -> None:
        """Read the newest history and then the tail until cancelled."""
        info = await self._bus.info()
        recent = 0 if self._file else info.last_seq - self.settings.history_messages + 1
        start = max(info.first_seq, recent, 1)
        self._reads_to = info.last_seq if self._file and info.last_seq >= start else None
        self._report("catching_up" if info.last_seq >= start else "live")
        self.past.whole = start <= max(info.first_seq, 1)
        self._started.set()
        if not self.past.whole:
            await self._read_operating_state(start)
        async with aclosing(self._bus.read([self._pattern], start_seq=start)) as messages:
            async for message in messages:
                if message.seq <= self._page.overview.seq:
                    continue  # read from the beginning meanwhile
                with self.errors.item(f"read {_layer(message)}", message.seq):
                    arrival = arrival_of(message, placements=self.past.whole)
                    # Listed even where what follows fails.
                    self._page = with_row(self._page, arrival)
                    self._page = after_event(self._page, arrival)
                    if self.past.whole:
                        self.past.archive.add(self._page, arrival)
                if message.seq >= info.last_seq:
                    self._reads_to = None
                self._report("live" if message.seq >= info.last_seq else "catching_up")
                if len(message.data) > LARGE_BYTES:
                    await asyncio.sleep(0)  # pages are served between two large messages

    async def remember(self) -> None:
        """Read what lies before the newest history, so that any moment can be shown; ends when that is done."""
        await self._started.wait()
        if not self.past.whole:
            self._page = await self.past.fill(lambda: self._page.overview.seq)

    async def _read_operating_state(self, before_seq: int) -> None:
        """Take what the operator commanded before the history that is read: a hold may be old."""
        cluster = self._origin.cluster
        patterns = [
            subjects.build(cluster, Control.PATTERN),
            subjects.build(cluster, ("config", EXECUTOR)),
            subjects.build(cluster, OutcomeMismatch.PATTERN),
        ]
        async with aclosing(self._bus.history(patterns, end_seq=before_seq - 1)) as messages:
            async for message in messages:
                with self.errors.item("read operating state", message.seq):
                    self._page = with_operating_state(self._page, arrival_of(message))

    async def render(self) -> None:
        """Bring the pages up to date, at most every `update_seconds`, until cancelled."""
        while True:
            with self.errors.item("render", self._page.overview.seq):
                self._render()
            await self._clock.sleep(self.settings.update_seconds)

    async def updates(self, last_seq: int = 0) -> AsyncGenerator[bytes, None]:
        """Yield Server-Sent Events for one page: everything, then what changes.

        Args:
            last_seq: position of the newest row that the page has already (`Last-Event-ID`).
        """
        version = -1
        self.pages += 1
        self._render()
        try:
            while not self._closing:
                changed = self._changed
                if self._rendered.version > version:
                    rendered = self._rendered
                    if last_seq > rendered.page.overview.seq:
                        last_seq = 0  # the page remembers an earlier log
                    yield self._frame(rendered, version, last_seq)
                    version, last_seq = rendered.version, max(last_seq, rendered.page.overview.seq)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.settings.heartbeat_seconds):
                        await changed.wait()
                    continue
                yield b": still here\n\n"
        finally:
            self.pages -= 1

    def close(self) -> None:
        """End every page's stream."""
        self._closing = True
        self._wake()

    def now(self) -> Json:
        """Return the whole state, as the page gets it at first."""
        sections = self._sections(self._page, self._replay_text())
        return {"now_ms": self._now_ms(), "seq": self._page.overview.seq, "sections": sections}

    @property
    def incarnation(self) -> str:
        """The run that is shown."""
        return self._origin.incarnation

    async def moment(self, seq: int) -> Json:
        """Return the whole state as it was at a position."""
        page = await self.past.page_at(min(seq, self._page.overview.seq))
        return {
            "seq": page.overview.seq,
            "recorded_ms": page.overview.recorded_ns // MILLISECOND_NS,
            "sections": self._sections(page, self._replay_text()),
            "rows": [row_json(row) for row in page.rows],
        }

    async def measure(self, by: str, at_seq: int | None) -> Json | None:
        """Return one number per node, now or as it stood at a position; None for no such measure."""
        page = self._page if at_seq is None else await self.past.page_at(at_seq)
        return measure_json(page, by)

    async def cycle(self, cycle: int, at_seq: int | None) -> Json | None:
        """Return one cycle as JSON, now or as it stood at a position; None when the log does not hold its decision."""
        page = self._page if at_seq is None else await self.past.page_at(at_seq)
        return await self.past.cycle(cycle, page, page.overview.seq)

    def health(self) -> Json:
        """Return how far the reader is and how old the newest event is."""
        return {
            "state": self.state,
            "seq": self._page.overview.seq,
            "newest_age_seconds": age_seconds(self._page, self._clock.wall_ns()),
            "pages": self.pages,
        }

    async def stored_message(self, seq: int) -> StoredMessage | None:
        """Return one stored message; None when the log does not hold it."""
        info = await self._bus.info()
        if not info.first_seq <= seq <= info.last_seq:
            return None
        stored = self._bus.history([self._pattern], start_seq=seq, end_seq=seq)
        async with aclosing(stored) as messages:
            async for message in messages:
                return message
        return None

    def _report(self, state: str) -> None:
        self.state = state
        self._on_progress(state, self._page.overview.seq)

    def _render(self) -> None:
        replay = self._replay_text()
        appended_ms = self._appended_ms()
        shown = self._rendered
        known = shown.page is self._page and (shown.replay, shown.appended_ms) == (
            replay,
            appended_ms,
        )
        if known and self._rendered.version > 0:
            return
        version = self._rendered.version + 1
        before = self._rendered.sections
        after: dict[str, tuple[int, bytes]] = {}
        for name, value in self._sections(self._page, replay).items():
            data = to_json(value)
            old = before.get(name)
            after[name] = old if old is not None and old[1] == data else (version, data)
        self._rendered = Rendered(self._page, version, after, replay, appended_ms)
        self._wake()

    def _sections(self, page: Page, replay: str) -> dict[str, Any]:
        return sections_of(
            page, self._origin, replay, self._file, self._appended_ms(), self._reads_to
        )

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _frame(self, rendered: Rendered, version: int, last_seq: int) -> bytes:
        changed = b",".join(
            b'"%s":%s' % (name.encode(), data)
            for name, (changed_in, data) in rendered.sections.items()
            if changed_in > version
        )
        rows = [row for row in rendered.page.rows if row.seq > last_seq]
        skipped = rows[-1].seq - last_seq - len(rows) if rows and last_seq else 0
        return (
            b'id: %d\nevent: update\ndata: {"now_ms":%d,"skipped":%d,"sections":{%s},"rows":%s}\n\n'
            % (
                rendered.page.overview.seq,
                self._now_ms(),
                skipped,
                changed,
                to_json([row_json(row) for row in rows]),
            )
        )

    def _now_ms(self) -> int:
        return self._clock.wall_ns() // MILLISECOND_NS


def _layer(message: StoredMessage) -> str:
    """Return a message's layer where it is one of ours; names that anybody may invent are one."""
    layer = message.subject.split(".")[2:3]
    return layer[0] if layer and layer[0] in LAYERS else "other"
