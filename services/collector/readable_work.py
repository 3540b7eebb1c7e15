"""Work counted of what can be read: one job or pod that cannot does not cost the count."""

from __future__ import annotations

from services.collector.reading import CycleReads
from services.collector.unreadable import without_unreadable
from services.collector.work_ledger import CountedObjects, WorkLedger, WorkRules, count_work


def count_readable(
    ledger: WorkLedger,
    reading: CycleReads,
    time_seconds: float,
    rules: WorkRules,
    counted: CountedObjects,
) -> WorkLedger:
    """Return the ledger after a look, without the jobs and pods that cannot be read; see `count_work`.

    Raises:
        ValueError: what is left cannot be counted.
    """
    metrics = None if reading.work is None else reading.work.metrics
    try:
        return count_work(ledger, reading, metrics, time_seconds, rules, counted)
    except ValueError:
        for name in ("jobs", "pods"):
            reading, _ = without_unreadable(reading, name)
        return count_work(ledger, reading, metrics, time_seconds, rules)
