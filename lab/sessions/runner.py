"""Brings every job of a session to exactly one end, on any engine, and keeps what happens in the session's log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from bus.clock import Clock
from bus.errors import InputError
from lab.sessions.attempts import JobStart, attempt_of, change_of
from lab.sessions.engines.port import Attempt, Ending, Engine, NoResult, NotSubmitted
from lab.sessions.limits import Limits
from lab.sessions.payloads import AnyPayload
from lab.sessions.results import read_result
from lab.sessions.session_log import SessionLog
from projections.session_state import FINAL, SessionState, runner_counts
from schemas.session import JobChange, JobState, PlannedJob

BACK_OFF_SECONDS = 1.0
LONGEST_BACK_OFF_SECONDS = 30.0
GATHER_SECONDS = 0.1
"""So long changes are gathered before they are stored; how a job ended is kept by its engine meanwhile."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A deadline has passed; of the whole session without an attempt."""

    attempt: Attempt | None = None


@dataclass(frozen=True, slots=True)
class _Ready:
    """A job that was put off may be begun."""

    job_id: str
    number: int


@dataclass(frozen=True, slots=True)
class _CancelAsked:
    """Somebody wants the session to end."""


@dataclass(slots=True)
class _Running:
    """An attempt that was submitted."""

    attempt: Attempt
    running_as: str = ""
    stopped_as: JobState | None = None
    """What it ends as, because we stopped it."""
    why: str = ""
    timer: asyncio.TimerHandle | None = None


