"""Reads from a log what waits for a person."""

from __future__ import annotations

from bus.events import read_entry, read_events
from bus.port import Bus
from projections.waiting import Waiting
from schemas import subjects
from schemas.approval import ControlApproval, OutcomeApproval
from schemas.decision import Decision
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution

BEFORE = 400
"""Positions before the oldest request that waits in which its decision lies."""


async def read_waiting(bus: Bus, cluster: str) -> Waiting:
    """Return what waits by the log as it is now, with what it is expected to change.

    A log in which nobody was ever asked costs one request.
    """
    request = subjects.build(cluster, OutcomeApproval.PATTERN)
    if await bus.last(request) is None:
        return Waiting()
    waiting, first = Waiting(), 0
    asked = [subjects.build(cluster, kind.PATTERN) for kind in (ControlApproval, OutcomeExecution)]
    seqs: dict[str, int] = {}
    async for entry in read_events(bus.history([request, *asked])):
        if entry.event is not None:
            waiting = waiting.after(entry.event)
            seqs[entry.event.id] = entry.event.seq
    if not waiting.actions:
        return waiting
    first = max(1, min(seqs[one.request_id] for one in waiting.actions) - BEFORE)
    kinds = [subjects.build(cluster, Decision.PATTERN), request, *asked]
    waiting = Waiting()
    async for entry in read_events(bus.history(kinds, start_seq=first)):
        if entry.event is not None:
            waiting = waiting.after(entry.event)
    newest = await bus.last(subjects.build(cluster, Observation.PATTERN))
    event = None if newest is None else read_entry(newest).event
    return waiting if event is None else waiting.after(event)
