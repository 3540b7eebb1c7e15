"""A try of a job, and what its ending means."""

from __future__ import annotations

import json

from lab.sessions.engines.port import Attempt, Ending
from lab.sessions.jobs_file import AnyPayload
from lab.sessions.payloads import words_of
from schemas.session import JobChange, JobState, PlannedJob

LONGEST_REASON = 500


def attempt_of(
    job: PlannedJob, number: int, payload: AnyPayload, python: str, timeout_seconds: float
) -> Attempt:
    """Return a try of a job; `number` counts from 1.

    Raises:
        InputError: its command line cannot be made.
    """
    words = words_of(payload, job.job_id, job.config, job.output_json, python=python)
    config = json.dumps(job.config, ensure_ascii=False, sort_keys=True)
    return Attempt(job.job_id, number, words, job.output_json, timeout_seconds, config)


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
        reason=reason[:LONGEST_REASON],
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
