"""Peaks of what a workload's pods will use, by the simple rule: a decaying percentile, and this hour before.

CPU is a percentile of the history in which each day counts half of the one after it (as for the Vertical Pod
Autoscaler and Crane), but not less than what was used at the same time a day and a week ago: half of the weight of
a plain percentile is the last day. Of less than a day it is the most. Memory is the most that is known at all, since
too little of it ends a container.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.workload_history.grid import DAY_STEPS, STEP_SECONDS
from features.workload_history.history import WorkloadHistory
from schemas.numbers import rounded
from schemas.sizes import SizeTable
from schemas.snapshot import SnapshotUsage
from schemas.tables import table_of

PERCENTILE = 0.95
HALF_LIFE_STEPS = DAY_STEPS
AHEAD_STEPS = 12
"""An hour: what came then, a day and a week ago, is expected again."""
SERIES_AT_ONCE = 250
RULE = "percentile"
Floats = NDArray[np.float64]


def sizes_of(history: WorkloadHistory, usage: SnapshotUsage) -> SizeTable:
    """Return the peaks of each workload of a measurement that its history tells of.

    Sums over pods become amounts of one by the pod that uses most: pods of one workload need not be alike.
    """
    table, rows = usage.workloads, dict[str, dict[str, Any]]()
    if not table.memory_request_bytes:
        return SizeTable()
    for first in range(0, len(table), SERIES_AT_ONCE):
        ids = table.ids[first : first + SERIES_AT_ONCE]
        cores = history.pasts([f"cpu/{name}" for name in ids]).values
        memory = history.pasts([f"memory/{name}" for name in ids]).values
        known = (~np.isnan(cores) & ~np.isnan(memory)).sum(axis=1)
        cpu_peaks, memory_peaks = cpu_peak(cores), highest(memory)
        for place in np.flatnonzero(known).tolist():
            row = first + place
            rows[table.ids[row]] = {
                **_row(usage, row, float(cpu_peaks[place]), float(memory_peaks[place])),
                "known_seconds": int(known[place]) * STEP_SECONDS,
            }
    return table_of(SizeTable, rows)


def _row(usage: SnapshotUsage, row: int, cores: float, memory: float) -> dict[str, Any]:
    table = usage.workloads
    pods = max(1, table.pods[row])
    most_cores, most_bytes = table.cpu_most_cores[row], table.memory_most_bytes[row]
    return {
        "pods": pods,
        "cpu_request_cores": rounded(table.cpu_request_cores[row] / pods),
        "memory_request_bytes": table.memory_request_bytes[row] // pods,
        "cpu_peak_cores": rounded(
            _of_the_largest(cores, table.cpu_used_cores[row], most_cores, pods)
        ),
        "memory_peak_bytes": int(
            _of_the_largest(memory, table.memory_used_bytes[row], most_bytes, pods)
        ),
        "rule": RULE,
    }


def _of_the_largest(peak: float, used: float, most: float | None, pods: int) -> float:
    """Return the peak of the pod that uses most, from the peak of all together; alike where nobody says."""
    share = most / used if most is not None and used > 0.0 else 1.0 / pods
    return max(peak * max(share, 1.0 / pods), most or 0.0)


def cpu_peak(values: Floats) -> Floats:
    """Return (series,) peaks of (series, steps), oldest step first, NaN where unknown."""
    age = np.arange(values.shape[1])[::-1]
    weights = np.where(np.isnan(values), 0.0, 0.5 ** (age / HALF_LIFE_STEPS))
    order = np.argsort(np.where(np.isnan(values), np.inf, values), axis=1)
    reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    place = (reached >= PERCENTILE * reached[:, -1:]).argmax(axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    percentile = np.nan_to_num(ranked[np.arange(len(values)), place])
    is_new = (~np.isnan(values)).sum(axis=1) < DAY_STEPS
    percentile = np.where(is_new, highest(values), percentile)
    earlier = (
        highest(values[:, -before : values.shape[1] - before + AHEAD_STEPS])
        for before in (DAY_STEPS, 7 * DAY_STEPS)
        if before <= values.shape[1]
    )
    newest = highest(values[:, -2:])
    peaks: Floats = np.maximum.reduce([percentile, newest, *earlier])
    return peaks


def highest(values: Floats) -> Floats:
    """Return the highest known value of each row; 0 where none is."""
    known: Floats = np.nan_to_num(values, nan=0.0).max(axis=1, initial=0.0)
    return known
