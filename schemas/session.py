"""Tuning sessions: what was planned, who runs it, what became of each job, and how it ended.

All events of a session lie on one subject, so of two runners that begin at the same moment the log takes
one and refuses the other (`bus.expectations`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from schemas.model import DataModel, EventData
from schemas.numbers import Count, JsonObject, Rounded, Seconds
from schemas.wording import count_text

JobState = Literal[
    "waiting",
    "running",
    "succeeded",
    "failed",
    "timed-out",
    "invalid",
    "cancelled",
    "unsubmitted",
]
"""Where a job is. The first two come and go; every job ends in exactly one of the six others."""


class SessionData(EventData):
    """Common fields of every event of a session."""

    WRITER: ClassVar[str] = "operator"

    session: str
    runner: str
    """Who says it; each start of a runner is another one."""
    sequence: Count
    """Running number of this kind from this runner."""

    @classmethod
    def patterns_of(cls, writer: str) -> tuple[tuple[str, ...], ...]:
        """Return the subjects of all sessions, whoever begins one."""
        del writer
        return (cls.PATTERN,)

    def tokens(self) -> tuple[str, ...]:
        """Return `run.<kind>.<session>`."""
        return (*self.PATTERN[:2], self.session)

    def key(self) -> str:
        """Return session, runner and running number."""
        return f"{self.session}/{self.runner}/{self.sequence}"


class PlannedJob(DataModel):
    """One job as it was planned."""

    job_id: str
    config: JsonObject
    output_json: str
    """File of its result."""
    refused: str = ""
    """Why it cannot be run; empty when it can."""


class SessionPlanned(SessionData):
    """Some jobs of a session; large sessions are planned in several of these."""

    TYPE: ClassVar[str] = "foresail.run.session.planned.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    payload: JsonObject
    """What a job does (`lab.sessions.payloads`)."""
    total: Count
    """Jobs of the whole session."""
    jobs: tuple[PlannedJob, ...]

    def line(self) -> str:
        """Return how many jobs of the session it names."""
        return f"{self.session} planned {len(self.jobs)} of {count_text(self.total, 'job')}"


class SessionClaimed(SessionData):
    """A runner takes a session: from now on it alone submits jobs."""

    TYPE: ClassVar[str] = "foresail.run.session.claimed.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    engine: str
    """Where jobs run: local, kubernetes or ray."""
    host: str
    """Machine of the runner."""
    limits: JsonObject
    """Jobs at a time, time-outs, retries."""

    def line(self) -> str:
        """Return who runs it, and where."""
        return f"{self.session} run by {self.runner} on {self.engine}"


class JobTraining(DataModel):
    """What a job that trained a policy came to."""

    train_iters: Count
    reward_mean: Rounded
    """Of an episode, at the end."""
    checkpoint: str
    """File of the best weights."""


class JobChange(DataModel):
    """A job is somewhere else than before."""

    job_id: str
    state: JobState
    attempt: Count = 0
    """How often it was submitted."""
    why: str = ""
    """Why it did not succeed."""
    log_tail: tuple[str, ...] = ()
    """Last lines of its log, where it did not succeed."""
    value: Rounded | None = None
    """What results are ranked by; None: unknown, or the result has none."""
    seconds: Seconds = Field(default=0.0, ge=0.0)
    """Wall seconds that the attempt took."""
    sha256: str = ""
    """Of the result's bytes."""
    running_as: str = ""
    """Name of the process, Kubernetes Job or Ray task."""
    training: JobTraining | None = Field(default=None, exclude_if=lambda one: one is None)
    """Of a job that trained and succeeded."""


class SessionAdvanced(SessionData):
    """What became of some jobs, in order."""

    TYPE: ClassVar[str] = "foresail.run.session.advanced.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    changes: tuple[JobChange, ...]

    def line(self) -> str:
        """Return the newest change, and how many there are."""
        newest = self.changes[-1] if self.changes else None
        what = "" if newest is None else f": {newest.job_id} {newest.state}"
        return f"{self.session} {count_text(len(self.changes), 'change')}{what}"


