"""Events of a collector, their producer, and its state between two cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.model import EventData
from schemas.observation import Observation, ObservedState
from schemas.reaction import Reaction
from schemas.snapshot import (
    NodesState,
    PlacementsState,
    SnapshotNodes,
    SnapshotPlacements,
    SnapshotWorkloads,
    WorkloadsState,
)
from services.collector.snapshot import Snapshot
from services.collector.work_ledger import WorkLedger

NAME = "collector"


@dataclass(frozen=True, slots=True)
class PublishedKinds:
    """Under which types, and as which process, a collector says what it saw."""

    producer: str
    nodes: type[NodesState]
    placements: type[PlacementsState]
    workloads: type[WorkloadsState]
    observation: type[ObservedState]
    reactions: bool = True

    @property
    def numbered(self) -> tuple[type[EventData], ...]:
        """Its numbered types; a restart continues after the highest cycle of any."""
        reactions = (Reaction,) if self.reactions else ()
        return (self.nodes, self.placements, self.workloads, self.observation, *reactions)


OWN_KINDS = PublishedKinds(NAME, SnapshotNodes, SnapshotPlacements, SnapshotWorkloads, Observation)


@dataclass(frozen=True, slots=True)
class CollectorState:
    """State of a collector between two cycles."""

    simulated: bool | None = None
    """Whether the cluster is a simulated one; None: not known yet."""
    failing_since: Mapping[str, float] = field(default_factory=dict)
    """By source (cluster time)."""
    newest_answer: tuple[float, float] | None = None
    """Cluster time and monotonic clock of the newest answer."""
    newest_time_seconds: float = 0.0
    """Cluster time of the newest look."""
    work: WorkLedger = field(default_factory=WorkLedger)


@dataclass(frozen=True, slots=True)
class CollectedCycle:
    """One look at the cluster: what was seen, and what the collector remembers of it."""

    cycle: int
    snapshot: Snapshot
    memory: CollectorState