class SessionRunner:
    """One run of a session, from the claim to the end."""

    def __init__(
        self,
        log: SessionLog,
        engine: Engine,
        state: SessionState,
        payload: AnyPayload,
        limits: Limits,
        clock: Clock,
        *,
        start: JobStart,
        on_change: Callable[[SessionState], None] | None = None,
    ) -> None:
        """Run what of `state` has not ended; `on_change` is told after each step, for progress."""
        self.state = state
        self._log = log
        self._engine = engine
        self._payload = payload
        self._limits = limits
        self._clock = clock
        self._start = replace(start, result_path=engine.result_path)
        self._on_change = on_change
        self._random = Random(f"{log.session}/back-off")
        self._waiting: deque[tuple[str, int]] = deque()
        self._put_off = 0
        self._running: dict[str, _Running] = {}
        self._inbox: asyncio.Queue[Ending | _Due | _Ready | _CancelAsked | BaseException] = (
            asyncio.Queue()
        )
        self._changes: list[JobChange] = []
        self._storing: asyncio.Task[None] | None = None
        self._stopping = ""
        self._status: Any = "complete"

    async def run(self, host: str) -> int:
        """Claim the session, run it, and return the exit code.

        Raises:
            AnotherWriter: another runner has the session; nothing of this one runs any more.
            EngineLost: the engine is gone; a resumed session goes on.
        """
        self._limits.check()
        await self._log.claim(self._engine.name, host, asdict(self._limits))
        tasks = [self._task(self._watch()), self._task(self._listen())]
        deadline = asyncio.get_running_loop().call_later(
            self._limits.timeout_session_seconds, self._inbox.put_nowait, _Due()
        )
        try:
            self._queue_jobs()
            await self._work()
            await self._store_all()
            code = runner_counts(self.state.jobs).exit_code
            await self._log.end(self._status, self.state.counts, code)
            return code
        finally:
            deadline.cancel()
            for running in self._running.values():
                if running.timer is not None:
                    running.timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def interrupt(self) -> None:
        """Store that this run ends early, with what was not stored yet; called after `run` was cancelled."""
        await self._store_all()
        await self._log.end("interrupted", self.state.counts, 1)

    # ---- the loop

    def _queue_jobs(self) -> None:
        for job_id, change in self.state.jobs.items():
            job = self.state.planned[job_id]
            why = "" if change.state in FINAL else self._why_invalid(job)
            if why:
                self._change(job_id, "invalid", why=why)
            elif change.state == "running":
                self._waiting.appendleft((job_id, change.attempt))
            elif change.state == "waiting":
                self._waiting.append((job_id, change.attempt + 1))

    async def _work(self) -> None:
        while True:
            await self._fill()
            if not (self._running or self._waiting or self._put_off):
                return
            item = await self._inbox.get()
            if isinstance(item, BaseException):
                raise item
            await self._handle(item)
            self._store()
            if self._on_change is not None:
                self._on_change(self.state)

    async def _fill(self) -> None:
        while self._waiting and not self._stopping:
            if len(self._running) >= self._limits.max_parallel:
                return
            job_id, number = self._waiting.popleft()
            await self._submit(self.state.planned[job_id], number)
        if self._stopping:
            self._leave_waiting()

    async def _submit(self, job: PlannedJob, number: int) -> None:
        attempt = self._attempt(job, number)
        running = self._running[attempt.name] = _Running(attempt)
        try:
            running.running_as = await self._engine.submit(attempt)
        except NotSubmitted as error:
            del self._running[attempt.name]
            self._change(job.job_id, "unsubmitted", number - 1, why=str(error))
            return
        if not self._engine.keeps_deadlines:
            running.timer = asyncio.get_running_loop().call_later(
                self._limits.timeout_per_job_seconds, self._inbox.put_nowait, _Due(attempt)
            )
        self._change(job.job_id, "running", number, running_as=running.running_as)

    async def _handle(self, item: Ending | _Due | _Ready | _CancelAsked) -> None:
        match item:
            case Ending():
                await self._end(item)
            case _Due(attempt=None):
                self._status = "timed-out"
                await self._stop("timed-out", "the session's time is over")
            case _Due(attempt=Attempt() as attempt):
                await self._stop_one(attempt, "timed-out", self._time_over())
            case _Ready(job_id, number):
                self._put_off -= 1
                self._waiting.append((job_id, number))
            case _CancelAsked():
                self._status = "cancelled"
                await self._stop("cancelled", "the session was cancelled")

    def _time_over(self) -> str:
        return f"it took longer than {self._limits.timeout_per_job_seconds:g} s"

    async def _stop(self, state: JobState, why: str) -> None:
        """Stop everything: what runs ends as `state`, what waits is not begun."""
        self._stopping = self._stopping or why
        for running in list(self._running.values()):
            await self._stop_one(running.attempt, state, why)

    async def _stop_one(self, attempt: Attempt, state: JobState, why: str) -> None:
        running = self._running.get(attempt.name)
        if running is not None and running.stopped_as is None:
            running.stopped_as, running.why = state, why
            await self._engine.cancel(attempt)

    def _leave_waiting(self) -> None:
        state: JobState = "cancelled" if self._status == "cancelled" else "unsubmitted"
        for job_id, number in self._waiting:
            # One that is tried again has an end of its own already.
            earlier = self.state.jobs[job_id]
            if number > 1 and earlier.why:
                self._change(job_id, "failed", number - 1, why=earlier.why)
            else:
                self._change(job_id, state, number - 1, why=self._stopping)
        self._waiting.clear()

    # ---- how a job ends

    async def _end(self, ending: Ending) -> None:
        running = self._running.pop(ending.name, None)
        if running is None:
            return
        if running.timer is not None:
            running.timer.cancel()
        attempt = running.attempt
        change = await self._outcome(running, ending)
        if change.state == "succeeded":
            self._record(change)
            return
        again = change.state in {"failed", "timed-out"} and attempt.number <= self._limits.retries
        if again and not self._stopping:
            self._put_off += 1
            self._record(change.model_copy(update={"state": "waiting"}))
            asyncio.get_running_loop().call_later(
                self._back_off(attempt.number),
                self._inbox.put_nowait,
                _Ready(attempt.job_id, attempt.number + 1),
            )
            return
        self._record(change)
        if self._limits.stop_on_error and not self._stopping:
            self._stopping = f"{attempt.job_id} did not succeed"

    async def _outcome(self, running: _Running, ending: Ending) -> JobChange:
        attempt = running.attempt
        stopped = None if running.stopped_as is None else (running.stopped_as, running.why)
        change = change_of(attempt, ending, running.running_as, stopped, self._time_over())
        if ending.exit_code != 0:
            return change
        try:
            result = read_result(await self._engine.collect(attempt), self._payload.rank_by)
        except NoResult as error:
            return change.model_copy(update={"state": "failed", "why": str(error)})
        found = {"value": result.value, "sha256": result.sha256, "training": result.training}
        return change.model_copy(update=found)

    def _back_off(self, number: int) -> float:
        most = min(LONGEST_BACK_OFF_SECONDS, BACK_OFF_SECONDS * 2.0 ** (number - 1))
        return self._random.uniform(0.5, 1.0) * most

    # ---- what is kept

    def _change(self, job_id: str, state: JobState, attempt: int = 0, **more: Any) -> None:
        self._record(JobChange(job_id=job_id, state=state, attempt=attempt, **more))

    def _record(self, change: JobChange) -> None:
        self.state.jobs[change.job_id] = change
        self._changes.append(change)

    def _store(self) -> None:
        """Begin to store what has happened, unless that goes on already."""
        if self._changes and (self._storing is None or self._storing.done()):
            self._storing = self._task(self._store_some())

    async def _store_some(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._changes:
            changes, self._changes = self._changes, []
            await self._log.advance(changes)

    async def _store_all(self) -> None:
        if self._storing is not None and not self._storing.done():
            await self._storing
        changes, self._changes = self._changes, []
        await self._log.advance(changes)

    async def _watch(self) -> None:
        async for ending in self._engine.watch():
            self._inbox.put_nowait(ending)

    async def _listen(self) -> None:
        async for _ in self._log.cancel_requests():
            self._inbox.put_nowait(_CancelAsked())

    def _attempt(self, job: PlannedJob, number: int) -> Attempt:
        return attempt_of(job, number, self._payload, self._start, self._limits)

    def _why_invalid(self, job: PlannedJob) -> str:
        try:
            self._attempt(job, 1)
        except InputError as error:
            return str(error)
        return job.refused

    def _task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside the loop; what goes wrong there is raised in the loop."""
        task = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(self._note_failure)
        return task

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._inbox.put_nowait(error)
