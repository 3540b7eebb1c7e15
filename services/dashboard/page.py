"""The page's state: everything that arrives in one bounded state, which makes no use of bus or clock.

The same arrivals give the same state, so the page can be tested without a bus and will be able to
show any moment of a recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from projections.cycle_record import CycleRecords
from projections.foresight.log import ForesightLog
from projections.overview import Overview
from schemas.mismatch import OutcomeMismatch
from schemas.observation import Observation
from schemas.view import ObservationView, update_view
from services.dashboard.arrival import ReceivedMessage
from services.dashboard.foresight import KEPT_ACTIONS
from services.dashboard.node_cells import cells_of
from services.dashboard.row_text import row_text

INTERVALS = 8
"""Newest intervals between observations from which the length of a cycle in wall time is made."""
NANOSECONDS = 1_000_000_000
KEPT_CYCLES = 60
"""Newest cycles whose events a state holds, by far the most of it: what comes of a decision comes within 40."""
KEPT_ACTING = 12
"""Of older cycles, the newest that decided to do something: what was done is listed however long nothing was to do."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of the event tail."""

    seq: int
    recorded_ns: int
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the page can show."""

    tail_rows: int = 300
    overview: Overview = field(
        default_factory=lambda: Overview(cycles=CycleRecords(limit=KEPT_CYCLES, acting=KEPT_ACTING))
    )
    observation: ObservationView | None = None
    """The newest observation with its full tables; None until a keyframe came."""
    foresight: ForesightLog = field(default_factory=lambda: ForesightLog(kept=KEPT_ACTIONS))
    rows: tuple[EventRow, ...] = ()

    @property
    def cells(self) -> str:
        """Two characters per node, see `node_cells`; made when they are shown, not with each message."""
        if self.observation is None:
            return ""
        risk = self.overview.risk
        return cells_of(self.observation.nodes, None if risk is None else risk.nodes)

    @property
    def interval_seconds(self) -> float | None:
        """Wall seconds between two observations: measured, else as the observation states it."""
        stamps = self.overview.layers["observation"].stamps_ns[-INTERVALS - 1 :]
        gaps = [later - earlier for earlier, later in pairwise(stamps)]
        if gaps:
            return float(median(gaps)) / NANOSECONDS
        return None if self.observation is None else self.observation.interval_seconds


def evolve(page: Page, arrival: ReceivedMessage) -> Page:
    """Return the page's state after one stored message."""
    return after_event(with_row(page, arrival), arrival)


def with_row(page: Page, arrival: ReceivedMessage) -> Page:
    """Return the page's state with a message listed and counted."""
    row = EventRow(arrival.seq, arrival.recorded_ns, ".".join(arrival.tokens), row_text(arrival))
    overview = page.overview.after_message(arrival.layer, arrival.seq, arrival.recorded_ns)
    return replace(page, overview=overview, rows=(*page.rows, row)[-page.tail_rows :])


def after_event(page: Page, arrival: ReceivedMessage) -> Page:
    """Return the page's state after what a listed message says."""
    event = arrival.event
    if event is None:
        return page
    seen = page.observation
    if isinstance(event.data, Observation):
        seen = update_view(seen, event)
    overview, foresight = page.overview.after(event), page.foresight.after(event)
    return replace(page, overview=overview, observation=seen, foresight=foresight)


def with_operating_state(page: Page, arrival: ReceivedMessage) -> Page:
    """Return the page after a message older than its history: only how the executor is held and
    configured, and what does not fit, is taken from it.
    """
    if arrival.event is None:
        return page
    overview, data = page.overview, arrival.event.data
    if isinstance(data, OutcomeMismatch):
        return replace(page, overview=replace(overview, mismatches=data.standing))
    return replace(page, overview=replace(overview, run=overview.run.after(arrival.event)))
