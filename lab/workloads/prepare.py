"""Write a real trace, from its busiest hour onward or whole, as a workload file for the twin.

Guarantee: names, times between arrivals, requests, durations and outcomes are the trace's own;
the same trace, size and seed give the same file. What the trace does not hold (usage) is drawn
per pod from the documented quantiles of another trace, and the description says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from bus.errors import InputError
from lab.traces.registry import read_workload_trace
from lab.traces.workload_trace import SECONDS_PER_HOUR, WorkloadTrace
from lab.workloads.thinning import every_kth, sample_machines
from twin.port.workloads import (
    CARRIED_IN_SECONDS,
    FITTED,
    LargestNode,
    NodeShape,
    Usage,
    UsageWindow,
    WorkloadArrival,
    at_rank,
    carried_in_time,
    load_model,
    write_trace_file,
)

GPU_MODEL_LABEL = "foresail.dev/gpu-model"
SHAPE_LABEL = "node.kubernetes.io/instance-type"
CLASS_LABEL = "foresail.dev/workload-class"
GENERAL_USAGE = "openb"
"""The fitted model whose use is drawn for a trace that nothing was fitted to."""


@dataclass(frozen=True, slots=True)
class PreparedWorkload:
    """A workload file and what it holds, one sentence a line."""

    path: Path
    description: list[str]


@dataclass(frozen=True, slots=True)
class TracePart:
    """A trace cut to a cluster of some size: machines, arrivals, and how they were chosen."""

    machines: list[NodeShape]
    arrivals: list[WorkloadArrival]
    description: list[str]


def prepare(
    name: str, data_dir: Path, out_file: Path, *, nodes: int, seed: int
) -> PreparedWorkload:
    """Convert trace `name` (see `lab.traces.registry`) in `data_dir` to `out_file` (.jsonl).

    `nodes` is the cluster's size. Raises InputError for an unknown name, a missing trace file or
    a bad size.
    """
    trace = read_workload_trace(name, data_dir)
    start = trace.busiest_hour()[0] * SECONDS_PER_HOUR
    part = cut_trace(trace, nodes=nodes, seed=seed, start_seconds=start)
    write_trace_file(out_file, part.machines, part.arrivals, part.description)
    return PreparedWorkload(path=out_file, description=part.description)


def cut_trace(trace: WorkloadTrace, *, nodes: int, seed: int, start_seconds: float) -> TracePart:
    """Take `nodes` machines and their share of the pods, from `start_seconds` of the trace on.

    Raises InputError for a bad size.
    """
    if nodes < 1:
        raise InputError(field="nodes", value=nodes, remedy="give 1 or more")
    chosen = sample_machines(trace.nodes, nodes, Random(f"{seed}/nodes"))
    machines = [machine_of(row) for row in chosen.iter_rows(named=True)]
    share = min(1.0, len(machines) / trace.reference_nodes)
    usage = load_model(trace.name if trace.name in FITTED else GENERAL_USAGE).usage
    arrivals = list(_arrivals(trace, start_seconds, share, seed, usage))
    room = LargestNode(machines)
    chosen_arrivals = [arrival for arrival in arrivals if room.holds(arrival)]
    description = _describe(trace, start_seconds, machines, share, chosen_arrivals, usage)
    if len(chosen_arrivals) < len(arrivals):
        lost = len(arrivals) - len(chosen_arrivals)
        description.append(f"{lost} pods left out: none of the sampled machines could hold them")
    return TracePart(machines, chosen_arrivals, description)


def machine_of(row: dict[str, Any]) -> NodeShape:
    """Return a machine of a trace (`NODE_COLUMNS`) as a node."""
    labels = {SHAPE_LABEL: row["shape"]}
    if row["gpu_model"]:
        labels[GPU_MODEL_LABEL] = row["gpu_model"]
    return NodeShape(
        name=row["name"],
        cpu_millicores=row["cpu_millicores"],
        memory_bytes=row["memory_bytes"],
        gpus=row["gpus"],
        labels=labels,
    )


def _arrivals(
    trace: WorkloadTrace, start: float, share: float, seed: int, usage: Usage
) -> Iterator[WorkloadArrival]:
    running = trace.running_at(start).sort("cpu_millicores", "memory_bytes", "name")
    chosen = every_kth(range(len(running)), share, Random(f"{seed}/carried-in"))
    carried = list(running[chosen].iter_rows(named=True))
    Random(f"{seed}/carried-in-order").shuffle(carried)
    for index, row in enumerate(carried):
        if row["left_seconds"] is not None:
            row["ran_seconds"] = row["running_seconds"] - row["left_seconds"]
            row["running_seconds"] = row["left_seconds"]
        yield _arrival(carried_in_time(index, len(carried)), row, trace, usage, seed)
    later = trace.pods.filter(pl.col("arrive_seconds") >= start).sort("arrive_seconds", "name")
    chosen = every_kth(range(len(later)), share, Random(f"{seed}/arrivals"))
    earliest = CARRIED_IN_SECONDS if carried else 0.0
    for row in later[chosen].iter_rows(named=True):
        since = row["arrive_seconds"] - start
        yield _arrival(max(since, earliest), row, trace, usage, seed)


def _arrival(
    time_seconds: float, row: dict[str, Any], trace: WorkloadTrace, usage: Usage, seed: int
) -> WorkloadArrival:
    entry = next(known for known in trace.classes if known.name == row["class_name"])
    rng = Random(f"{seed}/usage/{row['name']}")
    goes_on = row["end_seconds"] is None
    cpu_ratio = round(at_rank(usage.cpu_ratio_quantiles, rng.random()), 4)
    memory_ratio = round(at_rank(usage.memory_ratio_quantiles, rng.random()), 4)
    windows = tuple(
        UsageWindow(seconds, ratio, memory_ratio)
        for seconds, ratio in _later(
            trace.cpu_windows.get(row["name"], ()), row.get("ran_seconds", 0.0)
        )
    )
    return WorkloadArrival(
        time_seconds=round(time_seconds, 6),
        name=row["name"],
        kind="service" if entry.kind == "service" else "task",
        cpu_request_millicores=row["cpu_millicores"],
        memory_request_bytes=row["memory_bytes"],
        gpus=row["gpus"],
        cpu_usage_ratio=cpu_ratio,
        memory_usage_ratio=memory_ratio,
        duration_seconds=None if goes_on else round(row["running_seconds"], 6),
        outcome=row["outcome"],
        priority=entry.priority,
        labels={CLASS_LABEL: entry.name},
        namespace=trace.name,
        usage_windows=windows,
    )


def _later(
    windows: Sequence[tuple[float, float]], ran_seconds: float
) -> Iterator[tuple[float, float]]:
    """What is left of `windows` after `ran_seconds` of them."""
    for seconds, ratio in windows:
        left = seconds - max(ran_seconds, 0.0)
        ran_seconds -= seconds
        if left > 0:
            yield round(min(left, seconds), 3), ratio


def _describe(
    trace: WorkloadTrace,
    start: float,
    machines: list[NodeShape],
    share: float,
    arrivals: list[WorkloadArrival],
    usage: Usage,
) -> list[str]:
    carried = len(trace.running_at(start)) and sum(
        entry.time_seconds < CARRIED_IN_SECONDS for entry in arrivals
    )
    hours = arrivals[-1].time_seconds / SECONDS_PER_HOUR if arrivals else 0.0
    held_out = (
        "about 20 % of the trace's pods were held out of the files, so loads are about 80 % of "
    )
    return [
        f"trace {trace.name}, real pods by name {_since(trace, start)}, {hours:.1f} h",
        f"{len(machines)} of {len(trace.nodes)} machines, every shape in its share",
        trace.reference_note,
        (
            f"pods: share {share:.4f} kept, every {1 / share:.1f}th (carried-in in order of size, "
            "arrivals in order of time)"
        ),
        (
            f"{carried} pods already ran and arrive in the first {CARRIED_IN_SECONDS:.0f} s, "
            f"{len(arrivals) - carried} arrive later; left out: {trace.dropped}"
        ),
        f"usage: {usage.source}",
        held_out + "the recorded ones",
    ]


def _since(trace: WorkloadTrace, start: float) -> str:
    hour, count = trace.busiest_hour()
    if start == hour * SECONDS_PER_HOUR:
        why = "busiest" if trace.busiest_by == "arrivals" else "fullest"
        return f"from hour {hour}, its {why} ({count} arrivals), to its end"
    return f"from second {start:.0f} to its end"
