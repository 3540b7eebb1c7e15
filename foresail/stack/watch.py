"""Watches a run: every stored event once, in order, into the overview, the totals and the recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from bus.clock import Clock
from bus.errors import BusUnavailable, LogWentBack
from bus.events import read_entry
from bus.item_errors import ItemErrors, ends_at_first_error
from bus.port import Bus, StoredMessage
from bus.recording import RecordingWriter
from projections.cycle_record import CycleRecords
from projections.overview import Overview
from projections.run_totals import RunTotals
from schemas import subjects
from schemas.envelope import Event
from schemas.subjects import parse

AGAIN_SECONDS = 1.0
"""Pause before asking a server again that did not answer."""
NOTES = 4
COUNTED = ("snapshot", "untouched")
"""Layers whose events say nothing to a run's totals."""
CYCLES = 8
"""Cycles whose records are kept for the view."""


class Watch:
    """Reads one cluster's subjects from the first event on."""

    def __init__(
        self,
        bus: Bus,
        cluster: str,
        recording: RecordingWriter | None,
        *,
        overview: bool = True,
    ) -> None:
        """Watch `cluster`; write what is read to `recording` when there is one.

        Without `overview` nobody is shown anything: it stays empty, and events that only it needs are counted,
        not read.
        """
        self._shown = overview
        self._counted = () if overview else COUNTED
        self._bus = bus
        self._errors = ends_at_first_error("watch")
        self._pattern = subjects.pattern(cluster, (">",))
        self._recording = recording
        self.overview = _empty_overview()
        self.totals = RunTotals()
        self.notes: deque[str] = deque(maxlen=NOTES)
        self.seq = 0
        self.listeners: list[Callable[[Event[Any]], None]] = []

    async def run(self) -> None:
        """Follow the log until cancelled."""
        async with aclosing(self._bus.read([self._pattern], start_seq=self.seq + 1)) as messages:
            async for message in messages:
                self._take(message)

    async def run_through_outages(self, clock: Clock) -> None:
        """Follow the log until cancelled; wait out a server that does not answer, and go on after an event that
        cannot be counted or shown.
        """
        self._errors = ItemErrors("watch", report=self.notes.append)
        while True:
            try:
                await self.run()
            except BusUnavailable as error:
                self.notes.append(str(error))
                await clock.sleep(AGAIN_SECONDS)
            except LogWentBack as error:
                self._start_over(error)

    def _start_over(self, error: LogWentBack) -> None:
        """Read the log that there is now from its beginning; a recording of the former one ends."""
        if self._recording is not None:
            self._recording.seal()
            self._recording = None
        self.overview, self.totals, self.seq = _empty_overview(), RunTotals(), 0
        self.notes.clear()
        self.notes.append(f"{error}; a recording ended there")

    async def finish(self) -> None:
        """After `run` was cancelled: take what is stored and was not read yet."""
        async for message in self._bus.history([self._pattern], start_seq=self.seq + 1):
            self._take(message)

    def _take(self, message: StoredMessage) -> None:
        if message.seq <= self.seq:
            return
        self.seq = message.seq
        with self._errors.item("watch", message.seq):
            self._take_part(message)

    def _take_part(self, message: StoredMessage) -> None:
        self._record(message)
        layer = parse(message.subject).layer
        if layer in self._counted:
            self.totals.count(layer)
            return
        if self._shown:
            self.overview = self.overview.after_message(layer, message.seq, message.time_ns)
        entry = read_entry(message)
        if entry.event is None:
            self.notes.append(f"seq {message.seq}: {entry.problem}")
            return
        if self._shown:
            self.overview = self.overview.after(entry.event)
        self.totals.add(entry.event)
        for listener in self.listeners:
            listener(entry.event)

    def _record(self, message: StoredMessage) -> None:
        """Write a message to the recording, if there is one; a full disk ends it, not the stack."""
        if self._recording is None:
            return
        try:
            self._recording.write(message)
        except OSError as error:
            self._recording = None
            self.notes.append(f"the recording ended at seq {message.seq}: {error.strerror}")


def _empty_overview() -> Overview:
    return Overview(cycles=CycleRecords(limit=CYCLES))
