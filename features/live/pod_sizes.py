"""What pods of each workload are expected to use until the next statement: cores by a rule, memory by its highest.

Memory is the most that is known at all, since too little of it ends a container. What is known for a short time has
shown less of what may come; how much less is measured by `python -m lab.forecast.sizes`, and counted by whoever adds a
margin.
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
    return _table(
        usage, cores_of(rule, past, spread), np.concatenate(memories), np.concatenate(known), rule
    )


def _table(
    usage: SnapshotUsage, cores: Floats, memory: Floats, known: Any, rule: SizeRule
) -> SizeTable:
    rows = {
        usage.workloads.ids[row]: {
            **_row(usage, row, float(cores[row]), float(memory[row]), rule),
            "known_seconds": int(known[row]) * STEP_SECONDS,
        }
        for row in np.flatnonzero(known).tolist()
    }
    return table_of(SizeTable, rows)


def _row(
    usage: SnapshotUsage, row: int, cores: float, memory: float, rule: SizeRule
) -> dict[str, Any]:
    table = usage.workloads
    pods = max(1, table.pods[row])
    most_cores, most_bytes = table.cpu_most_cores[row], table.memory_most_bytes[row]
    largest = _of_the_largest(cores, table.cpu_used_cores[row], most_cores, pods)
    # One look at cores is not what a machine's pods want together; of memory it is what has to fit.
    at_least = (most_cores or 0.0) if rule == "percentile" else 0.0
    return {
        "pods": pods,
        "cpu_request_cores": rounded(table.cpu_request_cores[row] / pods),
        "memory_request_bytes": table.memory_request_bytes[row] // pods,
        "cpu_peak_cores": rounded(max(largest, at_least)),
        "memory_peak_bytes": int(
            max(
                _of_the_largest(memory, table.memory_used_bytes[row], most_bytes, pods),
                most_bytes or 0,
            )
        ),
        "rule": rule,
    }


def _of_the_largest(peak: float, used: float, most: float | None, pods: int) -> float:
    """Return the peak of the pod that uses most, from the peak of all together; alike where nobody says."""
    share = most / used if most is not None and used > 0.0 else 1.0 / pods
    return peak * max(share, 1.0 / pods)
