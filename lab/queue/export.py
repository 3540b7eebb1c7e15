"""A log about queues in the predecessors' forms: their SQLite schema, and their CSV of training data.

Their units: cores, GiB, minutes. Times are UTC. What nobody measured is NULL, or an empty cell.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.queue.history import JobEvent, QueueHistory
from schemas.envelope import rfc3339
from schemas.queue import QueueChoice, QueueJob, QueueState

GIB = 2**30
SCHEMA = """
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY, name TEXT NOT NULL, namespace TEXT NOT NULL, submission_time TIMESTAMP,
    start_time TIMESTAMP, completion_time TIMESTAMP, cpu_request REAL, memory_request REAL, cpu_limit REAL,
    memory_limit REAL, priority INTEGER, user_name TEXT, queue_name TEXT, status TEXT, job_type TEXT,
    restart_count INTEGER DEFAULT 0, oom_killed BOOLEAN DEFAULT 0, metadata TEXT);
CREATE TABLE cluster_states (
    id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TIMESTAMP NOT NULL, total_cpu_capacity REAL,
    total_memory_capacity REAL, available_cpu REAL, available_memory REAL, pending_jobs_count INTEGER,
    running_jobs_count INTEGER, queue_length INTEGER, node_count INTEGER, avg_cpu_utilization REAL,
    avg_memory_utilization REAL, metadata TEXT);
CREATE TABLE scheduling_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TIMESTAMP NOT NULL, job_id TEXT NOT NULL,
    event_type TEXT NOT NULL, scheduler_name TEXT, queue_wait_time REAL, resource_efficiency REAL,
    decision_metadata TEXT, FOREIGN KEY (job_id) REFERENCES jobs (job_id));
CREATE TABLE metrics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TIMESTAMP NOT NULL, metric_name TEXT NOT NULL,
    metric_value REAL, metric_type TEXT, tags TEXT);
