"""Write a real trace, from its busiest hour onward, as a workload file for the twin.

Guarantee: names, times between arrivals, requests, durations and outcomes are the trace's own;
the same trace, size and seed give the same file. What the trace does not hold (usage) is drawn
per pod from the documented quantiles of another trace, and the description says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from bus.errors import InputError
from lab.workloads.thinning import every_kth, sample_machines
from lab.workloads.trace import SECONDS_PER_HOUR, Trace
from lab.workloads.traces import read_trace
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.catalog import load_model
from twin.workloads.model import Usage
from twin.workloads.quantiles import at_rank
from twin.workloads.trace_file import write_trace_file
from twin.workloads.workload import CARRIED_IN_SECONDS, carried_in_time

GPU_MODEL_LABEL = "foresail.dev/gpu-model"
SHAPE_LABEL = "node.kubernetes.io/instance-type"
CLASS_LABEL = "foresail.dev/workload-class"


@dataclass(frozen=True, slots=True)
class PreparedWorkload:
    """A workload file and what it holds, one sentence a line."""

    path: Path
    description: list[str]


def prepare(
    name: str, data_dir: Path, out_file: Path, *, nodes: int, seed: int
) -> PreparedWorkload:
    """Convert trace `name` (openb or google2011) in `data_dir` to `out_file` (.jsonl).

    `nodes` is the cluster's size. Raises InputError for an unknown name, a missing trace file or
    a bad size.
    """
    if nodes < 1:
        raise InputError(field="nodes", value=nodes, remedy="give 1 or more")
    trace = read_trace(name, data_dir)
    machines = sample_machines(trace.nodes, nodes, Random(f"{seed}/nodes"))
    share = min(1.0, len(machines) / trace.reference_nodes)
    usage = load_model(name).usage
    arrivals = list(_arrivals(trace, share, seed, usage))
    description = _describe(trace, machines, share, arrivals, usage)
    write_trace_file(out_file, map(_machine, machines.iter_rows(named=True)), arrivals, description)
    return PreparedWorkload(path=out_file, description=description)


def _machine(row: dict[str, Any]) -> NodeShape:
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


def _arrivals(trace: Trace, share: float, seed: int, usage: Usage) -> Iterator[WorkloadArrival]:
    start = trace.busiest_hour()[0] * SECONDS_PER_HOUR
    running = trace.running_at(start).sort("cpu_millicores", "memory_bytes", "name")
    kept = every_kth(range(len(running)), share, Random(f"{seed}/carried-in"))
    carried = list(running[kept].iter_rows(named=True))
    Random(f"{seed}/carried-in-order").shuffle(carried)
    for index, row in enumerate(carried):
        row["running_seconds"] = row["left_seconds"]
        yield _arrival(carried_in_time(index, len(carried)), row, trace, usage, seed)
    later = trace.pods.filter(pl.col("arrive_seconds") >= start).sort("arrive_seconds", "name")
    kept = every_kth(range(len(later)), share, Random(f"{seed}/arrivals"))
    for row in later[kept].iter_rows(named=True):
        since = row["arrive_seconds"] - start
        yield _arrival(max(since, CARRIED_IN_SECONDS), row, trace, usage, seed)


def _arrival(
    time_seconds: float,
    row: dict[str, Any],
    trace: Trace,
    usage: Usage,
    seed: int,
) -> WorkloadArrival:
    entry = next(known for known in trace.classes if known.name == row["class_name"])
    rng = Random(f"{seed}/usage/{row['name']}")
    goes_on = row["end_seconds"] is None
    return WorkloadArrival(
        time_seconds=round(time_seconds, 6),
        name=row["name"],
        kind="service" if entry.kind == "service" else "task",
        cpu_request_millicores=row["cpu_millicores"],
        memory_request_bytes=row["memory_bytes"],
        gpus=row["gpus"],
        cpu_usage_ratio=round(at_rank(usage.cpu_ratio_quantiles, rng.random()), 4),
        memory_usage_ratio=round(at_rank(usage.memory_ratio_quantiles, rng.random()), 4),
        duration_seconds=None if goes_on else round(row["running_seconds"], 6),
        outcome=row["outcome"],
        priority=entry.priority,
        labels={CLASS_LABEL: entry.name},
        namespace=trace.name,
    )


def _describe(
    trace: Trace,
    machines: pl.DataFrame,
    share: float,
    arrivals: list[WorkloadArrival],
    usage: Usage,
) -> list[str]:
    hour, count = trace.busiest_hour()
    carried = sum(entry.time_seconds < CARRIED_IN_SECONDS for entry in arrivals)
    hours = arrivals[-1].time_seconds / SECONDS_PER_HOUR if arrivals else 0.0
    return [
        (
            f"trace {trace.name}, real pods by name from hour {hour}, its busiest "
            f"({count} arrivals), to its end {hours:.1f} h later"
        ),
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
        f"usage is not in this trace: {usage.source}",
        (
            "about 20 % of the trace's pods were held out of the files, so loads are about 80 % of "
            "the recorded ones"
        ),
    ]
