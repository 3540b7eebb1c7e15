"""Baselines that need no training: what a model must beat before it may be called useful.

base rate            the training prevalence, the same for every row
job failure rate     (FAILs of the job so far + p0) / (SCHEDULEs of the job so far + 1)
name failure rate    the same per logical job name over ends: repeated runs of one program
baseline formula     max(health, 0.55 cpu + 0.35 memory) of the row's machine, where the features
                     hold its load; health is 0.7 when the task had restarted
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from features.baseline import CPU_WEIGHT, MEMORY_WEIGHT, RESTARTED_RISK
from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import Matrix, Rows

BASE_RATE, JOB_RATE, NAME_RATE, FORMULA = "base rate", "job rule", "name rule", "baseline formula"
FORMULA_INPUTS = ("machine_free_cpu_ratio", "machine_free_memory_ratio", "task_starts")


def rule_scores(rows: Rows, past: JobCounts, prior: float) -> dict[str, Floats]:
    """Return the scores of the rules that need only the history; `prior` is the training rate."""
    return {
        BASE_RATE: np.full(len(rows), prior),
        JOB_RATE: past.job_rate(rows.job, rows.time_us, prior),
        NAME_RATE: past.name_rate(rows.name, rows.time_us, prior),
    }


def formula_scores(matrix: Matrix, names: Sequence[str]) -> Floats | None:
    """Return the baseline formula's scores; None when the features do not hold its inputs."""
    if any(name not in names for name in FORMULA_INPUTS):
        return None
    free_cpu, free_memory, starts = (
        matrix[:, names.index(name)].astype(np.float64) for name in FORMULA_INPUTS
    )
    load = CPU_WEIGHT * _requested_ratio(free_cpu) + MEMORY_WEIGHT * _requested_ratio(free_memory)
    return np.maximum(np.where(starts > 0, RESTARTED_RISK, 0.0), load)


def _requested_ratio(free: Floats) -> Floats:
    """Requested / capacity; 0 where the machine is not known."""
    return np.clip(1.0 - np.nan_to_num(free, nan=1.0), 0.0, 1.0)
