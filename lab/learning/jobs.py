"""Jobs that want to be admitted, as streams: what every simulator, environment and rule here is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from math import inf

MILLICORES_PER_CORE = 1_000
BYTES_PER_GIB = 2**30


class Outcome(IntEnum):
    """How a job ends when nobody ends it earlier."""

    SUCCEEDED = 0
    FAILED = 1
    OUT_OF_MEMORY = 2


class State(IntEnum):
    """Where a job is; each job of a stream is in exactly one state."""

    NOT_YET = 0
    """Its arrival is in the future."""
    PENDING = 1
    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    """Ended by an error of its own, for want of memory, or at its deadline."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Resources, of a job in total or of a cluster's quota."""

    cpu_millicores: int
    memory_bytes: int
    gpus: int = 0

    def fits(self, free: Amounts) -> bool:
        """Say whether `free` is enough in every resource."""
        return (
            self.cpu_millicores <= free.cpu_millicores
            and self.memory_bytes <= free.memory_bytes
            and self.gpus <= free.gpus
        )

    def __add__(self, other: Amounts) -> Amounts:
        """Return the sum by resource."""
        return Amounts(
            self.cpu_millicores + other.cpu_millicores,
            self.memory_bytes + other.memory_bytes,
            self.gpus + other.gpus,
        )

    def __sub__(self, other: Amounts) -> Amounts:
        """Return the difference by resource."""
        return Amounts(
            self.cpu_millicores - other.cpu_millicores,
            self.memory_bytes - other.memory_bytes,
            self.gpus - other.gpus,
        )


@dataclass(frozen=True, slots=True)
class Job:
    """One job: what its user says of it, and what becomes of it."""

    name: str
    arrival_seconds: float
    """Since the beginning of its stream."""
    requests: Amounts
    """Of all its pods together."""
    estimate_seconds: float
    """What its user says it takes; all that a real scheduler knows."""
    true_seconds: float
    """What it takes from its start to its outcome."""
    priority: int = 0
    """Higher goes first in Kueue's order."""
    kind: str = "generic"
    """A key of `observation.KIND_CODES`; anything else counts as generic."""
    pods: int = 1
    outcome: Outcome = Outcome.SUCCEEDED
    deadline_seconds: float = inf
    """From its start; `activeDeadlineSeconds` of a Job. One that takes longer fails then."""

    @property
    def running_seconds(self) -> float:
        """How long it holds its resources once it has started."""
        return min(self.true_seconds, self.deadline_seconds)

    @property
    def end_state(self) -> State:
        """Return what counts it in the end, once it has run."""
        done = self.outcome is Outcome.SUCCEEDED and self.true_seconds <= self.deadline_seconds
        return State.COMPLETED if done else State.FAILED


@dataclass(frozen=True, slots=True)
class JobStream:
    """Jobs in order of arrival, and the quota of the cluster that they come to."""

    name: str
    jobs: tuple[Job, ...]
    quota: Amounts

    @property
    def end_seconds(self) -> float:
        """The last arrival; 0 without jobs."""
        return self.jobs[-1].arrival_seconds if self.jobs else 0.0


def ordered_stream(name: str, jobs: Iterable[Job], quota: Amounts) -> JobStream:
    """Return jobs as a stream, in order of arrival; equals stay in the order given.

    Raises:
        ValueError: a job asks for more than the whole quota, so no admission would ever be right for it, or it
            takes no time.
    """
    ordered = tuple(sorted(jobs, key=lambda job: job.arrival_seconds))
    for job in ordered:
        if not job.requests.fits(quota):
            raise ValueError(f"job {job.name} asks for {job.requests}, more than the quota {quota}")
        if not (job.true_seconds > 0 and job.estimate_seconds > 0):
            raise ValueError(f"job {job.name} takes no time; give more than 0 seconds")
    return JobStream(name, ordered, quota)


def utilization(quota: Amounts, free: Amounts) -> tuple[float, float]:
    """Return the share of cpu and of memory that is taken; 0 where there is none."""
    cpu = (quota.cpu_millicores - free.cpu_millicores) / (quota.cpu_millicores or 1)
    return cpu, (quota.memory_bytes - free.memory_bytes) / (quota.memory_bytes or 1)
