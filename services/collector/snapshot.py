"""The snapshot of one cycle, before it is framed: layer 1 as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.capabilities import MissingCapability
from schemas.measured import Measured
from schemas.occupancy import Occupancy
from schemas.snapshot import NodeTable, PlacementTable, PodTable, SourceRead, WorkloadTable
from schemas.work import WorkCounters


@dataclass(frozen=True, slots=True)
class Scaling:
    """One autoscaler: its target as `<kind>/<name>`, and what it wants since when."""

    target: str
    current: int
    desired: int
    scaled_time_seconds: float | None
    """Cluster time of its newest rescale; None when it never rescaled."""
    least: int = 1
    most: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reason of each condition, by its type."""
    inactive: str = ""
    """Why it computes no replicas, in the cluster's words."""
    missing: tuple[str, ...] = ()
    """Metrics that could not be read."""
    metrics: int = 0
    """How many it has."""


MOST_AUTOSCALERS = 200
"""Published in one snapshot; 300 bytes each, in a message that must stay under 1 MiB."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One cycle's snapshot, before it is framed."""

    cluster_time_seconds: float
    simulated: bool
    sources: tuple[SourceRead, ...]
    nodes: NodeTable
    placements: PlacementTable
    workloads: WorkloadTable
    pods: PodTable
    pods_running: int
    pods_total: int
    pods_omitted: int
    waiting_omitted: dict[str, int]
    bare_pods_succeeded: int
    autoscalers: Mapping[str, Scaling]
    """By `<namespace>/HorizontalPodAutoscaler/<name>`; published as they are, and read for reactions."""
    work: WorkCounters | None = None
    occupancy: Occupancy | None = None
    measured: Measured | None = None
    missing_means: tuple[MissingCapability, ...] = ()

    @property
    def published_autoscalers(self) -> Mapping[str, Scaling]:
        """The autoscalers that travel, the first by name: all that a re-run can know."""
        return dict(sorted(self.autoscalers.items())[:MOST_AUTOSCALERS])

    def source(self, name: str) -> SourceRead:
        """Return one read."""
        return next(source for source in self.sources if source.source == name)

    def has(self, *names: str) -> bool:
        """Say whether all these sources answered."""
        return all(self.source(name).ok for name in names)
