"""Our own recordings: what the snapshots in a log tell of attempts, so that a model learns from the
cluster that it watches.

Read are recordings (`foresail up --record`), one file or a folder of them. Attempts come from
consecutive snapshots by the code that inference runs live, so that features mean the same in both:
job = workload, user = namespace, machine = node, requests as shares of the largest node. Where we
acted on an attempt's node or workload while its outcome was open, nobody knows what would have
become of it: its label is uncertain, and it is marked so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from bus.errors import RecordingDamaged
from bus.events import event_of
from bus.recording import open_recording
from features.codes import parts_of, program_of
from features.history import Kind
from features.live.live_history import LiveHistory, Machines, machine_events
from features.live.pod_changes import MICROSECONDS, LargestNode, PodChange
from lab.traces.event_reader import EventReader, Frames, TraceInput
from lab.traces.events import HORIZON_MINUTES, MINUTE_US
from lab.traces.repair import RepairLog, SchemaDrift
from lab.traces.trace_reader import TraceReader
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.registry import UnknownEvent
from schemas.snapshot import SnapshotPlacements, SnapshotWorkloads
from schemas.view import ObservationView, update_view

NAME = "recording"
SUFFIX = ".fslog"
LONGEST_US = max(HORIZON_MINUTES) * MINUTE_US
ENDS = frozenset({Kind.EVICT, Kind.FAIL, Kind.FINISH, Kind.KILL})
READ = {
    "snapshot.placements": SnapshotPlacements,
    "snapshot.workloads": SnapshotWorkloads,
    "observation": Observation,
    "outcome.execution": OutcomeExecution,
}
TASK_ROWS = {
    "time_us": pl.Int64,
    "kind": pl.Int8,
    "job": pl.String,
    "task": pl.Int32,
    "name": pl.String,
    "user": pl.String,
    "machine": pl.String,
    "cpu_request": pl.Float32,
    "memory_request": pl.Float32,
    "priority": pl.Int16,
    "scheduling_class": pl.Int8,
    "different_machines": pl.Int8,
    "segment": pl.Int16,
    "row": pl.Int64,
    "uncertain": pl.Boolean,
}
MACHINE_ROWS = {
    "time_us": pl.Int64,
    "kind": pl.Int8,
    "machine": pl.String,
    "cpus": pl.Float32,
    "memory": pl.Float32,
    "row": pl.Int64,
}
Row = dict[str, Any]


@dataclass(slots=True)
class RecordedAttempts:
    """What one recording tells, while it is read."""

    segment: int
    live: LiveHistory = field(default_factory=LiveHistory)
    view: ObservationView | None = None
    tasks: list[Row] = field(default_factory=list)
    machines: list[Row] = field(default_factory=list)
    running: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    """SCHEDULE rows of running attempts by `<node>|<workload>`."""
    acted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Times of our actions, by node and by workload."""
    ended_us: dict[int, int] = field(default_factory=dict)
    """End of each attempt, by the identity of its SCHEDULE row."""

    def add(self, message: Any) -> None:
        """Take one message of the log."""
        tokens = ".".join(message.subject.split(".")[2:])
        if tokens not in READ:
            return
        event = event_of(message)
        match event.data:
            case SnapshotPlacements() as data:
                self.live = self.live.with_placements(data)
            case SnapshotWorkloads() as data:
                self.live = self.live.with_workloads(data)
            case OutcomeExecution() as data:
                self._act(data)
            case Observation():
                self.view = update_view(self.view, event)
                if self.view is not None:
                    self._observe(self.view)

    def mark(self) -> None:
        """Mark the attempts whose outcome we touched; call it at the end."""
        for row in self.tasks:
            if row["kind"] != Kind.SCHEDULE:
                continue
            begun = row["time_us"]
            until = min(self.ended_us.get(id(row), begun + LONGEST_US), begun + LONGEST_US)
            times = (*self.acted.get(row["machine"], ()), *self.acted.get(row["job"], ()))
            row["uncertain"] = any(begun <= at <= until for at in times)

    def _observe(self, view: ObservationView) -> None:
        before = self.live.machines
        self.live = self.live.with_observation(view, with_changes=False)
        if self.live.scale is not None and self.live.machines != before:
            self._add_machines(before, self.live.machines, self.live.scale, view)
        for change in self.live.held:
            self._add_change(change)
        self.live = replace(self.live, held=())

    def _add_machines(
        self, before: Machines, after: Machines, scale: LargestNode, view: ObservationView
    ) -> None:
        at = round(view.cluster_time_seconds * MICROSECONDS) - 1
        table = machine_events(before, after, scale, at)
        names = sorted({*before.ids, *after.ids})
        old, new = before.rows(), after.rows()
        absent = (False, 0.0, 0)
        names = [
            name
            for name in names
            if old.get(name, absent) != new.get(name, absent)
            and (old.get(name, absent)[0] or new.get(name, absent)[0])
        ]
        for place, name in enumerate(names):
            self.machines.append(
                {
                    "time_us": at,
                    "kind": int(table.kind[place]),
                    "machine": name,
                    "cpus": float(table.cpus[place]),
                    "memory": float(table.memory[place]),
                }
            )

    def _add_change(self, change: PodChange) -> None:
        node, workload, namespace = parts_of(change.row_id)
        kind = Kind(int(change.kind))
        row: Row = {
            "time_us": change.time_us,
            "kind": int(kind),
            "job": workload,
            "task": change.task,
            "name": program_of(workload),
            "user": namespace,
            "machine": node or None,
            "cpu_request": change.cpu_request,
            "memory_request": change.memory_request,
            "priority": -1,
            "scheduling_class": -1,
            "different_machines": -1,
            "segment": self.segment,
            "uncertain": False,
        }
        running = self.running[change.row_id]
        if kind is Kind.SCHEDULE:
            running.append(row)
        elif kind in ENDS:
            begun = _take_ended(running, change.task)
            if begun is not None:
                row |= {name: begun[name] for name in ("task", "cpu_request", "memory_request")}
                self.ended_us[id(begun)] = change.time_us
        self.tasks.append(row)

    def _act(self, data: OutcomeExecution) -> None:
        if data.phase is ExecutionPhase.REFUSED or data.mode is not Mode.ACTIVE:
            return
        at = round(data.cluster_time_seconds * MICROSECONDS)
        nodes = {operation.name for operation in data.operations if operation.resource == "nodes"}
        if data.action.target.kind == "node":
            nodes.add(data.action.target.name)
        for name in sorted(nodes | set(data.workloads)):
            self.acted[name].append(at)


