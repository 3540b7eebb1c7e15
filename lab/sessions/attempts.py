"""A try of a job, and what its ending means."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from lab.sessions.engines.port import Attempt, Ending
from lab.sessions.limits import Limits
from lab.sessions.payloads import AnyPayload, words_of
from schemas.session import JobChange, JobState, PlannedJob

LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class JobStart:
    """How the processes of jobs are started."""

    python: str
    """The Python that `{python}` stands for."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables beside the engine's own."""
    result_path: Callable[[str], str] = str
    """From the file where a result belongs to the one that the job writes (`Engine.result_path`)."""


def attempt_of(
    job: PlannedJob, number: int, payload: AnyPayload, start: JobStart, limits: Limits
) -> Attempt:
    """Return a try of a job; `number` counts from 1.

    Raises:
        InputError: its command line cannot be made.
    """
    written = start.result_path(job.output_json)
    words = words_of(payload, job.job_id, job.config, written, python=start.python)
    return Attempt(
        job_id=job.job_id,
        number=number,
        words=words,
        output_json=job.output_json,
        timeout_seconds=limits.timeout_per_job_seconds,
        config=json.dumps(job.config, ensure_ascii=False, sort_keys=True),
        environment=start.environment,
    )


def change_of(
    attempt: Attempt,
    ending: Ending,
    running_as: str,
    stopped: tuple[JobState, str] | None,
    time_over: str,
) -> JobChange:
    """Return what became of a job whose attempt has ended.

    Args:
        attempt: what ended.
        ending: how.
        running_as: what the engine called it.
        stopped: state and reason, where the runner stopped it; it may have ended well all the same.
        time_over: what is said of one whose time was over.
    """
    state: JobState = "succeeded"
    reason = ""
    if ending.exit_code != 0:
        state, reason = "failed", _why(ending)
        if stopped is not None:
            state, reason = stopped
        elif ending.timed_out:
            state, reason = "timed-out", time_over
    return JobChange(
        job_id=attempt.job_id,
        state=state,
        attempt=attempt.number,
        why=reason[:LONGEST_REASON],
        log_tail=ending.log_tail,
        seconds=ending.seconds,
        running_as=running_as,
    )


def _why(ending: Ending) -> str:
    """Return why a job failed: what the engine says, or its exit code with the last line that it wrote."""
    if ending.reason:
        return ending.reason
    last = next((line.strip() for line in reversed(ending.log_tail) if line.strip()), "")
    return f"exit code {ending.exit_code}" + (f": {last}" if last else "")