CREATE INDEX idx_jobs_status ON jobs(status);
CREATE INDEX idx_jobs_submission ON jobs(submission_time);
CREATE INDEX idx_cluster_timestamp ON cluster_states(timestamp);
CREATE INDEX idx_events_job ON scheduling_events(job_id);
CREATE INDEX idx_metrics_name ON metrics(metric_name, timestamp);
"""
CSV_COLUMNS = (
    "job_id",
    "job_name",
    "job_cpu_request",
    "job_memory_request",
    "job_priority",
    "job_type",
    "cluster_cpu_available",
    "cluster_memory_available",
    "cluster_cpu_utilization",
    "cluster_memory_utilization",
    "cluster_queue_length",
    "cluster_running_jobs",
    "job_status",
    "execution_success",
    "oom_occurred",
    "submission_timestamp",
    "wait_time_minutes",
    "execution_time_minutes",
)
Row = Mapping[str, Any]


def write_sqlite(history: QueueHistory, path: Path) -> dict[str, int]:
    """Write a new database; return the rows of each table.

    Raises:
        InputError: the file exists or cannot be written.
    """
    _check_new(path)
    choices = {one.admits: one for one in history.choices if one.admits is not None}
    tables = {
        "jobs": [_job(job) for job in history.jobs.values()],
        "cluster_states": [_cluster(state) for state in history.states],
        "scheduling_events": [
            _event(event, choices.get(event.job.name)) for event in history.events
        ],
        "metrics": [row for state in history.states for row in _gauges(state)],
    }
    try:
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(SCHEMA)
            for table, rows in tables.items():
                for row in rows:
                    marks = ", ".join(f":{name}" for name in row)
                    database.execute(
                        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})",  # noqa: S608 - names of ours
                        row,
                    )
    except sqlite3.Error as error:
        raise InputError("--sqlite", path, f"give a file that can be written ({error})") from error
    return {table: len(rows) for table, rows in tables.items()}


def write_csv(history: QueueHistory, path: Path) -> int:
    """Write a new CSV file of training data, a row for each Job; return how many.

    Raises:
        InputError: the file exists or cannot be written.
    """
    _check_new(path, "--csv")
    rows = training_rows(history)
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        remedy = f"give a file that can be written ({error.strerror})"
        raise InputError("--csv", path, remedy) from error
    return len(rows)


def training_rows(history: QueueHistory) -> list[Row]:
    """Return a row for each Job with the cluster as it was at the last look before it came.

    The predecessors take the look that is nearest in time, which may be one after the Job has started.
    """
    times = [state.cluster_time_seconds for state in history.states]
    rows: list[Row] = []
    for job in history.jobs.values():
        place = max(0, bisect_right(times, job.submission_time_seconds) - 1)
        state = history.states[place] if history.states else None
        rows.append({**_of_job(job), **_around(state), **_outcome(job)})
    return rows


def _of_job(job: QueueJob) -> Row:
    return {
        "job_id": job.job_id,
        "job_name": job.name,
        "job_cpu_request": job.cpu_request_cores,
        "job_memory_request": _gib(job.memory_request_bytes),
        "job_priority": job.priority,
        "job_type": job.job_type,
    }


def _around(state: QueueState | None) -> Row:
    if state is None:
        return {}
    return {
        "cluster_cpu_available": state.cpu_allocatable_cores - state.cpu_requested_cores,
        "cluster_memory_available": _available_gib(state),
        "cluster_cpu_utilization": state.cpu_used_ratio,
        "cluster_memory_utilization": state.memory_used_ratio,
        "cluster_queue_length": state.queue_length,
        "cluster_running_jobs": state.jobs_running,
    }


def _outcome(job: QueueJob) -> Row:
    started, ended = job.start_time_seconds, job.completion_time_seconds
    return {
        "job_status": job.status,
        "execution_success": int(job.status == "Succeeded"),
        "oom_occurred": int(job.oom_kills > 0),
        "submission_timestamp": rfc3339(job.submission_time_seconds),
        "wait_time_minutes": _minutes(job.submission_time_seconds, started),
        "execution_time_minutes": None if started is None else _minutes(started, ended),
    }


def _job(job: QueueJob) -> Row:
    more = {
        "pods": job.pods,
        "admission_time": _moment(job.admission_time_seconds),
        "estimated_minutes": None if job.estimated_seconds is None else job.estimated_seconds / 60,
        "oom_kills": job.oom_kills,
        "failure": job.failure,
    }
    return {
        "job_id": job.job_id,
        "name": job.name,
        "namespace": job.namespace,
        "submission_time": rfc3339(job.submission_time_seconds),
        "start_time": _moment(job.start_time_seconds),
        "completion_time": _moment(job.completion_time_seconds),
        "cpu_request": job.cpu_request_cores,
        "memory_request": _gib(job.memory_request_bytes),
        "cpu_limit": job.cpu_limit_cores,
        "memory_limit": _gib(job.memory_limit_bytes),
        "priority": job.priority,
        "user_name": job.user_name,
        "queue_name": job.queue_name,
        "status": job.status,
        "job_type": job.job_type,
        "restart_count": job.restart_count,
        "oom_killed": int(job.oom_kills > 0),
        "metadata": json.dumps(more),
    }


def _cluster(state: QueueState) -> Row:
    more = {"look": state.look, "missing": state.missing, "suspended": state.jobs_suspended}
    return {
        "timestamp": rfc3339(state.cluster_time_seconds),
        "total_cpu_capacity": state.cpu_allocatable_cores,
        "total_memory_capacity": _gib(state.memory_allocatable_bytes),
        "available_cpu": state.cpu_allocatable_cores - state.cpu_requested_cores,
        "available_memory": _available_gib(state),
        "pending_jobs_count": state.jobs_pending,
        "running_jobs_count": state.jobs_running,
        "queue_length": state.queue_length,
        "node_count": state.nodes,
        "avg_cpu_utilization": state.cpu_used_ratio,
        "avg_memory_utilization": state.memory_used_ratio,
        "metadata": json.dumps(more),
    }


def _event(event: JobEvent, choice: QueueChoice | None) -> Row:
    """Return a step's row; an admission that a policy chose, or would have chosen, says so."""
    job = event.job
    more: dict[str, Any] = {
        "status": job.status, "queue": job.queue_name, "failure": job.failure
    }  # fmt: skip
    if choice is not None and event.type == "admitted":
        second = None if choice.runner_up is None else choice.name_of(choice.runner_up)
        more |= {"policy": choice.policy, "means": choice.means, "runner_up": second}
    return {
        "timestamp": rfc3339(event.time_seconds),
        "job_id": job.job_id,
        "event_type": event.type,
        "scheduler_name": job.scheduler,
        "queue_wait_time": event.time_seconds - job.submission_time_seconds,
        "resource_efficiency": None,  # theirs is 0.8 for every job; nobody measures a job's own use
        "decision_metadata": json.dumps(more),
    }


def _gauges(state: QueueState) -> Iterator[Row]:
    values = {
        "cluster_cpu_utilization": state.cpu_used_ratio,
        "cluster_memory_utilization": state.memory_used_ratio,
        "cluster_running_jobs": state.jobs_running,
        "cluster_oom_rate": state.oom_kills_last_hour,
    }
    for name, value in values.items():
        yield {
            "timestamp": rfc3339(state.cluster_time_seconds),
            "metric_name": name,
            "metric_value": value,
            "metric_type": "gauge",
            "tags": "{}",
        }


def _check_new(path: Path, flag: str = "--sqlite") -> None:
    if path.exists():
        raise InputError(flag, path, "give a new file; nothing is overwritten")


def _available_gib(state: QueueState) -> float:
    return (state.memory_allocatable_bytes - state.memory_requested_bytes) / GIB


def _gib(amount: int | None) -> float | None:
    return None if amount is None else amount / GIB


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)


def _minutes(since: float, until: float | None) -> float | None:
    return None if until is None else (until - since) / 60
