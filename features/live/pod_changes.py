"""Changes of pods between two snapshots, as the task events that history counts.

Layer 1 does not list every pod: it sums them by node and workload, and lists one by one those that
start, end, fail, restart or wait. That is enough. A listed pod tells its own story (created,
placed, ended, how often its containers were restarted); where the sums then still differ, pods came
or went unseen.

    pod created                        SUBMIT
    pod bound to a node                SCHEDULE
    phase Failed                       FAIL
    phase Succeeded                    FINISH
    a container restarted              FAIL, then SCHEDULE of the same attempt's task
    gone                               KILL; EVICT when the node is not ready, or gone too

An event lies strictly before the snapshot that showed it and not before the one before: it carries
the moment from which it could be known, at most one cycle after it happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from features.codes import bare_workload, code_of, parts_of, program_of, task_of
from features.history import Kind, TaskEvents
from features.live.placements import Placements
from schemas.snapshot import PodTable

MICROSECONDS = 1_000_000
UNSEEN_START_US = 24 * 3600 * MICROSECONDS
"""How long ago pods are taken to have started that ran before anybody looked."""
MOST_RESTARTS = 100
"""Restarts of one pod counted in one cycle."""
ENDS = frozenset({Kind.EVICT, Kind.FAIL, Kind.FINISH, Kind.KILL})
ENDED: Mapping[str, Kind] = {"Failed": Kind.FAIL, "Succeeded": Kind.FINISH}


@dataclass(frozen=True, slots=True)
class PodSnapshot:
    """Pods of a snapshot."""

    time_us: int
    placed: Placements
    pods: PodTable
    omitted: int = 0
    """Pods that would have been listed beside `pods`."""


@dataclass(frozen=True, slots=True)
class LargestNode:
    """The largest node, of which requests are fractions, as in the traces that models learn from."""

    cores: float
    memory_bytes: float


@dataclass(frozen=True, slots=True)
class PodChange:
    """One event, before it becomes a row."""

    time_us: int
    kind: Kind
    row_id: str
    """`<node>|<workload>`; the node is empty for a pod that waits."""
    task: int
    cpu_request: float
    memory_request: float
    start_us: int = -1
    """Of an end: when the pod was placed; -1: not listed."""


Starts = Mapping[str, int]
"""When a pod was last placed or restarted, by row id."""
Lost = Callable[[str], bool]
"""node -> whether it is gone or not ready."""


def changes(
    before: PodSnapshot, now: PodSnapshot, scale: LargestNode, lost: Lost
) -> list[PodChange]:
    """Return what happened between two snapshots, in order of time."""
    listed = list(_changes_of_listed(before, now, scale, lost))
    unseen = list(_unseen(before, now, listed, scale, lost))
    return sorted((*listed, *unseen), key=lambda change: change.time_us)


def first_changes(now: PodSnapshot, scale: LargestNode) -> list[PodChange]:
    """Return a start for each pod that runs already when the first snapshot is seen."""
    at = now.time_us - UNSEEN_START_US
    return [
        PodChange(at, Kind.SCHEDULE, row_id, task_of(f"{row_id}#{number}"), cpu, memory)
        for row, row_id in enumerate(now.placed.ids)
        for cpu, memory in [one_pod(now.placed, row, scale)]
        for number in range(int(now.placed.pods[row]))
    ]


def task_events(
    task_changes: Sequence[PodChange], starts: Starts
) -> tuple[TaskEvents, dict[str, int]]:
    """Return changes as the table that history reads, and the starts after them.

    Args:
        task_changes: changes in order of time.
        starts: the starts before them.
    """
    after = dict(starts)
    begun: list[int] = []
    for change in task_changes:
        if change.kind is Kind.SCHEDULE:
            after[change.row_id] = change.time_us
        begun.append(
            max(change.start_us, after.get(change.row_id, -1)) if change.kind in ENDS else -1
        )
    if not task_changes:
        return TaskEvents.empty(), after
    parts = [parts_of(change.row_id) for change in task_changes]
    table = TaskEvents.of(
        time_us=[change.time_us for change in task_changes],
        kind=[int(change.kind) for change in task_changes],
        job=[code_of(workload) for _, workload, _ in parts],
        task=[change.task for change in task_changes],
        name=[code_of(program_of(workload)) for _, workload, _ in parts],
        user=[code_of(namespace) for _, _, namespace in parts],
        machine=[code_of(node) if node else -1 for node, _, _ in parts],
        cpu_request=[change.cpu_request for change in task_changes],
        memory_request=[change.memory_request for change in task_changes],
        attempt_start_us=begun,
    )
    return table, after


def _changes_of_listed(
    before: PodSnapshot, now: PodSnapshot, scale: LargestNode, lost: Lost
) -> Iterator[PodChange]:
    """Yield the events of pods that are listed one by one, or were and are gone."""
    old, new = before.pods, now.pods
    known = {uid: number for number, uid in enumerate(old.uid)}
    for number, uid in enumerate(new.uid):
        place = known.pop(uid, None)
        if place is None or _state(old, place) != _state(new, number):
            was = None if place is None else old.row(place)
            yield from _of_pod(new.row(number), was, before, now, scale)
    for place in known.values():
        pod = old.row(place)
        if pod["deleting"] and pod["node"] and pod["phase"] not in ENDED:
            kind = Kind.EVICT if lost(pod["node"]) else Kind.KILL
            yield _change(pod, now.time_us - 1, kind, scale)


def _state(pods: PodTable, number: int) -> tuple[object, ...]:
    return (pods.node[number], pods.phase[number], pods.restarts[number])


def _of_pod(
    pod: dict[str, Any],
    was: dict[str, Any] | None,
    before: PodSnapshot,
    now: PodSnapshot,
    scale: LargestNode,
) -> Iterator[PodChange]:
    latest = before.time_us

    def at(seconds: float | None, kind: Kind) -> PodChange:
        nonlocal latest
        stated_us = now.time_us if seconds is None else round(seconds * MICROSECONDS)
        latest = min(max(stated_us, latest), now.time_us - 1)
        return _change(pod, latest, kind, scale)

    def new(seconds: float | None) -> bool:
        """Say whether a time of the API, in whole seconds, lies after the former snapshot."""
        return seconds is not None and seconds >= before.time_us // MICROSECONDS

    if was is None and new(pod["created_time_seconds"]):
        yield at(pod["created_time_seconds"], Kind.SUBMIT)
    placed = pod["scheduled_time_seconds"]
    if pod["node"] and (new(placed) if was is None else not was["node"]):
        yield at(placed, Kind.SCHEDULE)
    for _ in range(_restarts(pod, was, before)):
        yield at(None, Kind.FAIL)
        yield at(None, Kind.SCHEDULE)
    kind, ended = ENDED.get(pod["phase"]), pod["ended_time_seconds"]
    if (
        kind is not None
        and pod["node"]
        and (new(ended) if was is None else was["phase"] not in ENDED)
    ):
        yield at(ended, kind)


def _change(pod: dict[str, Any], time_us: int, kind: Kind, scale: LargestNode) -> PodChange:
    placed = pod["scheduled_time_seconds"]
    return PodChange(
        time_us,
        kind,
        f"{pod['node']}|{pod['workload'] or bare_workload(pod['ids'])}",
        task_of(pod["uid"]),
        pod["cpu_request_cores"] / scale.cores,
        pod["memory_request_bytes"] / scale.memory_bytes,
        -1 if placed is None else round(placed * MICROSECONDS),
    )


def _restarts(pod: dict[str, Any], was: dict[str, Any] | None, before: PodSnapshot) -> int:
    """Return how often the pod's containers were restarted since the former snapshot.

    A pod that was not listed then had not been restarted, unless not all could be listed.
    """
    if was is None and before.omitted:
        return 0
    count: int = pod["restarts"] - (0 if was is None else was["restarts"])
    return min(max(0, count), MOST_RESTARTS)


def _unseen(
    before: PodSnapshot, now: PodSnapshot, listed: list[PodChange], scale: LargestNode, lost: Lost
) -> Iterator[PodChange]:
    """Yield starts and ends that only the sums tell of."""
    listed_changes: Counter[str] = Counter()
    for change in listed:
        if change.kind is Kind.SCHEDULE:
            listed_changes[change.row_id] += 1
        elif change.kind is not Kind.SUBMIT:
            listed_changes[change.row_id] -= 1
    latest = now.time_us - 1
    for row_id, step, cpu, memory in _steps(before.placed, now.placed, listed_changes, scale):
        kind = Kind.SCHEDULE if step > 0 else Kind.KILL
        if step < 0 and lost(parts_of(row_id)[0]):
            kind = Kind.EVICT
        for number in range(abs(step)):
            task = task_of(f"{row_id}#{now.time_us}#{number}")
            yield PodChange(latest, kind, row_id, task, cpu, memory)


def _steps(
    before: Placements, now: Placements, listed_changes: Mapping[str, int], scale: LargestNode
) -> Iterator[tuple[str, int, float, float]]:
    """Yield the rows whose number of pods changed by something else than listed pods explain."""
    if before.ids == now.ids:
        changed = np.flatnonzero(before.pods != now.pods).tolist()
        touched = {now.ids[row] for row in changed} | set(listed_changes)
        row_ids = sorted(touched)
    else:
        row_ids = sorted({*before.ids, *now.ids, *listed_changes})
    for row_id in row_ids:
        old, new = before.row_of(row_id), now.row_of(row_id)
        step = (0 if new is None else int(now.pods[new])) - listed_changes.get(row_id, 0)
        step -= 0 if old is None else int(before.pods[old])
        if step:
            place, placed = (new, now) if new is not None else (old, before)
            cpu, memory = (nan, nan) if place is None else one_pod(placed, place, scale)
            yield row_id, step, cpu, memory


def one_pod(placed: Placements, row: int, scale: LargestNode) -> tuple[float, float]:
    """Return what one pod of a row asks for, as shares of the largest node."""
    pods = max(1, int(placed.pods[row]))
    cores, memory = placed.cpu_request_cores[row], placed.memory_request_bytes[row]
    return float(cores) / pods / scale.cores, float(memory) / pods / scale.memory_bytes
