"""Fences the log against an executor that has been overtaken without knowing it.

The plan of an execution, which comes before its first write, is stored only together with an event on the subject of
leadership, as one atomic batch. Whoever takes over says so on that subject first. So the batch of the one before it
expects a message there that is no longer the newest, and the log refuses both: nothing is begun twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bus.events import event_of
from bus.follow import Publisher
from bus.port import Bus
from schemas import subjects
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.leadership import LeadState, OutcomeLeadership
from schemas.model import EventData
from schemas.outcome import ExecutionPhase, OutcomeExecution
from services.executor.leading import Leadership, LeadershipLost
from services.executor.lease import MOST_HOLDER, NOT_HELD, Lead

NewestHolder = Callable[[], Awaitable[str]]


class FencedPublisher(Publisher):
    """Publishes what an executor says while it leads, or while no other of its stack can."""

    def __init__(self, bus: Bus, origin: Origin, producer: str, leadership: Leadership) -> None:
        """Publish as `producer`, as far as `leadership` allows."""
        super().__init__(bus, origin, producer)
        self._leadership = leadership

    async def publish(self, new_events: Sequence[NewEvent]) -> tuple[Event[EventData], ...]:
        """Publish; see `Publisher.publish`.

        Raises:
            LeadershipLost: another replica of this stack leads, so this one has nothing to say.
            AnotherWriter: one has said so in the log already, and nothing was stored.
        """
        leadership = self._leadership
        lead = leadership.lead()
        if not new_events or not leadership.wanted:
            return await super().publish(new_events)
        if lead is not None and lead.state is LeadState.REFUSED and leadership.stands_by:
            raise LeadershipLost(lead.text)
        unsure = leadership.has_led and not (lead is not None and lead.leading)
        if not unsure and not any(_begins(one.data) for one in new_events):
            return await super().publish(new_events)
        first = new_events[0]
        mark = self._mark(first.cycle, first.time_seconds)
        return (await self.publish_together([mark, *new_events]))[1:]

    async def take_over(self, cycle: int, cluster_time_seconds: float) -> None:
        """Say how this executor stands, before anything else is read or said.

        Raises:
            AnotherWriter: another executor has said so since this one did.
        """
        await super().publish([self._mark(cycle, cluster_time_seconds)])

    def _mark(self, cycle: int, cluster_time_seconds: float) -> NewEvent:
        data = self._leadership.mark(cycle, cluster_time_seconds)
        return NewEvent(data, cycle, cluster_time_seconds)


def _begins(data: Any) -> bool:
    return isinstance(data, OutcomeExecution) and data.phase is ExecutionPhase.STARTED


def newest_leader(bus: Bus, cluster: str) -> NewestHolder:
    """Return what asks the log who has last said that it leads."""

    async def ask() -> str:
        stored = await bus.last(subjects.build(cluster, OutcomeLeadership.PATTERN))
        data = None if stored is None else event_of(stored).data
        return data.executor if isinstance(data, OutcomeLeadership) else ""

    return ask


def lead_by_log(
    leadership: Leadership, newest: NewestHolder | None
) -> Callable[[], Awaitable[Lead]]:
    """Return what says how an executor stands by its own clock and by the log together."""

    async def lead_now() -> Lead:
        said = leadership.candidate.identity if newest is None else await newest()
        lead = leadership.lead() or NOT_HELD  # asked last: it is what may run out
        if said == leadership.candidate.identity:
            return lead
        return Lead(
            LeadState.SUSPENDED, f"{said[:MOST_HOLDER]!r} has said in the log that it leads"
        )

    return lead_now
