"""How a tuning session stands: its jobs by state, who runs it, what failed and why, and the best result so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from schemas.envelope import Event
from schemas.session import (
    JobChange,
    JobState,
    JobTraining,
    PlannedJob,
    SessionAdvanced,
    SessionCancelRequested,
    SessionClaimed,
    SessionEnded,
    SessionPlanned,
    SessionRay,
    SessionStudy,
)

STATES: tuple[JobState, ...] = get_args(JobState)
FINAL: tuple[JobState, ...] = STATES[2:]
"""In exactly one of these every job ends."""
Direction = Literal["maximize", "minimize"]


@dataclass(slots=True)
class SessionState:
    """A session after the events that were given to `add`."""

    session: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    total: int = 0
    planned: dict[str, PlannedJob] = field(default_factory=dict)
    jobs: dict[str, JobChange] = field(default_factory=dict)
    """The newest change of each job, in the order of the plan."""
    claimed: SessionClaimed | None = None
    """Who runs it, or ran it last."""
    ended: SessionEnded | None = None
    """How its newest runner left it; None while one runs it, or has died."""
    study: SessionStudy | None = None
    """How its search stands, where it is one."""
    ray: SessionRay | None = None
    """How its Ray cluster fares, where it runs on one."""
    cancel: SessionCancelRequested | None = None
    """Somebody wants it to end."""

    def add(self, event: Event[Any]) -> None:
        """Take in an event; those of other kinds change nothing."""
        match event.data:
            case SessionPlanned() as planned:
                self._plan(planned)
            case SessionClaimed() as claimed:
                self.claimed, self.ended = claimed, None
            case SessionAdvanced() as advanced:
                for change in advanced.changes:
                    self.jobs[change.job_id] = change
            case SessionEnded() as ended:
                self.ended = ended
            case SessionStudy() as study:
                self.study = study
            case SessionRay() as ray:
                self.ray = ray
            case SessionCancelRequested() as cancel:
                self.cancel = cancel
            case _:
                pass

    def _plan(self, planned: SessionPlanned) -> None:
        self.session, self.payload, self.total = planned.session, planned.payload, planned.total
        for job in planned.jobs:
            self.planned[job.job_id] = job
            state: JobState = "invalid" if job.refused else "waiting"
            self.jobs[job.job_id] = JobChange(job_id=job.job_id, state=state, why=job.refused)

    @property
    def whole(self) -> bool:
        """Whether every job of the session is known."""
        return len(self.planned) == self.total > 0

    @property
    def finished(self) -> bool:
        """Whether every job has ended."""
        return self.whole and all(change.state in FINAL for change in self.jobs.values())

    @property
    def done(self) -> int:
        """Jobs that have ended, however."""
        return sum(change.state in FINAL for change in self.jobs.values())

    @property
    def status(self) -> str:
        """How it stands, in a word or two."""
        if self.ended is not None:
            return self.ended.status
        return "not begun" if self.claimed is None else "running"

    @property
    def counts(self) -> dict[str, int]:
        """Jobs by state; the sum is the total."""
        return counts_of(change.state for change in self.jobs.values())

    def failures(self) -> list[JobChange]:
        """Return the jobs that ended in another way than success, in the order of the plan."""
        return [
            change
            for change in self.jobs.values()
            if change.state in FINAL and change.state != "succeeded"
        ]

    def trainings(self) -> list[JobTraining]:
        """Return what the jobs that trained came to."""
        return [change.training for change in self.jobs.values() if change.training is not None]

    def best(self, direction: Direction = "maximize") -> JobChange | None:
        """Return the succeeded job with the best value; None as long as none has one."""
        valued = [
            change
            for change in self.jobs.values()
            if change.state == "succeeded" and change.value is not None
        ]
        sign = 1.0 if direction == "maximize" else -1.0
        return max(valued, key=lambda change: sign * (change.value or 0.0), default=None)


def counts_of(states: Iterable[JobState]) -> dict[str, int]:
    """Return how many jobs are in each state, every state named."""
    counts = dict.fromkeys(STATES, 0)
    for state in states:
        counts[state] += 1
    return {str(state): count for state, count in counts.items()}


@dataclass(frozen=True, slots=True)
class RunnerCounts:
    """The counts that the predecessors' runners printed, made of our states; see docs/sessions.md."""

    total_jobs: int
    attempted_jobs: int
    success_jobs: int
    error_jobs: int
    """Failed, timed out or invalid."""
    skipped_jobs: int
    """Cancelled or never submitted."""
    exit_code: int


def runner_counts(jobs: Mapping[str, JobChange]) -> RunnerCounts:
    """Return the counts of a session that has ended; success, errors and skipped add up to the total.

    The exit code is 0 only when every job succeeded, and 2 when not one of them could be run at all.
    """
    counts = counts_of(change.state for change in jobs.values())
    success = counts["succeeded"]
    code = 0 if success == len(jobs) else 2 if counts["invalid"] == len(jobs) else 1
    return RunnerCounts(
        total_jobs=len(jobs),
        attempted_jobs=sum(change.attempt > 0 for change in jobs.values()),
        success_jobs=success,
        error_jobs=counts["failed"] + counts["timed-out"] + counts["invalid"],
        skipped_jobs=counts["cancelled"] + counts["unsubmitted"],
        exit_code=code,
    )
