"""The six job templates of SKRueue, corrected: categories that the observation knows, requests that are read.

Requests, limits, estimates, priorities and executors are SKRueue's (`workload/`). A template's request is what the
whole Job asks of the quota, as the published table states it; the Spark figures say how a SparkApplication made of it
would be split (a driver beside the executors is what remains). Beyond the published table, and our own choice: how
true durations spread around the estimate, since SKRueue never says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lab.learning.jobs import BYTES_PER_GIB, Amounts

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Spark:
    """Executors of a Spark template; Spark 3.4.0, SparkApplication v1beta2."""

    executors: int
    cores: int
    memory_gib: int


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of job that people submit again and again."""

    name: str
    kind: str
    """A key of the observation's type codes."""
    requests: Amounts
    limits: Amounts
    estimate_minutes: float
    priority: int
    spark: Spark | None = None
    spread: float = 0.35
    """Sigma of the log-normal factor between estimate and truth; its mean is 1. 0: the estimate is true."""
    failure_ratio: float = field(default=0.0)
    """Share of its jobs that fail at their end."""
    oom_ratio: float = field(default=0.0)
    """Share of its jobs that are killed for want of memory, halfway on average."""


def _amounts(cpu_millicores: int, memory_mib: int) -> Amounts:
    return Amounts(cpu_millicores, memory_mib * MIB)


def _template(
    name: str,
    kind: str,
    cpu: int,
    mib: int,
    minutes: float,
    priority: int,
    spark: Spark | None = None,
) -> Template:
    """Return a template whose limits are twice its requests, as all six have it."""
    return Template(
        name, kind, _amounts(cpu, mib), _amounts(2 * cpu, 2 * mib), minutes, priority, spark
    )


GIB_IN_MIB = BYTES_PER_GIB // MIB
TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        _template("cpu-intensive", "batch", 1_000, 2 * GIB_IN_MIB, 30, 5),
        _template("memory-intensive", "batch", 500, 4 * GIB_IN_MIB, 45, 4),
        _template("io-intensive", "batch", 300, 1 * GIB_IN_MIB, 25, 3),
        _template("ml-training", "ml", 2_000, 8 * GIB_IN_MIB, 60, 8, Spark(3, 4, 4)),
        _template("etl-pipeline", "etl", 1_500, 6 * GIB_IN_MIB, 40, 6, Spark(4, 2, 3)),
        _template("quick-task", "generic", 100, 256, 5, 2),
    )
}
"""By name, in the order of SKRueue's table."""
DEADLINE_FACTOR = 3.0
"""`activeDeadlineSeconds` over the estimate."""
BACKOFF_LIMIT = 2
"""`backoffLimit` of their Jobs."""
