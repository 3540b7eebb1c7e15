"""What a log says about queues, read once: every look, the changes of each Job, and alerts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from bus.events import read_entry
from bus.port import StoredMessage
from schemas.queue import QueueAlert, QueueChoice, QueueJob, QueueJobs, QueueScore, QueueState

EventType = Literal["admitted", "scheduled", "completed", "failed", "rejected"]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One step of a Job's life."""

    time_seconds: float
    """When the cluster says that it happened; of a look, where it does not say."""
    job: QueueJob
    """As it was at the look that showed it."""
    type: EventType


@dataclass(slots=True)
class QueueHistory:
    """A whole log."""

    jobs: dict[str, QueueJob] = field(default_factory=dict)
    """Newest row of each Job by its UID, those that are gone included."""
    states: list[QueueState] = field(default_factory=list)
    events: list[JobEvent] = field(default_factory=list)
    alerts: list[QueueAlert] = field(default_factory=list)
    choices: list[QueueChoice] = field(default_factory=list)
    scores: list[QueueScore] = field(default_factory=list)
    unreadable: int = 0
    """Messages that are no events which this version knows."""

    def add(self, data: object) -> None:
        """Take one event's data; what is not about queues is passed over."""
        if isinstance(data, QueueJobs):
            for job in data.jobs:
                self.events.extend(steps(self.jobs.get(job.job_id), job, data.cluster_time_seconds))
                self.jobs[job.job_id] = job
        elif isinstance(data, QueueState):
            self.states.append(data)
        elif isinstance(data, QueueAlert):
            self.alerts.append(data)
        elif isinstance(data, QueueChoice):
            self.choices.append(data)
        elif isinstance(data, QueueScore):
            self.scores.append(data)


def read_history(messages: Iterable[StoredMessage]) -> QueueHistory:
    """Read every message of a log."""
    history = QueueHistory()
    for message in messages:
        event = read_entry(message).event
        if event is None:
            history.unreadable += 1
        else:
            history.add(event.data)
    return history


def steps(before: QueueJob | None, job: QueueJob, look_seconds: float) -> Iterator[JobEvent]:
    """Yield what has happened to a Job between two looks, steps that no look saw included."""
    was_admitted = before.admission_time_seconds if before is not None else None
    admitted, started = job.admission_time_seconds, job.start_time_seconds
    if admitted is not None and admitted != was_admitted:
        yield JobEvent(admitted, job, "admitted")
    if started is not None and (before is None or before.start_time_seconds is None):
        yield JobEvent(started, job, "scheduled")
    if before is None or before.status not in {"Succeeded", "Failed"}:
        ended = job.completion_time_seconds
        ended = look_seconds if ended is None else ended
        if job.status == "Succeeded":
            yield JobEvent(ended, job, "completed")
        elif job.status == "Failed":
            yield JobEvent(ended, job, "rejected" if started is None else "failed")
