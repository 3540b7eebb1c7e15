"""What a Job of the workload writes on the pod of an index: how this attempt at its work goes."""

from __future__ import annotations

from functools import lru_cache

from twin.behaviour.pod_work import ENDLESS_SECONDS, OUTCOME, WORK_SECONDS
from twin.workloads.attempts import FAILED, GIVEN_UP, Attempt, read_attempts

ATTEMPTS = "foresail.dev/attempts"
"""Annotation of a Job: the attempts of each index (`twin/workloads/attempts.py`)."""
_OUTCOMES = {FAILED: "fail", GIVEN_UP: "give up"}


@lru_cache(maxsize=256)
def _read(text: str) -> list[tuple[Attempt, ...]]:
    return read_attempts(text)


def attempt_notes(text: str, index: int, failures: str) -> dict[str, str]:
    """Return the annotations of a pod by how often its index failed before; none without attempts.

    A text that cannot be read, and an index that it does not know, leave the pod to its template.
    """
    try:
        attempts = _read(text)[index]
    except (ValueError, IndexError):
        return {}
    attempt = attempts[min(int(failures), len(attempts) - 1)]
    seconds = ENDLESS_SECONDS if attempt.seconds is None else attempt.seconds
    return {WORK_SECONDS: f"{seconds:.6f}", OUTCOME: _OUTCOMES.get(attempt.ending, "succeed")}
