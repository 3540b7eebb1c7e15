"""A recording as a plant: the cluster as it was in one cycle, and the demand that came after it.

A closed-loop re-run continues in the simulated cluster from there. Taken from the recording: nodes
with their size and actuators, which pods ran on which of them, and each later workload with its
request, at its time, for as long as it was there. What the cluster does with them is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.recording import Recording, open_recording
from lab.rerun.start_state import ClusterTables, StartState, start_state
from lab.rerun.trusted import read_event
from schemas.envelope import attributes_of
from schemas.frames import FrameMismatch, FullState, apply_frame
from schemas.registry import UnknownEvent
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads, WorkloadTable
from twin.port.workloads import WorkloadArrival, write_trace_file

SNAPSHOTS = frozenset({SnapshotNodes.TYPE, SnapshotPlacements.TYPE, SnapshotWorkloads.TYPE})
SIMULATED = (
    "simulated: scheduling, controllers, autoscaling, kubelets, usage and the executor's effects "
    "(docs/twin.md, docs/limits.md)"
)
RECORDED = (
    "from the recording: nodes and actuators, pods on them at the start, each later workload's "
    "request, arrival and life"
)
NOT_THERE = (
    "not carried over: failures of nodes and of the API, what operators did, "
    "and rescales by autoscalers or by recorded actions after the start"
)


@dataclass(frozen=True, slots=True)
class RecordedWorkload:
    """Start of a closed-loop run."""

    workload: Path
    nodes: int
    first_cycle: int
    cycles: int
    cluster_seconds: float
    """Cluster time from the first cycle to the recording's last."""
    notes: tuple[str, ...]
    damage: str = ""
    """Why reading the recording ended early; empty when it did not."""


@dataclass(slots=True)
class _Life:
    """One workload: how it arrives, and when it was last there."""

    arrival: WorkloadArrival
    last_seconds: float
    succeeded: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _CycleSnapshot:
    """One cycle's snapshot."""

    cycle: int
    time_seconds: float
    tables: ClusterTables


def write_recorded_workload(path: Path, from_cycle: int, out: Path) -> RecordedWorkload:
    """Write the workload file of a recording from a cycle on.

    Args:
        path: the recording.
        from_cycle: the cycle to start from; 0: its first.
        out: the file to write, `.jsonl`.

    Raises:
        InputError: no snapshot of that cycle, or no time is left after it.
    """
    begin: _CycleSnapshot | None = None
    start: StartState | None = None
    lives: dict[tuple[str, str], _Life] = {}
    last: _CycleSnapshot | None = None
    recording = open_recording(path)
    for look in _looks(recording):
        if look.cycle < max(1, from_cycle):
            continue
        if begin is None:
            begin, start = look, start_state(look.tables, task_seconds=None)
        _live(lives, look, look.time_seconds - begin.time_seconds)
        last = look
    if begin is None or start is None or last is None or not start.nodes:
        raise InputError("--at", from_cycle, "the recording holds no whole snapshot from there on")
    seconds = last.time_seconds - begin.time_seconds
    if seconds <= 0:
        raise InputError("--at", from_cycle, "give a cycle before the recording's last")
    arrivals = sorted(
        (_with_end(life, seconds) for life in lives.values()),
        key=lambda arrival: (arrival.time_seconds, arrival.namespace, arrival.name),
    )
    notes = (RECORDED, SIMULATED, NOT_THERE, *start.notes)
    write_trace_file(out, start.nodes, arrivals, notes)
    cycles = last.cycle - begin.cycle
    return RecordedWorkload(
        out, len(start.nodes), begin.cycle, cycles, seconds, notes, recording.damage
    )


def _live(lives: dict[tuple[str, str], _Life], look: _CycleSnapshot, at: float) -> None:
    """Note who is there; whoever is new arrives now."""
    present = _present(look.tables)
    known = {_key(workload) for workload in present}
    if any(key not in lives for key in known):
        for arrival in start_state(look.tables, task_seconds=None).arrivals:
            key = (arrival.namespace, arrival.name)
            if key not in lives:
                there = arrival.start_nodes if at == 0 else ()
                lives[key] = _Life(replace(arrival, time_seconds=at, start_nodes=there), at)
    for workload, (succeeded, failed) in present.items():
        life = lives.get(_key(workload))
        if life is not None:
            life.last_seconds = at
            life.succeeded = life.succeeded or succeeded
            life.failed = life.failed or failed


def _present(tables: ClusterTables) -> dict[str, tuple[bool, bool]]:
    """Return the workloads that hold or wait for anything, with (a success, a failure)."""
    table: WorkloadTable = tables.workloads
    ended = {
        name: (table.succeeded[row] > 0, table.failed[row] > 0)
        for row, name in enumerate(table.ids)
    }
    names = {row.partition("|")[2] for row in tables.placements.ids}
    names |= {
        tables.pods.workload[row] or name.replace("/", "/Pod/", 1)
        for row, name in enumerate(tables.pods.ids)
        if tables.pods.phase[row] == "Pending"
    }
    return {name: ended.get(name, (False, False)) for name in sorted(names)}


def _key(workload: str) -> tuple[str, str]:
    namespace, _, rest = workload.partition("/")
    return namespace, rest.partition("/")[2]


def _with_end(life: _Life, whole_seconds: float) -> WorkloadArrival:
    """Return the arrival with its end, if it ended before the recording did."""
    lasted = life.last_seconds - life.arrival.time_seconds
    if life.last_seconds >= whole_seconds or lasted <= 0:
        return life.arrival
    outcome: Any = "run"
    if life.arrival.kind == "task":
        outcome = "fail" if life.failed and not life.succeeded else "succeed"
    return replace(life.arrival, duration_seconds=round(lasted, 3), outcome=outcome)


def _looks(recording: Recording) -> Iterator[_CycleSnapshot]:
    """Yield every cycle whose snapshot is whole."""
    full: dict[str, FullState] = {}
    time_seconds = 0.0
    for message in recording:
        if attributes_of(message.headers).get("type") not in SNAPSHOTS:
            continue
        try:
            data = read_event(message).data
            full[data.TYPE] = apply_frame(full.get(data.TYPE), data, prove=False)
        except (UnknownEvent, FrameMismatch):
            continue
        time_seconds = data.cluster_time_seconds
        cycles = {state.cycle for state in full.values()}
        if len(full) == len(SNAPSHOTS) and len(cycles) == 1:
            tables: dict[str, Any] = {}
            for state in full.values():
                tables.update(state.tables)
            yield _CycleSnapshot(cycles.pop(), time_seconds, ClusterTables(**tables))
