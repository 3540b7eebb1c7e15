"""The past: any moment of the log, from the nearest kept state and the messages after it."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import Any

from bus.events import cycle_of_message, read_entry
from bus.item_errors import ItemErrors
from bus.port import Bus, StoredMessage
from bus.scratch_file import ScratchFile
from inputs.limited_json import BadJson, load_json
from projections.cycle_record import CycleRecord
from projections.event_condition import condition, names_of
from projections.rail_state import RailLedger
from schemas import subjects
from schemas.envelope import attributes_of
from schemas.registry import EVENT_TYPES
from schemas.signals import Signal
from services.dashboard.archive import Archive
from services.dashboard.arrival import arrival_of
from services.dashboard.cycle_json import MILLISECOND_NS, Json, cycle_json
from services.dashboard.decision_list import DecisionFilter, rows_of
from services.dashboard.incident_books import IncidentBooks
from services.dashboard.incident_reader import IncidentReader
from services.dashboard.kept_states import KeptStates
from services.dashboard.model_book import MODEL_SUBJECTS, ModelBook
from services.dashboard.page import Page, after_event, with_row
from services.dashboard.places import NODE_SUBJECTS, NodeHistory
from services.dashboard.row_text import row_text
from services.dashboard.run_book import RUN_SUBJECTS, RunBook
from services.dashboard.settings_list import SettingsBook
from services.dashboard.turns import Turns
from services.dashboard.workloads import (
    RAIL_SUBJECTS,
    WORKLOAD_SUBJECTS,
    WorkloadHistory,
    workload_rows,
)

BETWEEN = 64
"""Messages after which other clients have their turn."""
KEPT_MOMENTS = 8
SETTLED_CYCLES = 40
"""Cycles after a decision within which its outcomes are looked for."""
LINKED_CYCLES = 4
"""Cycles after an event within which its effects are looked for."""
HISTORY_CYCLES = 240
"""Cycles of the history of a node or a workload."""
LOG_ROWS = 200
PAGE_BYTES = 4_000_000
"""Of events, after which a page of them ends: one event may have a megabyte."""
SCANNED = 4_000
"""Messages that one request looks through for those of a condition."""


class Past:
    """Reads moments of one log; the archive is filled by whoever reads it."""

    def __init__(self, bus: Bus, cluster: str, tail_rows: int, errors: ItemErrors) -> None:
        self.archive = _new_archive()
        self.whole = False
        """Whether the archive begins where the log does."""
        self._bus = bus
        self._cluster = cluster
        self.turns = Turns()
        self._incidents = IncidentReader(self._messages, lambda: self.archive, self.turns)
        self._tail_rows = tail_rows
        self._errors = errors
        self._pages: OrderedDict[int, Page] = OrderedDict()

    async def fill(self, newest: Callable[[], int]) -> Page:
        """Read the log from its beginning until the archive is as far as `newest` says; return the state there."""
        page, archive = Page(tail_rows=self._tail_rows), _new_archive()
        begin = (await self._bus.info()).first_seq
        while True:
            end = newest()
            async for message in self._messages(begin, end):
                with self._errors.item("read past", message.seq):
                    arrival = arrival_of(message, placements=True)
                    page = with_row(page, arrival)
                    page = after_event(page, arrival)
                    archive.add(page, arrival)
                begin = message.seq + 1
            if begin > newest():
                self.archive, self.whole = archive, True
                return page
            begin = max(begin, end + 1)

    async def page_at(self, seq: int) -> Page:
        """Return the page's state after the newest message that is not behind a position."""
        if (known := self._pages.get(seq)) is not None:
            self._pages.move_to_end(seq)
            return known
        with self.turns.short():
            page = self._state_before(seq)
            async for message in self._messages(page.overview.seq + 1, seq):
                with self._errors.item("read moment", message.seq):
                    page = with_row(page, arrival := arrival_of(message))
                    page = after_event(page, arrival)
        self._pages[seq] = page
        if len(self._pages) > KEPT_MOMENTS:
            self._pages.popitem(last=False)
        return page

    def _state_before(self, seq: int) -> Page:
        """Return the nearest state that is not after a position: one that was shown lately, or a kept one."""
        shown = max((known for known in self._pages if known <= seq), default=0)
        if shown > 0 and shown >= self.archive.states.seq_before(seq):
            return self._pages[shown]
        return self.archive.states.before(seq) or Page(tail_rows=self._tail_rows)

    async def cycle(self, cycle: int, page: Page, until_seq: int) -> Json | None:
        """Return one cycle as it stood at a position, from the page's state or from the log."""
        record = page.overview.cycles.by_cycle.get(cycle)
        if record is not None and record.decision is not None:
            return cycle_json(record, await self._signals_of(cycle))
        record = CycleRecord(cycle)
        begin = self.archive.begin_of_cycle(cycle)
        end = self.archive.end_of_cycle(cycle + SETTLED_CYCLES) or until_seq
        async for message in self._messages(begin, min(end, until_seq)):
            if cycle_of_message(message) == cycle:
                event = read_entry(message).event
                record = record if event is None else record.after(event)
        seen = record.observation
        return cycle_json(record, None if seen is None else seen.data.signals)

    async def _signals_of(self, cycle: int) -> tuple[Signal, ...] | None:
        """Return the signals of a cycle's observation; None where it is not in what was read so far."""
        place = bisect_right(self.archive.cycle_numbers, cycle) - 1
        if place < 0 or self.archive.cycle_numbers[place] != cycle:
            return None
        seq = self.archive.cycle_seqs[place]
        async for message in self._messages(seq, seq):
            event = read_entry(message).event
            return None if event is None else tuple(event.data.signals)
        return None

    def decisions(self, asked: DecisionFilter) -> Json:
        """Return the decisions that fit."""
        return rows_of(self.archive.decisions, asked)

    async def log_window(self, from_seq: int, until_seq: int) -> list[Json]:
        """Return the rows of a stretch of the log, at most `LOG_ROWS`, oldest first."""
        end = min(until_seq, from_seq + LOG_ROWS - 1)
        return [log_row(message) async for message in self._messages(from_seq, end)]

    async def cycle_rows(self, cycle: int, until_seq: int) -> list[Json]:
        """Return the rows of one cycle's events, from its snapshots to what came of it."""
        begin = self.archive.begin_of_cycle(cycle - 1)
        end = self.archive.end_of_cycle(cycle + SETTLED_CYCLES) or until_seq
        return [
            log_row(message)
            async for message in self._messages(begin, min(end, until_seq))
            if cycle_of_message(message) == cycle
        ]

    async def incidents(self, until_seq: int) -> Json:
        """Return the incidents up to a position; see `IncidentReader`."""
        return await self._incidents.incidents(until_seq)

    async def run(self, until_seq: int) -> Json:
        """Return how the run stood at a position: manifest, stages, trials, files, errors and end."""
        return (await self._run_book(until_seq)).progress.as_json()

    async def runs(self, until_seq: int) -> Json:
        """Return what the log told of runs up to a position: stages, files, experiments, sessions, policies."""
        return (await self._run_book(until_seq)).as_json()

    async def _run_book(self, until_seq: int) -> RunBook:
        """Return the book of runs at a position, from what the archive kept or, until it is whole, from the log."""
        book = RunBook()
        if self.whole:
            for event in takewhile(lambda one: one.seq <= until_seq, self.archive.run_events):
                book.add(event)
            for seq in self.archive.learned.newest(until_seq):
                async for message in self._messages(seq, seq):
                    if (read := read_entry(message).event) is not None:
                        book.add(read)
            for agent in book.chosen:
                book.choices[agent] = self.archive.learned.choices(agent, until_seq)
            return book
        async for message in self._messages(1, until_seq, RUN_SUBJECTS):
            if (read := read_entry(message).event) is not None:
                book.add(read)
        return book

    async def node(self, name: str, until_seq: int) -> Json | None:
        """Return the history of a node over the newest cycles; None when nothing was observed of it."""
        history = NodeHistory(name)
        rails = await self._read_history(history, NODE_SUBJECTS, until_seq)
        if not history.looks:
            return None
        return history.as_json(self.archive.decisions.newest_first(until_seq), rails, until_seq)

    async def workload(self, name: str, until_seq: int) -> Json | None:
        """Return the history of a workload over the newest cycles; None when nothing was observed of it."""
        history = WorkloadHistory(name)
        rails = await self._read_history(history, WORKLOAD_SUBJECTS, until_seq)
        decisions = self.archive.decisions.newest_first(until_seq)
        return history.as_json(decisions, rails, until_seq) if history.known else None

    async def workloads(self, until_seq: int) -> list[Json]:
        """Return the workloads whose requests are counted, or that acting aimed at, as last observed."""
        place = bisect_right(self.archive.cycle_seqs, until_seq) - 1
        observation = None
        if place >= 0:
            seq = self.archive.cycle_seqs[place]
            async for message in self._messages(seq, seq):
                event = read_entry(message).event
                observation = None if event is None else event.data
        return workload_rows(observation, self.archive.decisions.newest_first(until_seq))

    async def models(self, until_seq: int) -> Json:
        """Return every model that predicted in the newest cycles up to a position, and how it did."""
        book, cycles = ModelBook(), self.archive.cycle_seqs
        place = max(0, bisect_right(cycles, until_seq) - HISTORY_CYCLES)
        begin = cycles[place] if cycles else until_seq
        async for message in self._messages(begin, until_seq, MODEL_SUBJECTS):
            if (event := read_entry(message).event) is not None:
                book.add(event)
        return book.as_json()

    async def settings(self, until_seq: int) -> list[Json]:
        """Return the settings in force at a position, by process."""
        book = SettingsBook()
        async for message in self._messages(1, until_seq, ("config.*",)):
            if (event := read_entry(message).event) is not None:
                book.add(event)
        return book.as_json()

    async def _read_history(
        self, history: NodeHistory | WorkloadHistory, wanted: Sequence[str], until_seq: int
    ) -> RailLedger:
        """Let a history read the newest cycles up to a position; return how far its guard rails are used up there."""
        cycles, rails = self.archive.cycle_seqs, RailLedger()
        async for message in self._messages(1, until_seq, ("config.executor",)):
            if (event := read_entry(message).event) is not None:
                rails.add(event)
        place = max(0, bisect_right(cycles, until_seq) - HISTORY_CYCLES)
        begin = cycles[place] if cycles else until_seq
        async for message in self._messages(begin, until_seq, (*wanted, *RAIL_SUBJECTS)):
            if (event := read_entry(message).event) is not None:
                history.add(event)
                rails.add(event)
        return rails

    async def links(self, message: StoredMessage) -> tuple[list[int], list[int]]:
        """Return the positions of what caused an event and of what it led to, as far as they are near its cycle."""
        cycle, own = cycle_of_message(message), attributes_of(message.headers)
        if cycle < 0:
            return [], []
        wanted = set(own.get("causationid", "").split())
        begin = self.archive.begin_of_cycle(cycle - 1)
        end = self.archive.end_of_cycle(cycle + LINKED_CYCLES) or self.archive.positions.seq(-1)
        causes, effects = [], []
        async for other in self._messages(begin, end):
            attributes = attributes_of(other.headers)
            if attributes.get("id") in wanted:
                causes.append(other.seq)
            if own.get("id") in attributes.get("causationid", "").split():
                effects.append(other.seq)
        return causes, effects

    async def log_search(self, where: str, layer: str, until_seq: int) -> Json:
        """Return the newest rows up to a position that fit, and how far back was looked.

        Raises:
            InputError: the condition cannot be read, or names a field that no event has.
        """
        rows: list[Json] = []
        begin = until_seq + 1
        async for found, block in self._fitting(where, layer, until_seq):
            begin = block
            rows += [log_row(message) for message in found]
            if len(rows) >= LOG_ROWS:
                break
        first = self._first
        return {"rows": rows, "searched_to": begin, "first_seq": first, "more": begin > first}

    async def events(self, where: str, layer: str, until_seq: int, limit: int) -> Json:
        """Return the newest whole events up to a position that fit, and where the next page begins.

        A page ends after `limit` events, `PAGE_BYTES` or `SCANNED` messages, so it may be empty and yet not the last.

        Raises:
            InputError: the condition cannot be read, or names a field that no event has.
        """
        events: list[Json] = []
        begin, size = until_seq + 1, 0
        async for found, block in self._fitting(where, layer, until_seq):
            for message in found:
                events.append(event_json(message))
                size += len(message.data)
                if len(events) >= limit or size >= PAGE_BYTES:
                    return self._events_page(events, message.seq)
            begin = block
        return self._events_page(events, begin)

    def _events_page(self, events: list[Json], begin: int) -> Json:
        before = begin - 1
        return {"events": events, "before": before if before >= self._first else None}

    @property
    def _first(self) -> int:
        return self.archive.first_seq

    async def _fitting(
        self, where: str, layer: str, until_seq: int
    ) -> AsyncIterator[tuple[list[StoredMessage], int]]:
        """Yield the messages that fit, newest first, block by block, each with the position where it begins."""
        kinds = [kind for kind in EVENT_TYPES if not layer or kind.PATTERN[0] == layer]
        expression = condition(where, kinds) if where else None
        end, looked = until_seq, 0
        while end >= self._first and looked < SCANNED:
            begin = max(self._first, end - LOG_ROWS + 1)
            found: list[StoredMessage] = []
            async for message in self._messages(begin, end):
                if layer and subjects.parse(message.subject).layer != layer:
                    continue
                event = read_entry(message).event if expression else None
                if expression is None or (event is not None and expression.holds(names_of(event))):
                    found.append(message)
            yield found[::-1], begin
            looked, end = looked + end - begin + 1, begin - 1

    async def _messages(
        self, start_seq: int, end_seq: int, wanted: Sequence[str] = (">",)
    ) -> AsyncIterator[StoredMessage]:
        if end_seq < start_seq:
            return
        patterns = [subjects.pattern(self._cluster, one.split(".")) for one in wanted]
        stored = self._bus.history(patterns, start_seq=start_seq, end_seq=end_seq)
        async with aclosing(stored) as messages:
            count = 0
            async for message in messages:
                yield message
                count += 1
                if count % BETWEEN == 0:
                    await asyncio.sleep(0)


def _new_archive() -> Archive:
    return Archive(KeptStates(ScratchFile), IncidentBooks(ScratchFile))


def event_json(message: StoredMessage) -> Json:
    """Return a stored message as `tap --json` shows it; data that is no JSON comes as text."""
    data: Any
    try:
        data = load_json(message.data)
    except BadJson:
        data = message.data.decode(errors="replace")
    return {
        "seq": message.seq,
        "recorded_ns": message.time_ns,
        "subject": message.subject,
        "attributes": attributes_of(message.headers),
        "data": data,
    }


def log_row(message: StoredMessage) -> Json:
    """Return one row of the log's table."""
    arrival = arrival_of(message)
    cycle: Any = cycle_of_message(message)
    return {
        "seq": message.seq,
        "ms": message.time_ns // MILLISECOND_NS,
        "subject": ".".join(arrival.tokens),
        "cycle": None if cycle < 0 else cycle,
        "text": row_text(arrival),
        "bytes": len(message.data),
    }
