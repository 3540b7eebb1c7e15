"""What a session's end looks like: the counts, errors and job names of the predecessors' runners, and our states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foresail.output import console
from lab.sessions.names import object_name
from projections.figures import duration, number
from projections.session_state import FINAL, STATES, SessionState, runner_counts
from schemas.session import JobChange, SessionRay

RULE = "=" * 70
SHOWN_ERRORS = 10
SHOWN_JOBS = 5
LEAST_FOR_ESTIMATE = 3
"""Ended jobs from which on a time left is said."""
HEADERS: Mapping[str, str] = {
    "local": "[D40_SESSION] TUNING SESSION SUMMARY",
    "kubernetes": "[D41_K8S_SESSION] KUBERNETES TUNING SESSION SUMMARY",
    "ray": "[RAY_SESSION] RAY TUNING SESSION SUMMARY",
}
"""The first two are the predecessors' own."""
ENDS = {
    0: "all jobs succeeded",
    1: "some jobs did not succeed",
    2: "no job could be run",
}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a session ended; the fields of `K8sTuningSessionRunResult`, and our states beside them."""

    session: str
    engine: str
    total_jobs: int
    attempted_jobs: int
    success_jobs: int
    error_jobs: int
    skipped_jobs: int
    exit_code: int
    states: dict[str, int]
    errors: list[str] = field(default_factory=list)
    job_ids: list[str] = field(default_factory=list)
    """What submitted jobs are called on the engine."""
    pod_logs: dict[str, str] = field(default_factory=dict)
    """Last lines of those that did not succeed."""
    best: dict[str, Any] | None = None


def header_of(engine: str) -> str:
    """Return the header line of an engine's summary."""
    return HEADERS[engine]


def run_summary(session: str, state: SessionState, engine: str) -> RunSummary:
    """Return what is said of a session that has ended."""
    counts = runner_counts(state.jobs)
    failures = state.failures()
    best = state.best(state.payload.get("direction", "maximize"))
    return RunSummary(
        session=session,
        engine=engine,
        total_jobs=counts.total_jobs,
        attempted_jobs=counts.attempted_jobs,
        success_jobs=counts.success_jobs,
        error_jobs=counts.error_jobs,
        skipped_jobs=counts.skipped_jobs,
        exit_code=counts.exit_code,
        states={name: state.counts[name] for name in FINAL},
        errors=[error_text(change) for change in failures],
        job_ids=[object_name(one.job_id) for one in state.jobs.values() if one.attempt > 0],
        pod_logs={one.job_id: "\n".join(one.log_tail) for one in failures if one.log_tail},
        best=None if best is None else {"job_id": best.job_id, "value": best.value},
    )


def error_text(change: JobChange) -> str:
    """Return how a job ended and why."""
    return f"{change.job_id}: {change.state}: {change.why}"


def summary_text(summary: RunSummary, header: str) -> str:
    """Return the summary as the predecessors' runners printed it."""
    lines = [
        *(RULE, header, RULE, ""),
        f"Total Jobs:     {summary.total_jobs}",
        f"Attempted:      {summary.attempted_jobs}",
        f"Success:        {summary.success_jobs}",
        f"Errors:         {summary.error_jobs}",
        f"Skipped:        {summary.skipped_jobs}",
        "",
        f"Exit Code:      {summary.exit_code}  ({ENDS[summary.exit_code]})",
        f"States:         {counts_text(summary.states)}",
        f"Session:        {summary.session}",
    ]
    if summary.best is not None:
        lines.append(f"Best:           {summary.best['job_id']} ({number(summary.best['value'])})")
    lines += _listed("Errors:", summary.errors, SHOWN_ERRORS, "errors")
    title = f"Submitted Jobs ({len(summary.job_ids)}):"
    lines += _listed(title, summary.job_ids, SHOWN_JOBS, "jobs")
    return "\n".join([*lines, "", RULE])


def _ray_text(ray: SessionRay) -> str:
    """Return how the Ray cluster fares, and the best that was trained."""
    if ray.reward_mean is None:
        return ray.line()
    return f"{ray.line()}, best mean reward {number(ray.reward_mean)} ({ray.checkpoint})"


def _listed(title: str, entries: list[str], most: int, what: str) -> list[str]:
    if not entries:
        return []
    shown = [f"  - {entry}" for entry in entries[:most]]
    more = len(entries) - most
    return ["", title, *shown, *([f"  ... and {more} more {what}"] if more > 0 else [])]


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the states that are not empty, in their order."""
    return ", ".join(f"{counts[name]} {name}" for name in STATES if counts.get(name)) or "none"


def progress_text(state: SessionState, max_parallel: int) -> str:
    """Return how far a session is, and how long it will take if jobs go on as they did; nothing before a few have."""
    counts = state.counts
    left = [change for change in state.jobs.values() if change.state not in FINAL]
    text = counts_text(counts)
    seconds = seconds_left(state, max_parallel)
    return f"{text}, about {duration(seconds)} left" if left and seconds is not None else text


def seconds_left(state: SessionState, max_parallel: int) -> float | None:
    """Return how long the rest will take if its jobs take the mean of those that ended; None: too few to tell."""
    took = [one.seconds for one in state.jobs.values() if one.state in FINAL and one.attempt > 0]
    left = sum(change.state not in FINAL for change in state.jobs.values())
    if len(took) < LEAST_FOR_ESTIMATE or not left:
        return None
    return math.fsum(took) / len(took) * math.ceil(left / max_parallel)


def print_state(session: str, state: SessionState, *, running: bool) -> None:
    """Print a session as it stands: jobs by state, failures with their last lines, the best so far."""
    out = console()
    claimed, ended = state.claimed, state.ended
    if state.ray is not None:
        out.print(_ray_text(state.ray), markup=False)
    if state.study is not None:
        out.print(f"{session}: {state.study.line()}", markup=False)
        if state.study.trial is not None:
            values = ", ".join(number(value) for value in state.study.best_score)
            out.print(f"best so far: trial {state.study.trial}, {values}", markup=False)
        return
    how = "not begun"
    if running:
        how = "running" if claimed is None else f"running on {claimed.engine}"
    elif ended is not None:
        how = ended.status
    elif claimed is not None:
        how = "its runner has died; `foresail session resume` goes on"
    out.print(f"{session}: {how}", markup=False)
    out.print(f"{state.total} jobs: {counts_text(state.counts)}", markup=False)
    best = state.best(state.payload.get("direction", "maximize"))
    if best is not None:
        out.print(f"best so far: {best.job_id}, {number(best.value or 0.0)}", markup=False)
    for change in state.failures()[:SHOWN_ERRORS]:
        out.print(f"  {error_text(change)}", markup=False, style="red")
        for line in change.log_tail:
            out.print(f"    {line}", markup=False, style="dim")
    more = len(state.failures()) - SHOWN_ERRORS
    if more > 0:
        out.print(f"  and {more} more that did not succeed")
