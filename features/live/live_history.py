"""Attempts as inference knows them in a running cluster: history that follows the snapshots.

Guarantee: the same events in the log give the same history, whichever cycles travelled as
keyframes; a cycle whose pods could not be read changes nothing, and the next one that can be read
catches up. Everything here is a value: each event gives a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from features.codes import code_of
from features.history import (
    FEATURE_SETS,
    Anchors,
    Events,
    History,
    MachineEvents,
    MachineKind,
)
from features.live.placements import Placements, placements_after
from features.live.pod_changes import (
    MICROSECONDS,
    UNSEEN_START_US,
    LargestNode,
    PodChange,
    PodSnapshot,
    changes,
    first_changes,
    task_events,
)
from schemas.observation import ObservedNodes
from schemas.signals import SignalStatus
from schemas.snapshot import PodTable, SnapshotPlacements, SnapshotWorkloads
from schemas.tables import apply_delta
from schemas.view import ObservationView

FEATURE_SET = FEATURE_SETS["live"]
LIVE_SETS = {name: FEATURE_SETS[name] for name in ("live", "hazard")}
"""Sets that a running cluster can answer, from one history."""
TRIM_CYCLES = 20
"""How often what no feature can ask for any more is dropped."""
MOST_KEYS = 5_000
"""Workloads, namespaces and nodes remembered beside those of the last hour."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Nodes as history last heard of them."""

    ids: tuple[str, ...] = ()
    ready: tuple[bool, ...] = ()
    cores: tuple[float, ...] = ()
    memory_bytes: tuple[int, ...] = ()

    @classmethod
    def of(cls, nodes: ObservedNodes) -> Machines:
        """Return the nodes of an observation."""
        return cls(
            nodes.ids, nodes.ready, nodes.cpu_allocatable_cores, nodes.memory_allocatable_bytes
        )

    def rows(self) -> dict[str, tuple[bool, float, int]]:
        """Return readiness, cores and memory by node."""
        columns = zip(self.ready, self.cores, self.memory_bytes, strict=True)
        return dict(zip(self.ids, columns, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class LiveHistory:
    """The history of attempts, and the tables from which the next cycle's part of it follows.

    A cluster's clock may stand still or go back; history's does not: what happens meanwhile counts
    as happening at its newest moment.
    """

    history: History = field(default_factory=lambda: History.begin(FEATURE_SET))
    placed: Placements | None = None
    """None while the chain of frames is broken."""
    pods: PodTable | None = None
    pods_cycle: int = -1
    omitted: int = 0
    newest: PodSnapshot | None = None
    """The newest snapshot that is in the history."""
    scale: LargestNode | None = None
    """The largest node when history began; requests are fractions of it."""
    starts: Mapping[str, int] = field(default_factory=dict)
    machines: Machines = Machines()
    held: tuple[PodChange, ...] = ()
    """What happened and is not in the history yet, in order of time."""
    trimmed_cycle: int = -TRIM_CYCLES
    """Of the first cycle too: what ran already is many events, of which one row a key is left."""

    def with_placements(self, data: SnapshotPlacements) -> LiveHistory:
        """Return this after one frame of the placements."""
        return replace(self, placed=placements_after(self.placed, data))

    def with_workloads(self, data: SnapshotWorkloads) -> LiveHistory:
        """Return this after one frame of the workloads, of which the listed pods are kept."""
        pods: PodTable | None = data.pods
        follows = self.pods_cycle == data.frame.previous_cycle
        if pods is None and self.pods is not None and follows:
            pods = _updated_pods(self.pods, data)
        return replace(self, pods=pods, pods_cycle=data.cycle, omitted=data.pods_omitted)

    def with_observation(self, view: ObservationView, *, with_changes: bool = True) -> LiveHistory:
        """Return this after the observation that closes the cycle's snapshot.

        Args:
            view: the observation.
            with_changes: whether a model will read the history before the next observation; otherwise what
                happened is held back and counted later, which is cheaper and gives the same.
        """
        live = self._with_nodes(view) if _is_available(view, "node_requests") else self
        snapshot = live.snapshot(view)
        if snapshot is not None and live.scale is not None and _is_available(view, "pods"):
            changes_since = _pod_changes(live.newest, snapshot, live.scale, view)
            live = replace(live, held=(*live.held, *changes_since), newest=snapshot)
        return live.with_held_changes(view.cycle) if with_changes else live

    def with_held_changes(self, cycle: int) -> LiveHistory:
        """Return this with everything that was held back in the history."""
        history, starts, trimmed_cycle = self.history, self.starts, self.trimmed_cycle
        if self.held:
            table, starts = task_events(self.held, starts)
            times = np.maximum(table.time_us, max(history.newest_us, history.from_us))
            history = history.extend(Events(tasks=replace(table, time_us=times)))
        if self.newest is not None and cycle - trimmed_cycle >= TRIM_CYCLES:
            trimmed_cycle = cycle
            history = history.trim(self.newest.time_us, MOST_KEYS)
            present = frozenset(self.newest.placed.ids)
            starts = {row_id: at for row_id, at in starts.items() if row_id in present}
        return replace(self, history=history, starts=starts, held=(), trimmed_cycle=trimmed_cycle)

    def snapshot(self, view: ObservationView) -> PodSnapshot | None:
        """Return the snapshot that an observation was made from; None when it is not whole."""
        placed, pods = self.placed, self.pods
        if placed is None or pods is None or not placed.cycle == self.pods_cycle == view.cycle:
            return None
        return PodSnapshot(
            round(view.cluster_time_seconds * MICROSECONDS), placed, pods, self.omitted
        )

    def anchors(self, view: ObservationView, rows: NDArray[np.int64]) -> Anchors:
        """Return one question per chosen row of the newest snapshot, at the observation's time."""
        assert self.newest is not None
        assert self.scale is not None
        placed = self.newest.placed
        pods = np.maximum(placed.pods[rows], 1)
        cores = placed.cpu_request_cores[rows] / pods / self.scale.cores
        memory = placed.memory_request_bytes[rows] / pods / self.scale.memory_bytes
        at = max(round(view.cluster_time_seconds * MICROSECONDS), self.history.from_us)
        starts = [self.starts.get(placed.ids[row], -1) for row in rows.tolist()]
        return Anchors.of(
            time_us=np.full(len(rows), at),
            job=placed.job[rows],
            name=placed.name[rows],
            user=placed.user[rows],
            machine=placed.machine[rows],
            cpu_request=cores,
            memory_request=memory,
            attempt_start_us=starts,
            seen_since_us=self._seen_since(np.array(starts, np.int64), at),
        )

    def _seen_since(self, starts: NDArray[np.int64], at: int) -> NDArray[np.int64]:
        """Return when attempts were first seen that ran before anybody looked, and -1 for others.

        All of those were given one start, a day before the first snapshot; where a cluster's clock began
        less than a day before it lies before 0, and else it is the oldest start that there is.
        """
        firsts = self.history.ledgers["cell"].first_us
        oldest = int(firsts[0]) if len(firsts) else -1
        seen_since = starts + UNSEEN_START_US
        unseen = (starts < -1) | ((starts == oldest) & (starts >= 0) & (seen_since <= at))
        return np.where(unseen, seen_since, -1)

    def _with_nodes(self, view: ObservationView) -> LiveHistory:
        nodes = Machines.of(view.nodes)
        if nodes == self.machines or not nodes.ids:
            return self
        scale = self.scale or LargestNode(max(nodes.cores), max(nodes.memory_bytes))
        at = max(round(view.cluster_time_seconds * MICROSECONDS) - 1, self.history.from_us)
        events = machine_events(self.machines, nodes, scale, at)
        history = self.history.extend(Events(machines=events)) if len(events) else self.history
        return replace(self, history=history, scale=scale, machines=nodes)


def _pod_changes(
    before: PodSnapshot | None, snapshot: PodSnapshot, scale: LargestNode, view: ObservationView
) -> list[PodChange]:
    if before is None:
        return first_changes(snapshot, scale)
    ready = view.nodes.ready
    lost = {name for name, is_ready in zip(view.nodes.ids, ready, strict=True) if not is_ready}
    known = view.nodes.index() if before.placed.ids != snapshot.placed.ids else {}
    return changes(
        before, snapshot, scale, lambda node: node in lost or (bool(known) and node not in known)
    )


def _updated_pods(pods: PodTable, data: SnapshotWorkloads) -> PodTable | None:
    try:
        return apply_delta(pods, (data.frame.deltas or {})["pods"])
    except (KeyError, ValueError):
        return None


def _is_available(view: ObservationView, name: str) -> bool:
    signal = view.signal(name)
    return signal is not None and signal.status is not SignalStatus.MISSING


def machine_events(old: Machines, new: Machines, scale: LargestNode, at: int) -> MachineEvents:
    """Return what became of nodes at a time in microseconds: one that is not ready was removed."""
    before, after = old.rows(), new.rows()
    rows: list[tuple[MachineKind, str, float, float]] = []
    for name in sorted({*before, *after}):
        was, now = before.get(name, (False, 0.0, 0)), after.get(name, (False, 0.0, 0))
        if was == now:
            continue
        if was[0] and not now[0]:
            rows.append((MachineKind.REMOVE, name, np.nan, np.nan))
        elif now[0]:
            kind = MachineKind.UPDATE if was[0] else MachineKind.ADD
            rows.append((kind, name, now[1] / scale.cores, now[2] / scale.memory_bytes))
    return MachineEvents.of(
        time_us=np.full(len(rows), at),
        kind=[int(kind) for kind, *_ in rows],
        machine=[code_of(name) for _, name, *_ in rows],
        cpus=[cores for *_, cores, _ in rows],
        memory=[memory for *_, memory in rows],
    )
