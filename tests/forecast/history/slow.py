"""Every feature computed the obvious way: one event and one row at a time, no array, no state.

It shares nothing with the fast code but the tables and the list of columns: what it finds is what
the columns' meanings say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from features.history import Anchors, Events, FeatureSet, Kind, MachineKind

HOUR_US = 3_600_000_000
IDLE_US = {"task": 6 * HOUR_US, "job": 24 * HOUR_US}
WEEK_US = 7 * 24 * HOUR_US
NAN = float("nan")
COUNTED_KINDS = {
    "submits": Kind.SUBMIT,
    "starts": Kind.SCHEDULE,
    "evicts": Kind.EVICT,
    "fails": Kind.FAIL,
    "finishes": Kind.FINISH,
    "kills": Kind.KILL,
}
ENDS = (Kind.EVICT, Kind.FAIL, Kind.FINISH, Kind.KILL)


@dataclass
class Seen:
    """One event, with what the attempt that it ends says."""

    time_us: int
    kind: int
    keys: dict[str, int | tuple[Any, ...]]
    running: int = 0
    cpu: int = 0
    memory: int = 0
    duration_us: int | None = None
    started_us: int = -1
    clean: bool = False
    first_of: set[str] = field(default_factory=set)


def slow_features(chosen: FeatureSet, events: Events, anchors: Anchors) -> Any:
    """Return (anchors, features) as float32."""
    tasks = _attempts(events)
    for key in ("task", "job"):
        if key in chosen.keys:
            _mark_firsts(tasks, key)
    jobs = [
        Seen(int(t), int(k), {"user_jobs": int(u), "name_jobs": int(n)})
        for t, k, u, n in zip(
            events.jobs.time_us, events.jobs.kind, events.jobs.user, events.jobs.name, strict=True
        )
    ]
    rows = []
    for place in range(len(anchors)):
        row = {name: getattr(anchors, name)[place].item() for name in _NAMES}
        rows.append(_row(chosen, row, tasks, jobs, events))
    return np.array(rows, dtype=np.float64).astype(np.float32)


_NAMES = tuple(Anchors.__dataclass_fields__)


def _keys(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "task": (row["job"], row["task"]),
        "job": row["job"],
        "user": row["user"],
        "name": row["name"],
        "machine": row["machine"],
        "cell": 0,
        "shape": _shape(row),
        "place": -1 if row["name"] == -1 else (row["name"], row["task"]),
        "slot": (_shape(row), row["task"]),
        "user_jobs": row["user"],
        "name_jobs": row["name"],
    }


def _shape(row: dict[str, Any]) -> tuple[Any, ...]:
    requests = [_millionths(row[name]) for name in ("cpu_request", "memory_request")]
    return (row["user"], *requests, row["priority"], row["scheduling_class"])


def _millionths(value: float) -> int:
    return -1 if math.isnan(value) else round(value * 1e6)


def _attempts(events: Events) -> list[Seen]:
    """Walk through task events; an attempt that ended unseen ends LOST."""
    table = events.tasks
    running: dict[tuple[int, int], dict[str, Any]] = {}
    seen: list[Seen] = []
    segment = 0

    def end(row: dict[str, Any], kind: int, time_us: int) -> None:
        start = row["time_us"]
        one = Seen(time_us, kind, _keys(row), -1)
        one.started_us = start
        one.cpu = -max(_millionths(row["cpu_request"]), 0)
        one.memory = -max(_millionths(row["memory_request"]), 0)
        if kind in ENDS and start > 0:
            one.duration_us = time_us - start
        seen.append(one)

    for place in range(len(table)):
        row = {n: getattr(table, n)[place].item() for n in table.__dataclass_fields__}
        task = (row["job"], row["task"])
        if row["segment"] != segment:
            segment = row["segment"]
            for open_row in running.values():
                end(open_row, Kind.LOST, row["time_us"])
            running.clear()
        if row["kind"] == Kind.SCHEDULE:
            if task in running:
                end(running[task], Kind.LOST, row["time_us"])
            running[task] = row
            cpu, memory = (max(_millionths(row[f"{n}_request"]), 0) for n in ("cpu", "memory"))
            seen.append(Seen(row["time_us"], row["kind"], _keys(row), 1, cpu, memory))
            seen[-1].started_us = row["time_us"]
        elif row["kind"] != Kind.SUBMIT and task in running:
            origin = running.pop(task)
            taken = ("time_us", "machine", "cpu_request", "memory_request")
            end(row | {n: origin[n] for n in taken}, row["kind"], row["time_us"])
        else:
            seen.append(Seen(row["time_us"], row["kind"], _keys(row)))
    return seen


def _events_since_new(seen: list[Seen], key: str, value: Any, before_us: int | None) -> list[Seen]:
    """Return a key's events before a time, from the last one on at which it was new."""
    idle_us = IDLE_US.get(key, WEEK_US)
    kept: list[Seen] = []
    running = 0
    for one in seen:
        if one.keys[key] != value or (before_us is not None and one.time_us >= before_us):
            continue
        if kept and one.time_us - kept[-1].time_us > idle_us and running <= 0:
            kept = []
        kept.append(one)
        running += one.running
    if kept and before_us is not None and before_us - kept[-1].time_us > idle_us and running <= 0:
        return []
    return kept


