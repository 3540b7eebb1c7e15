"""The shell of the roll-up: follow the log, count by day as a report does, and store each day that changed.

A day's event says up to which position it counts, so a restart goes on from there and counts nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import date, timedelta

import structlog

from bus.cancellation import cancel_and_wait, finish_undisturbed
from bus.clock import Clock
from bus.events import LogEntry, event_of, read_events
from bus.follow import Publisher
from bus.handler_process import config_of
from bus.port import Bus
from projections.activity import READS
from projections.activity_days import Days, day_event
from schemas import subjects
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.rollup import DAYS_INCARNATION, RollupDay, days_cluster
from services.rollup.settings import RollupSettings

NAME = "rollup"
OPEN_DAYS = 2
"""Days whose sums may still change: today's, and the one before, which late events belong to."""
LAST_SECONDS = 6.0
"""How long storing the last sums may take when told to stop."""


async def run(
    settings: RollupSettings,
    bus: Bus,
    days_bus: Bus,
    clock: Clock,
    origin: Origin,
    *,
    code_version: str = CODE_VERSION,
    on_progress: Callable[[str, int], None] | None = None,
) -> None:
    """Sum up until cancelled, then store what is counted."""
    rollup = Rollup(bus, days_bus, clock, origin, on_progress or (lambda _state, _seq: None))
    config = config_of(NAME, settings.model_dump(mode="json"), code_version)
    await Publisher(bus, origin, NAME).publish_config(config, clock.wall_ns() / 1e9)
    following = asyncio.create_task(rollup.follow(), name="rollup-follow")
    storing = asyncio.create_task(rollup.store_again(settings.update_seconds), name="rollup-store")
    try:
        await asyncio.wait({following, storing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(following, storing)
        await finish_undisturbed(rollup.finish())
    for task in (following, storing):
        if not task.cancelled():
            task.result()


class Rollup:
    """The sums of one cluster's days."""

    def __init__(
        self,
        bus: Bus,
        days_bus: Bus,
        clock: Clock,
        origin: Origin,
        on_progress: Callable[[str, int], None],
    ) -> None:
        """Count the log of `origin` into the log of its days."""
        self._bus = bus
        self._days_bus = days_bus
        self._clock = clock
        self._origin = origin
        self._on_progress = on_progress
        days = Origin(days_cluster(origin.cluster), DAYS_INCARNATION)
        self._publisher = Publisher(days_bus, days, NAME)
        self._days = Days()
        self._patterns = [subjects.pattern(origin.cluster, one.split(".")) for one in READS]
        self._next_seq = 1
        self._storing = asyncio.Lock()
        self._log = structlog.get_logger(NAME)

    async def follow(self) -> None:
        """Count what is stored, then what comes, until cancelled."""
        await self._restore()
        tail = (await self._bus.info()).last_seq
        self._on_progress("catching_up", self._next_seq - 1)
        await self._count_stored(tail)
        self._on_progress("live", tail)
        messages = self._bus.read(self._patterns, start_seq=self._next_seq)
        async with aclosing(read_events(messages)) as entries:
            async for entry in entries:
                self._add(entry)
                self._on_progress("live", entry.seq)

    async def _count_stored(self, tail: int) -> None:
        stored = self._bus.history(self._patterns, start_seq=self._next_seq, end_seq=tail)
        async for entry in read_events(stored):
            self._add(entry)
        self._next_seq = max(self._next_seq, tail + 1)

    def _add(self, entry: LogEntry) -> None:
        if entry.event is not None:
            self._days.add(entry.event, entry.seq)
        self._next_seq = entry.seq + 1

    async def _restore(self) -> None:
        """Take up the newest days that are stored."""
        stored = (await stored_days(self._days_bus, self._origin.cluster))[-OPEN_DAYS:]
        for data in stored:
            self._days.restore(data, self._origin.incarnation)
        own = [one.last_seq for one in stored if one.incarnation == self._origin.incarnation]
        first_seq = (await self._bus.info()).first_seq
        self._next_seq = max(min(own, default=0) + 1, first_seq)
        self._log.info("counts on", seq=self._next_seq, days=[one.day for one in stored])

    async def store_again(self, pause_seconds: float) -> None:
        """Store the days that changed, again and again, until cancelled."""
        while True:
            await self._clock.sleep(pause_seconds)
            await self.store()

    async def store(self) -> None:
        """Store the days that changed."""
        async with self._storing:
            for day in sorted(self._days.changed):
                data = day_event(
                    self._days.days[day],
                    day,
                    cluster=self._origin.cluster,
                    incarnation=self._origin.incarnation,
                    last_seq=self._days.last_seqs[day],
                )
                await self._publisher.publish([NewEvent(data, 0, data.last_time_seconds)])
                if self._days.last_seqs[day] == data.last_seq:
                    self._days.changed.discard(day)
            newest = max(self._days.days, default="")
            if newest:
                oldest = date.fromisoformat(newest) - timedelta(days=OPEN_DAYS - 1)
                self._days.forget_before(oldest.isoformat())

    async def finish(self) -> None:
        """Count what is stored by now, and store the sums; what fails is left to the next start."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._count_stored((await self._bus.info()).last_seq)
                await self.store()
        except TimeoutError:
            self._log.warning("the last sums were not stored in time")


async def stored_days(days_bus: Bus, cluster: str) -> list[RollupDay]:
    """Return every day that is stored for a cluster, the oldest first."""
    pattern = subjects.pattern(days_cluster(cluster), RollupDay.PATTERN)
    found = []
    async with aclosing(days_bus.history([pattern])) as messages:
        async for message in messages:
            data = event_of(message).data
            if isinstance(data, RollupDay):
                found.append(data)
    return sorted(found, key=lambda one: one.day)
