"""What pods of each workload are expected to use until the next statement: cores by a rule, memory by its highest.

Memory is the most that is known at all, since too little of it ends a container. What is known for a short time has
shown less of what may come, and is counted with more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from features.live.size_rules import (
    Floats,
    PastUse,
    SizeRule,
    Spread,
    cores_of,
    highest,
    past_use,
)
from features.workload_history.grid import STEP_SECONDS
from features.workload_history.history import WorkloadHistory
from schemas.numbers import rounded
from schemas.sizes import SizeTable
from schemas.snapshot import SnapshotUsage
from schemas.tables import table_of

SERIES_AT_ONCE = 250
CORES_GROW = ((600, 1.09), (1_800, 1.045))
MEMORY_GROWS = ((1_800, 1.18), (14_400, 1.09))
"""By how much what is known for less than so many seconds is still to grow. With these and a margin of a tenth a full
machine's pods want more than its cores in one of two hundred steps, and more than its memory in one of a thousand, on
days that this was chosen on (`python -m lab.forecast.sizes`, docs/right-sizing.md).
"""
ALIKE_SIGMAS = 2.0
"""Of pods that are alike the one that uses most at a single look is seldom further above their mean: our own choice."""


def sizes_of(
    history: WorkloadHistory, usage: SnapshotUsage, rule: SizeRule, machines: int
) -> SizeTable:
    """Return what pods of each workload of a measurement will use at most, where its history tells of it.

    Sums over pods become amounts of one by the pod that uses most: pods of one workload need not be alike.

    Args:
        history: of all workloads.
        usage: the measurement.
        rule: of cores.
        machines: on which pods run.
    """
    table = usage.workloads
    if not table.memory_request_bytes:
        return SizeTable()
    pasts, memories, known = [], [], []
    for first in range(0, len(table), SERIES_AT_ONCE):
        ids = table.ids[first : first + SERIES_AT_ONCE]
        cores = history.pasts([f"cpu/{name}" for name in ids]).values
        memory = history.pasts([f"memory/{name}" for name in ids]).values
        known.append((~np.isnan(cores) & ~np.isnan(memory)).sum(axis=1))
        pasts.append(past_use(cores))
        memories.append(highest(memory))
    if not pasts:
        return SizeTable()
    past = PastUse(*(np.concatenate(column) for column in zip(*pasts, strict=True)))
    spread = Spread(np.array(table.pods, dtype=np.float64), machines)
    swing = past.deviation / np.maximum(past.mean, np.finfo(float).tiny)
    alike = 1.0 + ALIKE_SIGMAS * swing * np.sqrt(np.maximum(1.0, spread.pods))
    cores = cores_of(rule, past, spread)
    return _table(usage, cores, alike, np.concatenate(memories), np.concatenate(known), rule)


def _table(
    usage: SnapshotUsage,
    cores: Floats,
    alike: Floats,
    memory: Floats,
    known: Any,
    rule: SizeRule,
) -> SizeTable:
    rows: dict[str, dict[str, Any]] = {}
    for row in np.flatnonzero(known).tolist():
        seconds = int(known[row]) * STEP_SECONDS
        expected = grown(float(cores[row]), seconds, CORES_GROW)
        rows[usage.workloads.ids[row]] = {
            **_row(usage, row, grown(float(memory[row]), seconds, MEMORY_GROWS)),
            "cpu_peak_cores": _cores_of_one(usage, row, expected, float(alike[row]), rule),
            "known_seconds": seconds,
            "rule": rule,
        }
    return table_of(SizeTable, rows)


def grown(amount: float, known_seconds: int, growth: tuple[tuple[int, float], ...]) -> float:
    """Return what is to be expected of an amount that is known for so long."""
    return amount * next((ratio for below, ratio in growth if known_seconds < below), 1.0)


def _cores_of_one(
    usage: SnapshotUsage, row: int, cores: float, alike: float, rule: SizeRule
) -> float:
    """Return what a pod is counted with: by `percentile` the largest, else the mean one, if they may be alike."""
    table = usage.workloads
    used, most, pods = table.cpu_used_cores[row], table.cpu_most_cores[row], max(1, table.pods[row])
    if rule == "percentile":
        return rounded(max(_of_the_largest(cores, used, most, pods), most or 0.0))
    return rounded(_of_the_largest(cores, used, None if most is None else most / alike, pods))


def _row(usage: SnapshotUsage, row: int, memory: float) -> dict[str, Any]:
    table = usage.workloads
    pods, most = max(1, table.pods[row]), table.memory_most_bytes[row]
    largest = _of_the_largest(memory, table.memory_used_bytes[row], most, pods)
    return {
        "pods": pods,
        "cpu_request_cores": rounded(table.cpu_request_cores[row] / pods),
        "memory_request_bytes": table.memory_request_bytes[row] // pods,
        "memory_peak_bytes": int(max(largest, most or 0)),
    }


def _of_the_largest(peak: float, used: float, most: float | None, pods: int) -> float:
    """Return the peak of the pod that uses most, from the peak of all together; alike where nobody says."""
    share = most / used if most is not None and used > 0.0 else 1.0 / pods
    return peak * max(share, 1.0 / pods)