def _mark_firsts(seen: list[Seen], key: str) -> None:
    """Mark a task's or job's first start and first failure, and attempts begun before the latter."""
    for value in {one.keys[key] for one in seen}:
        mine = [one for one in seen if one.keys[key] == value]
        for place, one in enumerate(mine):
            events = _events_since_new(mine[: place + 1], key, value, None)
            for kind, name in ((Kind.SCHEDULE, "new"), (Kind.FAIL, "failed")):
                count = [other.kind for other in events].count(kind)
                if count == 1 and one.kind == kind:
                    one.first_of.add(f"{name}_{key}s")
            if key == "job":
                fails = [max(other.time_us, 1) for other in events if other.kind == Kind.FAIL]
                one.clean = not fails or fails[0] >= one.started_us


def _row(
    chosen: FeatureSet, row: dict[str, Any], tasks: list[Seen], jobs: list[Seen], events: Events
) -> list[float]:
    keys = _keys(row)
    values: dict[str, float] = {}
    for key in keys:
        known = jobs if key.endswith("_jobs") else tasks
        mine = _events_since_new(known, key, keys[key], row["time_us"])
        values |= {
            f"{key}_{name}": (NAN if keys[key] == -1 else value)
            for name, value in _block(mine, row["time_us"]).items()
        }
    values |= _own(row, tasks, events)
    values = {name: float(np.float32(value)) for name, value in values.items()}
    values |= _ratios(values)
    return [values[name] for name in chosen.names]


def _block(mine: list[Seen], now_us: int) -> dict[str, float]:
    values: dict[str, float] = {}
    for window in (None, 5, 15, 60, 360):
        begin = -1 if window is None else now_us - window * 60_000_000
        inside = [one for one in mine if one.time_us >= begin]
        end = "" if window is None else f"_{window}m"
        for name, kind in COUNTED_KINDS.items():
            values[name + end] = sum(one.kind == kind for one in inside)
        quick = [one for one in inside if one.duration_us is not None]
        quick = [one for one in quick if one.duration_us <= 900_000_000]
        values["quick_ends" + end] = len(quick)
        values["quick_fails" + end] = sum(one.kind == Kind.FAIL for one in quick)
        for name in ("failed_tasks", "failed_jobs", "new_tasks", "new_jobs"):
            values[name + end] = sum(name in one.first_of for one in inside)
    for name, kind in zip(
        ("submit", "start", "evict", "fail", "finish", "kill"), range(6), strict=True
    ):
        times = [one.time_us for one in mine if one.kind == kind and one.time_us > 0]
        values[f"since_{name}_seconds"] = (now_us - times[-1]) / 1e6 if times else NAN
    return values | _rates(mine, now_us)


def _rates(mine: list[Seen], now_us: int) -> dict[str, float]:
    ends = [one for one in mine if one.kind in ENDS]
    fails = sum(one.kind == Kind.FAIL for one in mine)
    starts = sum(one.kind == Kind.SCHEDULE for one in mine)
    timed = [one.duration_us for one in mine if one.duration_us is not None]
    failed = [
        one.duration_us for one in mine if one.duration_us is not None and one.kind == Kind.FAIL
    ]
    quick = sum(duration <= 900_000_000 for duration in failed)
    weights = [0.5 ** (place / 5) for place in range(len(ends))][:64]
    newest = [end.kind == Kind.FAIL for end in reversed(ends)][:64]
    weighted = math.fsum(w for w, failure in zip(weights, newest, strict=True) if failure)
    first_us = mine[0].time_us if mine else 0
    firsts = [name for one in mine for name in one.first_of]
    tasks, jobs = firsts.count("new_tasks"), firsts.count("new_jobs")
    clean = [one for one in mine if one.clean]
    clean_starts = sum(one.kind == Kind.SCHEDULE for one in clean)
    clean_fails = [one for one in clean if one.kind == Kind.FAIL and one.duration_us is not None]
    clean_quick = sum(fail.duration_us <= 900_000_000 for fail in clean_fails)
    return {
        "clean_fail_rate": clean_quick / clean_starts if clean_starts else NAN,
        "failed_task_share": firsts.count("failed_tasks") / tasks if tasks else NAN,
        "failed_job_share": firsts.count("failed_jobs") / jobs if jobs else NAN,
        "running": max(sum(one.running for one in mine), 0),
        "last_end_kind": ends[-1].kind if ends else NAN,
        "last_duration_seconds": timed[-1] / 1e6 if timed else NAN,
        "last_fail_duration_seconds": failed[-1] / 1e6 if failed else NAN,
        "mean_log2_duration": _mean_log2(timed),
        "mean_log2_fail_duration": _mean_log2(failed),
        "fails_per_start": fails / starts if starts else NAN,
        "fails_per_end": fails / len(ends) if ends else NAN,
        "quick_fails_per_start": quick / starts if starts else NAN,
        "recent_fail_rate": weighted / math.fsum(weights) if ends else NAN,
        "age_seconds": (now_us - first_us) / 1e6 if first_us > 0 else NAN,
    }


