"""A cluster's queue as rules and policies see it: the jobs of a stream, read from the cluster at one look.

The same members as the simulator's, so that a rule needs not know which of them it decides about.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from math import inf, isnan

from lab.learning.baselines.rules import Rule
from lab.learning.jobs import Job, JobStream, State
from lab.learning.simulator import Cluster, JobRecord
from lab.queue.manifests import LOCAL_QUEUE
from schemas.queue import QueueJob


class QueueView(Cluster):
    """What is known at one moment; `admit` notes the choice, and others bring it to the cluster."""

    def __init__(
        self,
        stream: JobStream,
        rows: Mapping[str, QueueJob],
        now_seconds: float,
        begin: float,
        *,
        moves: bool = True,
    ) -> None:
        """Show a stream's jobs.

        Args:
            stream: every job that comes or has come; those to come are not shown.
            rows: of the cluster's Jobs, by name.
            now_seconds: since the stream's beginning.
            begin: the cluster's time of that beginning.
            moves: whoever decides moves Jobs into the queue that admits, so all that are there have been admitted.
        """
        super().__init__(JobStream(stream.name, (), stream.quota))
        self.stream, self.now = stream, now_seconds
        self.records = [
            _record(job, rows.get(job.name), begin, now_seconds, moves=moves) for job in stream.jobs
        ]
        for index, (job, record) in enumerate(zip(stream.jobs, self.records, strict=True)):
            if record.state is State.PENDING:
                insort(self._queue, (-job.priority, index))
            elif record.state is State.RUNNING:
                insort(self._ends, (record.end_seconds, index))
                self.free = self.free - job.requests
            elif record.state in (State.COMPLETED, State.FAILED):
                killed = rows[job.name].oom_kills > 0
                self._ended.append((record.end_seconds, killed))
        starts = [(one.start_seconds, index) for index, one in enumerate(self.records)]
        self.admitted = [index for start, index in sorted(starts) if not isnan(start)]
        self._next = len(self.records)
        self._ended = type(self._ended)(sorted(self._ended))

    def next_event_seconds(self) -> float:
        """Return when the next end is expected by users' estimates; arrivals are not known.

        So where nothing runs a masked policy may not wait while somebody fits.
        """
        return self._ends[0][0] if self._ends else inf

    def admit(self, index: int) -> bool:
        """Note that a waiting job is to start now; False when it does not wait or does not fit."""
        record, job = self.records[index], self.job(index)
        if record.state is not State.PENDING or not self.fits(index):
            return False
        self._queue.remove((-job.priority, index))
        record.state, record.start_seconds = State.RUNNING, self.now
        record.end_seconds = self.now + job.estimate_seconds
        insort(self._ends, (record.end_seconds, index))
        self.free = self.free - job.requests
        self.admitted.append(index)
        return True


def chosen_now(view: QueueView, rule: Rule) -> Sequence[Job]:
    """Return whom a rule admits now, in its order; the view shows them as running then.

    Raises:
        ValueError: it chose a job that cannot start now.
    """
    chosen = []
    while (index := rule(view)) is not None:
        if not view.admit(index):
            raise ValueError(f"the rule chose job {index}, which cannot start now")
        chosen.append(view.job(index))
    return chosen


def _record(job: Job, row: QueueJob | None, begin: float, now: float, *, moves: bool) -> JobRecord:
    if row is None:
        return JobRecord()
    admitted = row.admission_time_seconds is not None
    moved = moves and row.queue_name == LOCAL_QUEUE  # Kueue admits it in a moment
    if row.status in {"Succeeded", "Failed"}:
        state = State.COMPLETED if row.status == "Succeeded" else State.FAILED
    else:
        state = State.RUNNING if admitted or moved else State.PENDING
    record = JobRecord(state)
    if state is State.RUNNING or admitted:
        since = row.admission_time_seconds
        record.start_seconds = now if since is None else since - begin
        # Nobody knows the end of one that runs: its user's word, or any moment when that is past.
        record.end_seconds = max(now, record.start_seconds + job.estimate_seconds)
    if row.completion_time_seconds is not None:
        record.end_seconds = row.completion_time_seconds - begin
    return record