class SessionEnded(SessionData):
    """A runner left a session."""

    TYPE: ClassVar[str] = "foresail.run.session.ended.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    status: Literal["complete", "interrupted", "timed-out", "cancelled"]
    """`complete` and `cancelled` are final; after the others `foresail session resume` goes on."""
    counts: dict[str, int]
    """Jobs by state."""
    exit_code: int

    def line(self) -> str:
        """Return how it ended, with its counts."""
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items() if count)
        return f"{self.session} {self.status}: {counts}"


class EndedTrial(DataModel):
    """A trial of a search that has ended."""

    trial: Count
    run_trial: Count
    """Its place among those of this run, from 1; the study may hold earlier ones."""
    state: Literal["complete", "pruned", "failed"]
    value: tuple[Rounded, ...] = ()
    """One for each objective; none where it did not complete."""
    params: JsonObject


class StudyObjective(DataModel):
    """A figure that a search is to better."""

    figure: str
    direction: Literal["maximize", "minimize"]


class SessionStudy(SessionData):
    """How a search stands after one more of its trials."""

    TYPE: ClassVar[str] = "foresail.run.session.study.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    status: Literal["running", "complete", "failed"]
    study: str
    trials: Count
    """How many there are to be."""
    completed_trials: Count
    failed_trials: Count
    pruned_trials: Count
    trial: Count | None = None
    """The best trial; None: there is none yet."""
    best_score: tuple[Rounded, ...] = ()
    """Its values, one for each objective."""
    best_params: JsonObject = {}
    history_scope: Literal["all_completed_study_trials"] = "all_completed_study_trials"
    """What the counts are of: every run of the study, not this one alone."""
    history: tuple[EndedTrial, ...] = Field(default=(), exclude_if=lambda trials: not trials)
    """Trials that have ended since this runner's event before."""
    engine: str = ""
    """Where trials run: local, kubernetes or ray."""
    why: str = ""
    """Why it ended early."""
    objectives: tuple[StudyObjective, ...] = Field(default=(), exclude_if=lambda one: not one)
    """What trials are ranked by, in the order of their values."""
    circular: str = Field(default="", exclude_if=lambda text: not text)
    """Why what it finds is no evidence; empty where it is."""

    def line(self) -> str:
        """Return how far it is."""
        ended = self.completed_trials + self.failed_trials + self.pruned_trials
        return f"{self.study} {self.status}: {ended} of {count_text(self.trials, 'trial')}"


class SessionRay(SessionData):
    """How a session's Ray cluster fares, and what was trained there."""

    TYPE: ClassVar[str] = "foresail.run.session.ray.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session", "*")

    status: Literal["running", "complete", "failed"]
    nodes: Count = 0
    """Machines of the cluster."""
    cpus: Count = 0
    """Of all of them; as many jobs can run at once."""
    train_iters: Count = 0
    """Of all jobs that trained."""
    reward_mean: Rounded | None = None
    """The best of them; None: none trained."""
    checkpoint: str = ""
    """The best one's weights."""
    why: str = ""
    """Why it failed."""

    def line(self) -> str:
        """Return the cluster's size, and how far training is."""
        size = f"{count_text(self.nodes, 'node')}, {count_text(self.cpus, 'CPU')}"
        trained = count_text(self.train_iters, "iteration") if self.train_iters else ""
        return ", ".join(filter(None, (f"Ray {self.status}: {size}", trained, self.why)))


class SessionCancelRequested(SessionData):
    """Somebody wants a session to end: what runs is stopped, what waits is not begun."""

    TYPE: ClassVar[str] = "foresail.run.session.cancel_requested.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "session_cancel", "*")

    why: str = ""

    def line(self) -> str:
        """Return what is asked for."""
        return f"{self.session} is to be cancelled {self.why}".rstrip()
