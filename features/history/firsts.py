"""What an event is only because of earlier events of its task or job: the first start, the first
failure, an attempt begun while nothing of its job had failed.

Found in the rows of the task's and the job's own ledger, then counted under every key.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from features.history.events import Kind
from features.history.ledger import Ledger, Steps
from features.history.steps import TOTAL
from features.history.tables import I64, Flags


def count_firsts(key: str, steps: Steps, rows: Ledger, which: I64) -> None:
    """Write into `steps` which of them are a task's or job's first start or first failure.

    Args:
        key: `task` or `job`.
        steps: all steps; changed in place.
        rows: the ledger rows of some of them.
        which: the step of each row.
    """
    for kind, counted, total in (
        (Kind.SCHEDULE, "starts", f"new_{key}s"),
        (Kind.FAIL, "fails", f"failed_{key}s"),
    ):
        first = which[_firsts(kind, counted, steps, rows, which)]
        steps.totals[first, TOTAL[total]] = 1


def with_first_fails(steps: Steps, rows: Ledger, which: I64) -> Steps:
    """Return a job's steps with the time of its first failure as a total."""
    totals = steps.totals.copy()
    first = which[_firsts(Kind.FAIL, "fails", steps, rows, which)]
    totals[first, TOTAL["first_fail_us"]] = np.maximum(steps.time_us[first], 1)
    return replace(steps, totals=totals)


def count_clean(steps: Steps, started_us: I64, rows: Ledger, which: I64) -> None:
    """Write into `steps` which attempts began while nothing of their job had failed.

    `started_us` is, per step, when the attempt began that it starts or ends. An attempt begun at
    the microsecond of the failure did not see it.
    """
    failed_us = rows.totals[:, TOTAL["first_fail_us"]]
    clean = which[(failed_us == 0) | (failed_us >= started_us[which])]
    for counted, total in (("starts", "clean_starts"), ("quick_fails", "clean_quick_fails")):
        steps.totals[clean, TOTAL[total]] = steps.totals[clean, TOTAL[counted]]


def _firsts(kind: Kind, counted: str, steps: Steps, rows: Ledger, which: I64) -> Flags:
    first: Flags = (rows.totals[:, TOTAL[counted]] == 1) & (steps.totals[which, kind] == 1)
    return first
