"""Features computed from one key's row: rates, durations, ages. Whole numbers in, floats out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from features.history.outcomes import recent_rate
from features.history.steps import BEFORE_THE_TRACE_US, LOG2_ONE, MARK, TOTAL
from features.history.tables import F64, I64, U64, quotient


@dataclass(frozen=True, slots=True)
class Known:
    """Ledger entries of the asked keys and times: one row each, zeros where nothing is known."""

    time_us: I64
    first_us: I64
    """-1 where nothing is known."""
    totals: I64
    marks: I64
    outcomes: U64

    def total(self, name: str) -> I64:
        """Return one total."""
        column: I64 = self.totals[:, TOTAL[name]]
        return column

    def mark(self, name: str) -> F64:
        """Return one mark, NaN where it was never set."""
        column = self.marks[:, MARK[name]]
        return np.where(column >= 0, column.astype(np.float64), np.nan)

    def ends(self) -> I64:
        """Return the number of ends that were seen."""
        ended: I64 = self.totals[:, TOTAL["evicts"] : TOTAL["kills"] + 1].sum(axis=1)
        return ended


@dataclass(frozen=True, slots=True)
class Derived:
    """One feature computed from a key's row."""

    unit: str
    meaning: str
    compute: Callable[[Known], F64]


def share(part: I64, whole: I64) -> F64:
    """Return part / whole, NaN where whole is 0."""
    return quotient(part, whole, whole > 0)


def _age(known: Known) -> F64:
    is_known = known.first_us > BEFORE_THE_TRACE_US
    return np.where(is_known, (known.time_us - known.first_us) / 1e6, np.nan)


DERIVED: Mapping[str, Derived] = {
    "running": Derived(
        "attempts",
        "attempts running",
        lambda k: np.maximum(k.total("running"), 0).astype(np.float64),
    ),
    "last_end_kind": Derived(
        "code",
        "kind of the last end (2 evict, 3 fail, 4 finish, 5 kill)",
        lambda k: k.mark("end_kind"),
    ),
    "last_duration_seconds": Derived(
        "seconds", "duration of the attempt that ended last", lambda k: k.mark("duration_us") / 1e6
    ),
    "last_fail_duration_seconds": Derived(
        "seconds",
        "duration of the attempt that failed last",
        lambda k: k.mark("fail_duration_us") / 1e6,
    ),
    "mean_log2_duration": Derived(
        "log2(seconds)",
        "mean logarithm of the durations of ended attempts",
        lambda k: share(k.total("log2_ends"), k.total("timed_ends")) / LOG2_ONE,
    ),
    "mean_log2_fail_duration": Derived(
        "log2(seconds)",
        "mean logarithm of the durations of failed attempts",
        lambda k: share(k.total("log2_fails"), k.total("timed_fails")) / LOG2_ONE,
    ),
    "fails_per_start": Derived(
        "ratio",
        "FAIL events / SCHEDULE events",
        lambda k: share(k.total("fails"), k.total("starts")),
    ),
    "fails_per_end": Derived(
        "ratio", "FAIL events / ends", lambda k: share(k.total("fails"), k.ends())
    ),
    "quick_fails_per_start": Derived(
        "ratio",
        "FAIL events within 15 min of their own SCHEDULE / SCHEDULE events",
        lambda k: share(k.total("quick_fails"), k.total("starts")),
    ),
    "clean_fail_rate": Derived(
        "ratio",
        "of attempts begun while their job had not failed, the share that failed within 15 min",
        lambda k: share(k.total("clean_quick_fails"), k.total("clean_starts")),
    ),
    "failed_task_share": Derived(
        "ratio",
        "tasks that failed / tasks that started",
        lambda k: share(k.total("failed_tasks"), k.total("new_tasks")),
    ),
    "failed_job_share": Derived(
        "ratio",
        "jobs that failed / jobs that started",
        lambda k: share(k.total("failed_jobs"), k.total("new_jobs")),
    ),
    "recent_fail_rate": Derived(
        "ratio",
        "share of FAIL among ends, weights halving every 5 ends",
        lambda k: recent_rate(k.outcomes, k.ends()),
    ),
    "age_seconds": Derived("seconds", "time since its first event", _age),
}
