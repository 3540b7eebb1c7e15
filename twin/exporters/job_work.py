"""Outcome of the work of Jobs; a group of its own, since whoever scores a cluster reads it at each look."""

from __future__ import annotations

from collections.abc import Iterator

from twin.engine import Engine
from twin.exporters.family import EngineFamilies, Family, Row

JOB_CPU = "foresail_job_cpu_seconds_total"
FAMILIES = (
    Family(JOB_CPU, "counter", "CPU seconds of Job pods that ended in time, late, or for nothing.",
           ("outcome",), (("job", "foresail-twin"),)),
)  # fmt: skip


def _rows(engine: Engine) -> Iterator[Row]:
    for outcome, seconds in list(engine.job_work.cpu_seconds.items()):
        yield JOB_CPU, (outcome,), seconds


JOB_WORK = EngineFamilies(FAMILIES, _rows)
