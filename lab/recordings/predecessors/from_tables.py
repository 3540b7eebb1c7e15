"""A trace's tables as rows of the predecessor's trace: one row for each stretch of time, of what was known at its end.

The predecessor made rows from aggregates and invented nodes, tasks, watts and completions to fit. Here everything
in a row is counted from the tables: nodes are the machines, their shares the use that was measured (or, in a trace
without usage windows, the requests of the tasks that run there) over what the machine has; waiting tasks are the queue,
tasks that wait or ended badly are violations, finished ones are completed. Risk, demand, watts and price are not in a
table, so a row says nothing of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bus.errors import InputError
from features.history import Kind, MachineKind
from lab.recordings.predecessors.forms import NodeRow, TaskRow, TraceRow
from lab.recordings.predecessors.observing import UNSCHEDULED
from lab.recordings.predecessors.options import TableChoice
from lab.recordings.predecessors.tables import Tables, ended_badly
from lab.traces.events import MICROSECONDS

LARGEST_SHARE = 3.0
"""No node of a known size holds so many times what it has; another unit soon does."""
URGENT, CALM = 1.0, 0.2
"""Of a task that waits or died, and of one that runs."""
Amounts = tuple[float, float]
"""CPU and memory."""


@dataclass(slots=True)
class _Cluster:
    """Who runs where, at the moment up to which events were taken."""

    running: dict[str, tuple[str | None, Amounts]] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    dead: dict[str, str | None] = field(default_factory=dict)
    """Tasks that ended badly since the last row, and where."""
    bad_ends: dict[str, int] = field(default_factory=dict)
    completed: int = 0
    machines: dict[str, Amounts] = field(default_factory=dict)

    def machine_event(self, kind: int, name: str, cpu: float | None, memory: float | None) -> None:
        if kind == MachineKind.REMOVE:
            self.machines.pop(name, None)
        elif cpu and memory:
            self.machines[name] = (cpu, memory)

    def task_event(
        self, kind: int, task: str, machine: str | None, cpu: float | None, memory: float | None
    ) -> None:
        if kind == Kind.SUBMIT:
            self.waiting[task] = None
            return
        if kind == Kind.SCHEDULE:
            self.waiting.pop(task, None)
            self.running[task] = (machine, (cpu or 0.0, memory or 0.0))
            return
        self.waiting.pop(task, None)
        place, _ = self.running.pop(task, (machine, None))
        if ended_badly(kind):
            self.dead[task] = place
            self.bad_ends[task] = self.bad_ends.get(task, 0) + 1
        elif kind == Kind.FINISH:
            self.completed += 1


@dataclass(frozen=True, slots=True)
class MadeRows:
    """Rows that were made, and how many there are in all."""

    rows: list[TraceRow]
    there_are: int


def rows_of(tables: Tables, choice: TableChoice) -> MadeRows:
    """Return the rows that `choice` asks for.

    Raises:
        InputError: no row is left, or nodes hold far more than they have: another unit.
    """
    length_us = round(choice.interval_seconds * MICROSECONDS)
    begin_us, end_us = _span(tables, length_us)
    there_are = max(0, -(-(end_us - begin_us) // length_us))
    if choice.offset >= there_are:
        raise InputError("--offset", choice.offset, f"the trace has {there_are} rows")
    last = there_are if choice.most_rows is None else choice.offset + choice.most_rows
    wanted = range(choice.offset, min(last, there_are))
    used = _used(tables.usage, begin_us, length_us, wanted)
    names = _nodes(tables, choice.most_nodes, begin_us + wanted.stop * length_us)
    making = _Making(tables, choice, names, used)
    events = _events(tables)
    cluster, pending = _Cluster(), next(events, None)
    rows: list[TraceRow] = []
    for number in range(wanted.stop):
        until_us = begin_us + (number + 1) * length_us
        cluster.dead.clear()
        while pending is not None and pending[0] <= until_us:
            take = cluster.machine_event if pending[1] == _MACHINE else cluster.task_event
            take(*pending[3:])
            pending = next(events, None)
        if number in wanted:
            rows.append(making.row(number, until_us, cluster))
    return MadeRows(rows, there_are)


_MACHINE, _TASK = 0, 1


def _span(tables: Tables, length_us: int) -> tuple[int, int]:
    """Return when the first row's stretch begins and the last one's ends: where there is usage, what was measured."""
    table = tables.usage if tables.usage.height else tables.tasks
    if table.is_empty():
        return 0, 0
    first, last = table.select(first=pl.col("time_us").min(), last=pl.col("time_us").max()).row(0)
    if tables.usage.height:
        return (first - 1) // length_us * length_us, last
    return max(tables.starts_at_us, first), last


def _nodes(tables: Tables, most: int | None, until_us: int) -> set[str]:
    """Return the nodes that are played: the first by name of those that the tables name until then."""
    known = pl.col("time_us") <= until_us
    named = [tables.machines] if tables.machines.height else [tables.tasks, tables.usage]
    names = {
        str(name)
        for table in named
        for name in table.filter(known)["machine"].drop_nulls().unique().to_list()
    }
    return set(sorted(names)[:most])


def _used(
    usage: pl.DataFrame, begin_us: int, length_us: int, wanted: range
) -> dict[int, dict[str, Amounts]]:
    """Return by row and node what its tasks used: each task's mean of the windows that ended in the row's stretch."""
    if usage.is_empty():
        return {}
    row = ((pl.col("time_us") - begin_us - 1) // length_us).alias("row")
    summed = (
        usage.with_columns(row)
        .filter(pl.col("row").is_between(wanted.start, wanted.stop - 1))
        .group_by("row", "machine", "task")
        .agg(pl.col("cpu", "memory").mean())
        .group_by("row", "machine")
        .agg(pl.col("cpu", "memory").sort_by("task").sum())
    )
    by_row: dict[int, dict[str, Amounts]] = {}
    for number, machine, cpu, memory in summed.iter_rows():
        by_row.setdefault(number, {})[machine] = (cpu, memory)
    return by_row


def _events(tables: Tables) -> Iterator[tuple[Any, ...]]:
    """Yield (time, machine before task, number, and what it says) in the order of time."""
    return heapq.merge(
        _numbered(_MACHINE, tables.machines.iter_rows()),
        _numbered(_TASK, tables.tasks.iter_rows()),
    )


def _numbered(table: int, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for number, (time_us, *said) in enumerate(rows):
        yield (time_us, table, number, *said)


class _Making:
    """Makes rows of the state at their ends."""

    def __init__(
        self,
        tables: Tables,
        choice: TableChoice,
        names: set[str],
        used: Mapping[int, Mapping[str, Amounts]],
    ) -> None:
        self._choice, self._names, self._used = choice, names, used
        self._measured = bool(tables.usage.height)
        self._sized = bool(tables.machines.height)
        self._seen: set[str] = set()

    def row(self, number: int, until_us: int, cluster: _Cluster) -> TraceRow:
        """Return the row of a stretch that ended at `until_us`."""
        used = self._used.get(number, {}) if self._measured else _requested(cluster)
        here = (machine for machine, _ in cluster.running.values() if machine is not None)
        self._seen |= self._names & (set(cluster.machines) if self._sized else {*used, *here})
        there = self._seen & set(cluster.machines) if self._sized else self._seen
        size = self._choice.node_size
        return TraceRow(
            timestamp=until_us / MICROSECONDS,
            nodes=[
                self._node(name, used.get(name, (0.0, 0.0)), cluster.machines.get(name, size))
                for name in sorted(there)
            ],
            tasks=[*self._tasks(there, cluster)],
            queue_length=len(cluster.waiting),
            sla_violations=len(cluster.waiting) + len(cluster.dead),
            completed_tasks=cluster.completed,
            telemetry_sources=["usage_windows" if self._measured else "task_requests"],
        )

    def _node(self, name: str, used: Amounts, size: Amounts) -> NodeRow:
        shares = [amount / most for amount, most in zip(used, size, strict=True)]
        for flag, share, most in zip(("--node-cpu", "--node-memory"), shares, size, strict=True):
            if not self._sized and share > LARGEST_SHARE:
                remedy = f"{name} holds {share:.1f} times as much: give a node's size in the trace's unit"
                raise InputError(flag, f"{most:g}", remedy)
        return NodeRow(node_id=name, cpu_util=min(1.0, shares[0]), mem_util=min(1.0, shares[1]))

    def _tasks(self, there: set[str], cluster: _Cluster) -> Iterator[TaskRow]:
        """Yield dead tasks, all of them, then waiting and running ones up to the number that is wanted."""
        for task, machine in cluster.dead.items():
            if machine in there and task not in cluster.running and task not in cluster.waiting:
                yield self._task(task, machine, cluster, alive=False)
        left = self._choice.most_tasks
        placed = ((task, place) for task, (place, _) in cluster.running.items() if place in there)
        for task, place in (*((task, None) for task in cluster.waiting), *placed):
            if left == 0:
                return
            left -= 1
            yield self._task(task, place, cluster, alive=True)

    def _task(self, task: str, place: str | None, cluster: _Cluster, *, alive: bool) -> TaskRow:
        return TaskRow(
            task_id=task,
            node_id=place or UNSCHEDULED,
            urgency=CALM if alive and place else URGENT,
            queue_priority=cluster.bad_ends.get(task, 0),
            alive=alive,
        )


def _requested(cluster: _Cluster) -> dict[str, Amounts]:
    """Return by node what its tasks ask for."""
    sums: dict[str, Amounts] = {}
    for machine, (cpu, memory) in cluster.running.values():
        if machine is not None:
            before = sums.get(machine, (0.0, 0.0))
            sums[machine] = (before[0] + cpu, before[1] + memory)
    return sums
