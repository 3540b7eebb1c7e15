"""What sets models of attempts of every age (hazard datasets) apart from those of placements.

One row is a person-period of a discrete-time survival model: an attempt that has lived to this
moment, and whether it ends in FAIL within the horizon. Other ends within it (evict, kill, finish)
compete: they make the row a 0, so that the number is the cumulative incidence of FAIL and not the
chance if nothing else could happen. Attempts that ran before the trace began enter late, with an
unknown start; rows whose window reaches past the end of the recording are censored and no rows.

One job's tasks are hundreds of rows of one story. What keeps a model from learning stories by heart
are columns that mean the same of every job (feature set `hazard`), signs of their effect that sense
demands, and shallow trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from features.history import Feature
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import MICROSECONDS, Bools, Rows
from lab.forecast.risk.splits import fractions

TELLING, RISING, FALLING = "telling", "rising", "falling"
"""Groups of columns: what tells users and programs apart; what risk can only rise, or only fall with."""
WHO = frozenset({
    *("cpu_request_ratio", "memory_request_ratio", "machine_free_cpu_ratio", "machine_age_seconds"),
    *("job_running", "job_fails", "job_mean_log2_duration"),
    *("job_starts_15m", "job_starts_60m", "job_finishes_60m", "job_kills_60m"),
    *("user_mean_log2_duration", "user_last_fail_duration_seconds", "user_starts_60m"),
    *("user_failed_jobs_60m", "user_fails_60m", "user_fails_15m"),
})  # fmt: skip
STRATA = 4
MEMBERS = ("h4", "h4rel", "h4wide", "h6")


def column_groups(features: Sequence[Feature]) -> dict[str, Bools]:
    """Return the groups of columns that only models of every age know, as masks."""
    names = [feature.name for feature in features]
    return {
        TELLING: np.array([name in WHO for name in names]),
        RISING: np.array([_rises(name) for name in names]),
        FALLING: np.array(["since_fail" in name for name in names]),
    }


def _rises(name: str) -> bool:
    counts = "fails" in name and "since" not in name and "duration" not in name
    return counts or name.endswith(("fail_rate", "_fail_pace", "failed_task_share"))


def draw_pool(rows: Rows, past: JobCounts, pool_rows: int, seed: int) -> tuple[Bools, Floats]:
    """Return which rows are read at all, and what each row would weigh.

    Negatives are drawn in four equal strata: at placement or later, of jobs that had failed or not;
    each weighs what it stands for. Rows of failed jobs are few and decide.
    """
    placed = rows.time_us == rows.start_us
    failed = ~past.before_first_failure(rows.job, rows.time_us)
    negative = rows.label == 0
    weight = np.ones(len(rows))
    for at_placement in (False, True):
        for job_failed in (False, True):
            stratum = negative & (placed == at_placement) & (failed == job_failed)
            size = int(np.count_nonzero(stratum))
            weight[stratum] = max(1.0, size / max(1.0, pool_rows / STRATA))
    kept = fractions(rows.position, seed) < 1.0 / weight
    return kept, weight


AGE_EDGES = tuple(minutes * 60 * MICROSECONDS for minutes in (15, 60, 360))
AGE_CLASSES = ("placed", "under 15 min", "15 to 60 min", "1 to 6 h", "over 6 h", "unknown start")


def age_class(rows: Rows) -> Ints:
    """Return the number in `AGE_CLASSES` of each row."""
    age = rows.time_us - rows.start_us
    number = 1 + np.searchsorted(AGE_EDGES, age, side="right")
    number[age == 0] = 0
    number[rows.start_us <= 0] = len(AGE_CLASSES) - 1
    return number.astype(np.int64)
