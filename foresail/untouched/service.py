"""The process `untouched`: at each observation it looks at the world without us at the same cluster time.

It acts on the newest observation alone, so a machine that is too slow for two worlds leaves cycles out
instead of falling behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bus.clock import Clock
from bus.follow import Follower
from bus.item_errors import ItemErrors
from bus.port import Bus
from foresail.untouched.world import World
from schemas.config import CODE_VERSION
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.model import DataModel
from schemas.numbers import Cycle, Seconds
from schemas.observation import Observation
from schemas.untouched import (
    UntouchedNodes,
    UntouchedObservation,
    UntouchedPlacements,
    UntouchedWorkloads,
)
from services.collector.collected import PublishedKinds
from services.collector.service import Collector
from services.collector.settings import CollectorSettings
from services.twin_transport import TwinTransport

NAME = "untouched"
KINDS = PublishedKinds(
    NAME,
    UntouchedNodes,
    UntouchedPlacements,
    UntouchedWorkloads,
    UntouchedObservation,
    reactions=False,
)


class NewestObservation(DataModel):
    """The newest observation of the acted world."""

    id: str = ""
    cycle: Cycle = 0
    time_seconds: Seconds = 0.0
    """Cluster time."""


class UntouchedHandler:
    """The pure part: which observation is the newest; see `bus.follow.Handler`."""

    name = NAME
    reads: tuple[tuple[str, ...], ...] = (Observation.PATTERN, UntouchedObservation.PATTERN)
    state_version = 1
    deadline_seconds: float | None = None

    def initial(self) -> NewestObservation:
        """Return the state before any event."""
        return NewestObservation()

    def evolve(self, state: NewestObservation, event: Event[Any]) -> NewestObservation:
        """Return the state after one stored event."""
        if not isinstance(event.data, Observation) or event.cycle <= state.cycle:
            return state
        at = event.data.cluster_time_seconds
        return NewestObservation(id=event.id, cycle=event.cycle, time_seconds=at)

    def decide(self, state: NewestObservation, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return nothing: what is published depends on the untouched world."""
        del state, overdue
        return ()

    def open_cycle(self, state: NewestObservation) -> int | None:
        """No cycle waits on a deadline here."""
        del state
        return None


async def run(
    settings: CollectorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    world: World,
    *,
    code_version: str = CODE_VERSION,
    on_progress: Callable[[str, int], None] | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Look at the untouched world once per observation until cancelled.

    Raises:
        AnotherWriter: a second one writes the same log.
    """
    transport = TwinTransport(world.cluster)
    collector = Collector(
        settings, bus, clock, origin, transport, code_version=code_version, kinds=KINDS
    )
    await collector.resume()

    async def look(newest: NewestObservation) -> None:
        if newest.cycle > collector.cycle:
            known = world.look_of(newest.cycle)
            if known is None:
                for _ in world.advance(newest.time_seconds):
                    await asyncio.sleep(0)
            await collector.collect_once(cycle=newest.cycle, causes=(newest.id,), look=known)

    await Follower(
        UntouchedHandler(),
        bus,
        clock,
        collector.publisher,
        act=look,
        on_progress=on_progress,
        errors=errors,
    ).run()
