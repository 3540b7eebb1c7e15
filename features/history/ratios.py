"""Columns made of other columns of the same row: shares, and ages against earlier durations.

Trees split one column at a time, so that "older than the job's attempts were when they failed" takes
them many splits and much data; as a column it is one split. Divisions, additions and `log2_seconds`
alone, in double precision on the row's own float32 values: every machine computes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from features.history.feature import Feature
from features.history.steps import LOG2_ONE, log2_seconds
from features.history.tables import F32, F64, quotient

QUARTER_SECONDS = 900.0
YOUNGEST_JOB_SECONDS = 60.0
AGE = "known_age_seconds"


@dataclass(frozen=True, slots=True)
class Ratio:
    """One such column."""

    unit: str
    key: str
    meaning: str
    inputs: tuple[str, ...]
    compute: Callable[..., F64]

    def feature(self, name: str) -> Feature:
        """Return it as a feature."""
        return Feature(name, self.unit, self.key, "attempts", self.meaning)


def _share(part: F64, whole: F64) -> F64:
    return quotient(part, whole, whole > 0)


def _of_attempts(fails: F64, starts: F64, running: F64) -> F64:
    """Failures per attempt that was there; of nobody known 0."""
    there = np.maximum(np.nan_to_num(running), 1.0) + np.nan_to_num(starts)
    return _share(np.nan_to_num(fails), there)


def _pace(fails: F64, running: F64, age: F64) -> F64:
    quarters = np.maximum(np.nan_to_num(age), YOUNGEST_JOB_SECONDS) / QUARTER_SECONDS
    return _share(np.nan_to_num(fails), np.maximum(np.nan_to_num(running), 1.0) * quarters)


def _against_mean(age: F64, mean_log2: F64) -> F64:
    """Return log2(age / duration); ages below a second count as one."""
    known = ~np.isnan(age)
    logarithm = log2_seconds(np.where(known, age * 1e6, 0.0)) / LOG2_ONE
    return np.where(known, logarithm, np.nan) - mean_log2


def _fails_per_attempt(key: str, minutes: int, *, with_running: bool) -> Ratio:
    inputs = [f"{key}_fails_{minutes}m", f"{key}_starts_{minutes}m"]
    compute: Callable[..., F64] = _of_attempts
    if with_running:
        inputs.append(f"{key}_running")
    else:
        compute = lambda fails, starts: _of_attempts(fails, starts, np.ones(len(fails)))  # noqa: E731
    about = "the job's tasks" if key == "job" else "the user's tasks"
    return Ratio(
        "ratio",
        key,
        f"FAIL events in the last {minutes} min / (attempts running, at least 1, and begun then), {about}",
        tuple(inputs),
        compute,
    )


RATIOS: Mapping[str, Ratio] = {
    **{
        f"{key}_fails_per_attempt_{minutes}m": _fails_per_attempt(
            key, minutes, with_running=key == "job"
        )
        for key in ("job", "user")
        for minutes in (15, 60)
    },
    "job_fail_pace": Ratio(
        "ratio",
        "job",
        "FAIL events so far / (attempts running x quarters of an hour of the job's age)",
        ("job_fails", "job_running", "job_age_seconds"),
        _pace,
    ),
    **{
        f"age_to_{key}_{what}_log2": Ratio(
            "log2(ratio)",
            "row",
            f"binary logarithm of the attempt's known age / mean duration of the {key}'s {about}",
            (AGE, f"{key}_mean_log2_{column}"),
            _against_mean,
        )
        for key, what, column, about in (
            ("job", "fail", "fail_duration", "attempts that failed"),
            ("job", "end", "duration", "attempts that ended"),
            ("user", "fail", "fail_duration", "attempts that failed"),
        )
    },
    "left_to_job_last_fail_seconds": Ratio(
        "seconds",
        "row",
        "duration of the job's attempt that failed last - the attempt's known age",
        ("job_last_fail_duration_seconds", AGE),
        lambda duration, age: duration - age,
    ),
    "since_fail_share": Ratio(
        "ratio",
        "job",
        "time since the job's last FAIL / the job's age",
        ("job_since_fail_seconds", "job_age_seconds"),
        lambda since, age: _share(since, np.maximum(age, 1.0)),
    ),
    "age_share": Ratio(
        "ratio",
        "row",
        "the attempt's known age / the job's age",
        (AGE, "job_age_seconds"),
        lambda age, job: _share(age, np.maximum(job, 1.0)),
    ),
}


def ratio_columns(names: tuple[str, ...], known: tuple[str, ...], values: F32) -> F32:
    """Return (rows, ratios), float32, NaN where an input is missing and the ratio needs it.

    Args:
        names: of the ratios.
        known: names of the columns of `values`.
        values: (rows, columns).
    """
    places = {name: place for place, name in enumerate(known)}
    out = np.empty((len(values), len(names)), dtype=np.float32)
    for column, name in enumerate(names):
        ratio = RATIOS[name]
        out[:, column] = ratio.compute(
            *(values[:, places[one]].astype(np.float64) for one in ratio.inputs)
        )
    return out
