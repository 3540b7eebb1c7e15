"""Layer 2 again: from the recorded snapshot tables to the observation.

Taken from the recording: the snapshots, and where the collector began a new chain of frames (a
restart shows only by that all its tables begin anew).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lab.rerun.compare import Comparer
from lab.rerun.settings import Changes, settings_from
from lab.rerun.stage import AnyEvent, Pair, Pattern, Recorded
from projections.frame_states import FrameStates
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import NewEvent
from schemas.frames import FramedData, FrameMismatch, FullState, apply_frame, frame_of
from schemas.identity import Origin
from schemas.model import EventData
from schemas.numbers import rounded
from schemas.observation import Observation
from schemas.snapshot import (
    NodeTable,
    PlacementTable,
    PodTable,
    SnapshotNodes,
    SnapshotPlacements,
    SnapshotWorkloads,
    WorkloadTable,
)
from services.collector.observe import interpret_snapshot
from services.collector.scalings import published_scalings
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot

_FINEST_SECONDS = 1e-7
"""Between two floats of a time today; of small times a great many travel alike, and none was ever recorded."""
SNAPSHOTS = (SnapshotNodes, SnapshotPlacements, SnapshotWorkloads)


class ObservingStage:
    """The collector's interpretation of what it saw."""

    process = "collector"
    layer = "observation"
    reads: tuple[Pattern, ...] = tuple(kind.PATTERN for kind in SNAPSHOTS)
    writes: tuple[Pattern, ...] = (Observation.PATTERN,)

    def __init__(self, changes: Changes, origin: Origin, *, chained: bool) -> None:
        """Observe again; `chained` continues from its own output instead of the recorded one."""
        self._changes = changes
        self._compare = Comparer(origin, self.process, self.layer)
        self._chained = chained
        self._settings: CollectorSettings | None = None
        self._seen: dict[str, AnyEvent] = {}
        self._tables = FrameStates()
        self._previous: FullState | None = None

    @property
    def ready(self) -> bool:
        """Whether it was configured."""
        return self._settings is not None

    def configure(self, config: Config) -> None:
        """Take the collector's settings.

        Raises:
            InputError: they are not what today's collector knows.
        """
        self._settings = settings_from(CollectorSettings, "collector", config, self._changes)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Nothing to restore: keyframes hold the whole state."""

    def take(self, event: AnyEvent) -> None:
        """Keep the newest snapshot tables."""
        self._tables.add(event)
        self._seen[event.type] = event

    def answer(self, recorded: Recorded) -> Sequence[Pair]:
        """Observe the cycle's snapshot again."""
        made = self._make(recorded)
        pair = self._pair(recorded, made)
        for seconds in () if pair.equal or made is None else _instants(made[0].time_seconds):
            again = self._make(recorded, seconds)
            earlier = self._pair(recorded, again)
            if earlier.equal:
                made, pair = again, earlier
                break
        if made is not None and (self._chained or pair.equal):
            self._previous = made[1]
            _carry(made[0].data, made[1])
        else:
            self._remember(recorded.event.data)
        return (pair,)

    def finish(self) -> Sequence[Pair]:
        """Nothing waits here."""
        return ()

    def _pair(self, recorded: Recorded, made: tuple[NewEvent, FullState] | None) -> Pair:
        new_event = None if made is None else made[0]
        return self._compare.pair(recorded, new_event, grounded=new_event is not None)

    def _make(
        self, recorded: Recorded, seconds: float | None = None
    ) -> tuple[NewEvent, FullState] | None:
        """Return the observation and the full state after it; None when its snapshot is not there.

        `seconds` is the time of the snapshot; None: as it was recorded.
        """
        cycle = recorded.cycle
        states = [self._tables.states.get(kind.TYPE) for kind in SNAPSHOTS]
        if any(state is None or state.cycle != cycle for state in states):
            return None
        if self._begins_anew(recorded):
            self._previous = None
        elif self._previous is None:
            return None
        data, full = self._observe(cycle, seconds)
        causes = tuple(self._seen[kind.TYPE].id for kind in SNAPSHOTS)
        return NewEvent(data, cycle, data.cluster_time_seconds, causes), full

    def _begins_anew(self, recorded: Recorded) -> bool:
        """Say whether the collector forgot what it had sent: all its tables are whole again."""
        return recorded.content["frame"]["frame"] == "keyframe" and all(
            self._seen[kind.TYPE].data.frame.frame == "keyframe" for kind in SNAPSHOTS
        )

    def _observe(self, cycle: int, seconds: float | None) -> tuple[Observation, FullState]:
        settings = self._settings
        assert settings is not None
        snapshot = self._snapshot()
        if seconds is not None:
            snapshot = replace(snapshot, cluster_time_seconds=seconds)
        interpretation = interpret_snapshot(snapshot, settings)
        tables = {"nodes": interpretation.nodes, "pods": interpretation.pods}
        data = frame_of(
            Observation,
            tables,
            cycle=cycle,
            previous=self._previous,
            keyframe_every=settings.keyframe_cycles,
            cluster_time_seconds=snapshot.cluster_time_seconds,
            interval_seconds=settings.cycle_seconds,
            expected_agents=settings.expected_agents,
            namespaces=settings.namespaces,
            totals=interpretation.totals,
            signals=interpretation.signals,
            work=interpretation.work,
            services=interpretation.services,
            occupancy=snapshot.occupancy,
            missing_means=snapshot.missing_means,
        )
        frame = data.frame
        return data, FullState(cycle, frame.keyframe_cycle, tables, frame.state_hash)

    def _snapshot(self) -> Snapshot:
        nodes: SnapshotNodes = self._seen[SnapshotNodes.TYPE].data
        workloads: SnapshotWorkloads = self._seen[SnapshotWorkloads.TYPE].data
        tables = self._tables.tables()
        node_table, placements = tables["nodes"], tables["placements"]
        workload_table, pods = tables["workloads"], tables["pods"]
        assert isinstance(node_table, NodeTable)
        assert isinstance(placements, PlacementTable)
        assert isinstance(workload_table, WorkloadTable)
        assert isinstance(pods, PodTable)
        return Snapshot(
            cluster_time_seconds=nodes.cluster_time_seconds,
            simulated=nodes.simulated,
            sources=nodes.sources,
            nodes=node_table,
            placements=placements,
            workloads=workload_table,
            pods=pods,
            pods_running=workloads.pods_running,
            pods_total=workloads.pods_total,
            pods_omitted=workloads.pods_omitted,
            waiting_omitted=workloads.waiting_omitted,
            bare_pods_succeeded=workloads.bare_pods_succeeded,
            autoscalers=published_scalings(workloads.autoscalers),
            work=workloads.work,
            occupancy=workloads.occupancy,
            missing_means=workloads.missing_means,
            measured=nodes.measured,
        )

    def _remember(self, recorded: Observation) -> None:
        try:
            self._previous = apply_frame(self._previous, recorded)
        except FrameMismatch:
            self._previous = None


def _instants(seconds: float) -> Iterator[float]:
    """Yield the other floats that travel as `seconds`, a time since the epoch.

    Collectors of old took ages from the cluster time before it was rounded, which is one of these.
    """
    if math.ulp(seconds) < _FINEST_SECONDS:
        return
    for towards in (-math.inf, math.inf):
        other = math.nextafter(seconds, towards)
        while rounded(other) == seconds:
            yield other
            other = math.nextafter(other, towards)


def _carry(data: EventData, full: FullState) -> None:
    assert isinstance(data, FramedData)
    data.attach_full_state(full)