def _mean_log2(durations_us: list[int]) -> float:
    """Return the mean of the stated approximation: exact powers of two, a parabola between."""
    if not durations_us:
        return NAN
    total = 0
    for duration_us in durations_us:
        mantissa, exponent = math.frexp(max(duration_us / 1e6, 1.0))
        part = 2 * mantissa - 1
        total += round((exponent - 1 + part + 0.3437 * part * (1 - part)) * 2**20)
    return total / len(durations_us) / 2**20


def _own(row: dict[str, Any], tasks: list[Seen], events: Events) -> dict[str, float]:
    now_us, machine = row["time_us"], row["machine"]
    cpus = memory = added = removed = NAN
    removals = 0
    table = events.machines
    for place in range(len(table)):
        if table.machine[place] != machine or table.time_us[place] >= now_us:
            continue
        cpus = cpus if np.isnan(table.cpus[place]) else round(float(table.cpus[place]) * 1e6) / 1e6
        if not np.isnan(table.memory[place]):
            memory = round(float(table.memory[place]) * 1e6) / 1e6
        time_us = int(table.time_us[place])
        if table.kind[place] == MachineKind.ADD and time_us > 0:
            added = time_us
        if table.kind[place] == MachineKind.REMOVE:
            removals += 1
            removed = time_us if time_us > 0 else removed
    here = [] if machine < 0 else _events_since_new(tasks, "machine", machine, now_us)
    free_cpus = cpus - sum(one.cpu for one in here) / 1e6
    free_memory = memory - sum(one.memory for one in here) / 1e6
    asked = [_millionths(row[f"{name}_request"]) for name in ("cpu", "memory")]
    cpu, ram = (value / 1e6 if value >= 0 else NAN for value in asked)
    start, seen = row["attempt_start_us"], row["seen_since_us"]
    return {
        "cpu_request": cpu,
        "memory_request": ram,
        "priority": row["priority"],
        "scheduling_class": row["scheduling_class"] if row["scheduling_class"] >= 0 else NAN,
        "different_machines": row["different_machines"] if row["different_machines"] >= 0 else NAN,
        "task_index": row["task"],
        "attempt_age_seconds": (now_us - start) / 1e6 if start > 0 else NAN,
        "known_age_seconds": (now_us - start) / 1e6 if start > max(0, seen) else NAN,
        "seen_seconds": (now_us - max(seen, start)) / 1e6 if max(seen, start) > 0 else NAN,
        "machine_cpus": cpus,
        "machine_memory": memory,
        "machine_free_cpus": free_cpus,
        "machine_free_memory": free_memory,
        "machine_free_cpu_ratio": free_cpus / cpus,
        "machine_free_memory_ratio": free_memory / memory,
        "cpu_request_ratio": cpu / cpus,
        "memory_request_ratio": ram / memory,
        "machine_age_seconds": (now_us - added) / 1e6,
        "machine_removals": removals,
        "machine_since_removal_seconds": (now_us - removed) / 1e6,
    }


def _ratios(values: dict[str, float]) -> dict[str, float]:
    """Return the columns made of others, each written out by hand."""

    def zero(name: str) -> float:
        return 0.0 if np.isnan(values[name]) else values[name]

    def at_least(name: str, least: float) -> float:
        return NAN if np.isnan(values[name]) else max(values[name], least)

    age = values["known_age_seconds"]
    log2_age = NAN if np.isnan(age) else _mean_log2([round(age * 1e6)])
    running = max(1.0, zero("job_running"))
    quarters = max(60.0, zero("job_age_seconds")) / 900
    ratios = {
        "job_fail_pace": zero("job_fails") / (running * quarters),
        "age_to_job_fail_log2": log2_age - values["job_mean_log2_fail_duration"],
        "age_to_job_end_log2": log2_age - values["job_mean_log2_duration"],
        "age_to_user_fail_log2": log2_age - values["user_mean_log2_fail_duration"],
        "left_to_job_last_fail_seconds": values["job_last_fail_duration_seconds"] - age,
        "since_fail_share": values["job_since_fail_seconds"] / at_least("job_age_seconds", 1.0),
        "age_share": age / at_least("job_age_seconds", 1.0),
    }
    for minutes in (15, 60):
        for key, there in (("job", running), ("user", 1.0)):
            ratios[f"{key}_fails_per_attempt_{minutes}m"] = zero(f"{key}_fails_{minutes}m") / (
                there + zero(f"{key}_starts_{minutes}m")
            )
    return ratios