def _take_ended(running: list[Row], task: int) -> Row | None:
    """Take the attempt that ends from those that run: the pod's own, else the newest one unseen."""
    for place in range(len(running) - 1, -1, -1):
        if running[place]["task"] == task:
            return running.pop(place)
    return running.pop() if running else None


@lru_cache(maxsize=2)
def _read_attempts(paths: tuple[Path, ...]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the rows of tasks and of machines of some recordings, each a segment of its own."""
    tasks: list[Row] = []
    machines: list[Row] = []
    for segment, path in enumerate(paths):
        attempts = RecordedAttempts(segment)
        try:
            for message in open_recording(path):
                attempts.add(message)
        except (RecordingDamaged, UnknownEvent) as error:
            raise SchemaDrift("damaged", path.name, "", str(error)) from error
        attempts.mark()
        tasks += attempts.tasks
        machines += attempts.machines
    order = sorted(range(len(tasks)), key=lambda place: tasks[place]["time_us"])
    return tuple(tasks[place] for place in order), tuple(machines)


def _find(path: Path) -> TraceInput:
    paths = (path,) if path.is_file() else tuple(sorted(path.glob(f"*{SUFFIX}")))
    folder = path.parent if path.is_file() else path
    if not paths:
        raise SchemaDrift("missing-table", folder.name, "", f"holds no recording (*{SUFFIX})")
    return TraceInput(folder, {"recording": paths})


def _task_events(source: TraceInput, ledger: RepairLog) -> Frames:
    tasks, _ = _read_attempts(source.tables["recording"])
    uncertain = sum(row["uncertain"] for row in tasks)
    ledger.note(f"{uncertain} attempts have uncertain labels: we acted on them")
    yield from _frames(tasks, TASK_ROWS)


def _machine_events(source: TraceInput, ledger: RepairLog) -> Frames:
    del ledger  # nothing can be wrong with what we read from our own events
    _, machines = _read_attempts(source.tables["recording"])
    yield from _frames(machines, MACHINE_ROWS)


def _frames(rows: tuple[Row, ...], schema: dict[str, Any]) -> Iterator[pl.DataFrame]:
    if rows:
        numbered = [{**row, "row": number} for number, row in enumerate(rows)]
        yield pl.DataFrame(numbered, schema=schema)


READER = EventReader(
    trace=NAME,
    find=_find,
    task_events=_task_events,
    machine_events=_machine_events,
    notes=("attempts are told by snapshots: a pod that came and went unseen counts as killed",),
)

TRACE = TraceReader(
    name=NAME,
    events=READER,
)
