"""A Kueue-like cluster in plain Python: jobs arrive, wait in Kueue's order, are admitted when quota is free, and end.

This is the readable statement of the model; `lab.learning.fast` is the same in arrays, and equal to it by test. Nobody
is admitted unless `admit` is called: who decides is a policy, and Kueue's own strategies are rules like all others.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

from lab.learning.jobs import Job, JobStream, Outcome, State

OOM_WINDOW_SECONDS = 3_600.0


@dataclass(slots=True)
class JobRecord:
    """What has become of one job."""

    state: State = State.NOT_YET
    start_seconds: float = nan
    end_seconds: float = nan


class Cluster:
    """One cluster that plays one stream; jobs are named by their index in it."""

    def __init__(self, stream: JobStream) -> None:
        """Begin at 0 s, with the jobs of 0 s in the queue."""
        self.stream = stream
        self.quota = stream.quota
        self.free = stream.quota
        self.now = 0.0
        self.records = [JobRecord() for _ in stream.jobs]
        self.admitted: list[int] = []
        """Every admitted job, in order of admission."""
        self._queue: list[
            tuple[int, int]
        ] = []  # (-priority, index): Kueue's order, age being the index
        self._ends: list[tuple[float, int]] = []  # (end, index), soonest first
        self._next = 0
        self._ended: deque[tuple[float, bool]] = (
            deque()
        )  # (end, for want of memory), of the last hour
        self._arrive()

    # ---- what is seen

    @property
    def pending(self) -> list[int]:
        """Jobs that wait, in Kueue's order: higher priority first, then older."""
        return [index for _, index in self._queue]

    def slots(self, count: int) -> list[int]:
        """Return the first `count` jobs of the queue."""
        return [index for _, index in self._queue[:count]]

    @property
    def pending_count(self) -> int:
        """Return how many wait."""
        return len(self._queue)

    @property
    def running(self) -> list[int]:
        """Jobs that run, the soonest end first."""
        return [index for _, index in self._ends]

    def job(self, index: int) -> Job:
        """Return a job of the stream."""
        return self.stream.jobs[index]

    def fits(self, index: int) -> bool:
        """Say whether a job's requests are free now."""
        return self.stream.jobs[index].requests.fits(self.free)

    def wait_seconds(self, index: int) -> float:
        """Return how long a job has waited, or waited before its start."""
        record, arrival = self.records[index], self.stream.jobs[index].arrival_seconds
        waits = record.state in (State.NOT_YET, State.PENDING)
        return max(0.0, (self.now if waits else record.start_seconds) - arrival)

    @property
    def mean_wait_seconds(self) -> float:
        """Return the mean wait of those that wait now; 0 when nobody does."""
        if not self._queue:
            return 0.0
        arrivals = sum(self.stream.jobs[index].arrival_seconds for _, index in self._queue)
        return self.now - arrivals / len(self._queue)

    @property
    def oom_ratio(self) -> float:
        """Share of those that ended within the last hour that ended for want of memory."""
        while self._ended and self._ended[0][0] <= self.now - OOM_WINDOW_SECONDS:
            self._ended.popleft()
        return sum(oom for _, oom in self._ended) / len(self._ended) if self._ended else 0.0

    def next_event_seconds(self) -> float:
        """Return when the next job arrives or ends; infinity when neither will happen."""
        arrival = (
            self.stream.jobs[self._next].arrival_seconds if self._next < len(self.records) else inf
        )
        return min(arrival, self._ends[0][0] if self._ends else inf)

    @property
    def is_over(self) -> bool:
        """Whether every job of the stream has ended."""
        return self._next == len(self.records) and not self._queue and not self._ends

    # ---- what happens

    def admit(self, index: int) -> bool:
        """Start a pending job now; False, and nothing changes, when it does not wait or does not fit."""
        record = self.records[index]
        if record.state is not State.PENDING or not self.fits(index):
            return False
        job = self.stream.jobs[index]
        self._queue.remove((-job.priority, index))
        record.state, record.start_seconds = State.RUNNING, self.now
        record.end_seconds = self.now + job.running_seconds
        insort(self._ends, (record.end_seconds, index))
        self.free = self.free - job.requests
        self.admitted.append(index)
        return True

    def advance(self, until_seconds: float) -> None:
        """Let time pass: what ends by then frees its quota, what arrives joins the queue.

        Raises:
            ValueError: that is in the past.
        """
        if until_seconds < self.now:
            raise ValueError(f"time cannot go back from {self.now} s to {until_seconds} s")
        while self._ends and self._ends[0][0] <= until_seconds:
            end, index = self._ends.pop(0)
            job = self.stream.jobs[index]
            self.records[index].state = job.end_state
            self.free = self.free + job.requests
            self._ended.append((end, _is_oom(job)))
        self.now = until_seconds
        self._arrive()

    def _arrive(self) -> None:
        jobs = self.stream.jobs
        while self._next < len(jobs) and jobs[self._next].arrival_seconds <= self.now:
            self.records[self._next].state = State.PENDING
            insort(self._queue, (-jobs[self._next].priority, self._next))
            self._next += 1


def count_states(records: Sequence[JobRecord]) -> dict[str, int]:
    """Return how many jobs are in each state, by its name in lower case; they add up to all jobs."""
    counts = {state.name.lower(): 0 for state in State}
    for record in records:
        counts[record.state.name.lower()] += 1
    return counts


def _is_oom(job: Job) -> bool:
    return job.outcome is Outcome.OUT_OF_MEMORY and job.true_seconds <= job.deadline_seconds
