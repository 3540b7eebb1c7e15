"""The page's state: a pure handler of everything that arrives, of bounded size.

The same arrivals give the same state, so the page can be tested without a bus and will be able to
show any moment of a recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any

from schemas.config import Config
from schemas.control import Control
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.operating import OperatingState, operating_after
from schemas.outage import Outage, is_without_nodes, outage_of
from schemas.outcome import OutcomeExecution, OutcomeForecast, OutcomeReward, OutcomeVerification
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.proposal import Proposal
from schemas.reaction import Reaction, ReactionItem
from schemas.registry import LAYERS
from schemas.run import RunDataSource, RunError
from schemas.snapshot import SnapshotNodes
from schemas.stimulus import Stimulus
from schemas.view import ObservationView, update_view
from services.dashboard.arrival import Arrival
from services.dashboard.gist import gist_of
from services.dashboard.node_cells import cells_of
from services.dashboard.story import Story, continued

STORIES = 300
"""Cycles that can be looked up."""
STAMPS = 64
"""Newest time stamps of a layer from which its rate is made."""
BEATS = 9
"""Newest observations from which the length of a cycle in wall time is made."""
REWARDS = 120
REACTIONS = 40
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pulse:
    """How one layer beats."""

    count: int = 0
    """Events seen since the dashboard began to read."""
    seq: int = 0
    stamps_ns: tuple[int, ...] = ()
    """Recorded times of the newest events, oldest first."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the event tail."""

    seq: int
    recorded_ns: int
    subject: str
    gist: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the page can show."""

    tail_rows: int = 300
    seq: int = 0
    recorded_ns: int = 0
    pulses: Mapping[str, Pulse] = field(default_factory=lambda: dict.fromkeys(LAYERS, Pulse()))
    observed_ns: tuple[int, ...] = ()
    """Recorded times of the newest observations."""
    observation: ObservationView | None = None
    outage: Outage | None = None
    """The cluster cannot be read now."""
    risk: PredictionRisk | None = None
    demand: PredictionDemand | None = None
    cells: str = ""
    """Two characters per node, see `node_cells`."""
    stories: Mapping[int, Story] = field(default_factory=dict)
    """By cycle, oldest first."""
    rewards: tuple[OutcomeReward, ...] = ()
    forecast: OutcomeForecast | None = None
    reactions: tuple[ReactionItem, ...] = ()
    """Newest first."""
    stimulus: Stimulus | None = None
    operating: OperatingState = field(default_factory=OperatingState)
    writes_in: tuple[str, ...] | None = None
    """Namespaces that the executor may write in; None: the simulated cluster's, all of them."""
    source: RunDataSource | None = None
    error: RunError | None = None
    rows: tuple[Row, ...] = ()

    @property
    def interval_seconds(self) -> float | None:
        """Wall seconds between two observations: measured, else as the observation states it."""
        gaps = [later - earlier for earlier, later in pairwise(self.observed_ns)]
        if gaps:
            return float(median(gaps)) / NANOSECONDS
        return None if self.observation is None else self.observation.interval_seconds

    @property
    def story(self) -> Story | None:
        """The newest cycle that was decided."""
        decided = (
            one for one in reversed(tuple(self.stories.values())) if one.decision is not None
        )
        return next(decided, None)


def evolve(page: Page, arrival: Arrival) -> Page:
    """Return the page's state after one stored message."""
    row = Row(arrival.seq, arrival.recorded_ns, ".".join(arrival.tokens), gist_of(arrival))
    page = replace(
        page,
        seq=arrival.seq,
        recorded_ns=arrival.recorded_ns,
        pulses=_beaten(page.pulses, arrival),
        rows=(*page.rows, row)[-page.tail_rows :],
    )
    return page if arrival.event is None else _learnt(page, arrival.event)


def with_operating_state(page: Page, arrival: Arrival) -> Page:
    """Return the page after a message older than its history: only how the executor is held and
    configured is taken from it.
    """
    return page if arrival.event is None else _beside(page, arrival.event)


def _beaten(pulses: Mapping[str, Pulse], arrival: Arrival) -> Mapping[str, Pulse]:
    old = pulses.get(arrival.layer)
    if old is None:
        return pulses
    stamps = (*old.stamps_ns, arrival.recorded_ns)[-STAMPS:]
    return {**pulses, arrival.layer: Pulse(old.count + 1, arrival.seq, stamps)}


def _learnt(page: Page, event: Event[Any]) -> Page:
    match event.data:
        case SnapshotNodes():
            return replace(page, outage=outage_of(event.data))
        case Observation():
            observed_ns = (*page.observed_ns, event.recorded_ns)[-BEATS:]
            view = update_view(page.observation, event)
            outage = page.outage if is_without_nodes(event.data) else None
            page = replace(page, observed_ns=observed_ns, observation=view, outage=outage)
            return _coloured(page)
        case PredictionRisk():
            return _coloured(replace(page, risk=event.data))
        case PredictionDemand():
            return replace(page, demand=event.data)
        case OutcomeReward():
            page = replace(page, rewards=(*page.rewards, event.data)[-REWARDS:])
            return _storied(page, event)
        case OutcomeExecution():
            return _storied(_operated(page, event), event)
        case Proposal() | Decision() | OutcomeVerification():
            return _storied(page, event)
        case Reaction(reactions=items):
            return replace(page, reactions=(*reversed(items), *page.reactions)[:REACTIONS])
        case _:
            return _beside(page, event)


def _beside(page: Page, event: Event[Any]) -> Page:
    match event.data:
        case OutcomeForecast(slot=0):
            return replace(page, forecast=event.data)
        case Stimulus():
            return replace(page, stimulus=event.data)
        case Control():
            return _operated(page, event)
        case Config(process="executor", settings=settings):
            names = settings.get("namespaces")
            writes_in = tuple(map(str, names)) if isinstance(names, list | tuple) else None
            return replace(_operated(page, event), writes_in=writes_in)
        case RunDataSource():
            return replace(page, source=event.data)
        case RunError():
            return replace(page, error=event.data)
        case _:
            return page


def _operated(page: Page, event: Event[Any]) -> Page:
    return replace(page, operating=operating_after(page.operating, event.data))


def _coloured(page: Page) -> Page:
    if page.observation is None:
        return replace(page, cells="")
    risk = page.risk.nodes if page.risk is not None else None
    return replace(page, cells=cells_of(page.observation.nodes, risk))


def _storied(page: Page, event: Event[Any]) -> Page:
    cycle = event.data.cycle
    story = continued(page.stories.get(cycle, Story(cycle)), event)
    stories = {**page.stories, cycle: story}
    while len(stories) > STORIES:
        del stories[min(stories)]
    return replace(page, stories=stories)
