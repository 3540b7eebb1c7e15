"""Limits of a session: jobs at a time, time-outs, retries."""

from __future__ import annotations

from dataclasses import dataclass

from bus.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a session."""

    max_parallel: int = 4
    timeout_per_job_seconds: float = 300.0
    timeout_session_seconds: float = 3_600.0
    retries: int = 0
    """How often a job that failed or timed out is tried again."""
    stop_on_error: bool = False
    """Whether no job is begun after one has not succeeded."""

    def check(self) -> None:
        """Refuse limits under which nothing would ever run; raises InputError."""
        if self.max_parallel < 1:
            raise InputError("--max-parallel", self.max_parallel, "give 1 or more")
        if self.retries < 0:
            raise InputError("--retry-failed", self.retries, "give 0 or more")
        for flag, value in (
            ("--timeout-per-job", self.timeout_per_job_seconds),
            ("--timeout-session", self.timeout_session_seconds),
        ):
            if value <= 0:
                raise InputError(flag, value, "give more than 0 seconds")
