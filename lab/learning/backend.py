"""The port between environments and what plays the jobs: the plain simulator, or the twin with its Kueue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from lab.learning.jobs import Amounts, Job, JobStream
from lab.learning.simulator import JobRecord


class Backend(Protocol):
    """One cluster that plays one stream; see `lab.learning.simulator.Cluster` for what each member means."""

    @property
    def stream(self) -> JobStream:
        """What is played."""

    @property
    def quota(self) -> Amounts:
        """All that may be admitted at once."""

    @property
    def free(self) -> Amounts:
        """What of it is free now."""

    @property
    def now(self) -> float:
        """Seconds since the stream's beginning."""

    @property
    def records(self) -> Sequence[JobRecord]:
        """What has become of each job."""

    @property
    def admitted(self) -> Sequence[int]:
        """Every admitted job, in order of admission."""

    @property
    def pending(self) -> list[int]:
        """Jobs that wait, in Kueue's order."""

    @property
    def pending_count(self) -> int:
        """How many wait."""

    @property
    def running(self) -> list[int]:
        """Jobs that run, the soonest end first."""

    @property
    def mean_wait_seconds(self) -> float:
        """Mean wait of those that wait now."""

    @property
    def oom_ratio(self) -> float:
        """Share of the hour's ends that were for want of memory."""

    @property
    def is_over(self) -> bool:
        """Whether every job has ended."""

    def job(self, index: int) -> Job:
        """Return a job of the stream."""

    def slots(self, count: int) -> list[int]:
        """Return the first `count` jobs of the queue."""

    def fits(self, index: int) -> bool:
        """Say whether a job's requests are free now."""

    def wait_seconds(self, index: int) -> float:
        """Return how long a job has waited."""

    def next_event_seconds(self) -> float:
        """Return when the next job arrives or ends, as far as the backend knows; infinity for never."""

    def admit(self, index: int) -> bool:
        """Start a pending job now, if it fits."""

    def advance(self, until_seconds: float) -> None:
        """Let time pass."""


MakeBackend = Callable[[JobStream], Backend]
