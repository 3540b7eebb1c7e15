"""Compare the shipped models with the traces they were fitted from.

    python -m lab.workloads.check --data DIR [--nodes N]

For each trace: arrivals in the busiest hour and per hour over the days around it, requested load
when the window opens and an hour later, durations and the share of failures. The model's figures
are means over five seeds, played without limits of capacity, as the trace's are read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import fsum
from pathlib import Path
from statistics import median, quantiles

import polars as pl
from rich.console import Console
from rich.table import Table

from bus.errors import InputError
from lab.traces.registry import read_workload_trace, workload_names
from lab.traces.workload_trace import SECONDS_PER_HOUR, WorkloadTrace
from lab.workloads.figures import OPEN_RUN_SECONDS
from lab.workloads.fit import pods_around
from twin.port.workloads import CARRIED_IN_SECONDS, WorkloadArrival, load_model, open_workload

SEEDS = (1, 2, 3, 4, 5)
HOURS_PLAYED = 24


@dataclass(frozen=True, slots=True)
class Figures:
    """What is compared, for a reference cluster; durations of pods that ended in the trace."""

    busiest_hour_arrivals: float
    arrivals_per_hour: float
    cpu_ratio: float
    memory_ratio: float
    cpu_ratio_after_hour: float
    memory_ratio_after_hour: float
    duration_median_seconds: float
    duration_p90_seconds: float
    failure_share: float


def trace_figures(trace: WorkloadTrace) -> Figures:
    """Figures of the trace, scaled to its reference cluster."""
    hour, busiest = trace.busiest_hour()
    start = hour * SECONDS_PER_HOUR
    near, covered_hours = pods_around(trace, start)
    density = len(trace.nodes) / trace.reference_nodes
    cpu, memory = trace.load_ratio(start)
    later_cpu, later_memory = trace.load_ratio(start + SECONDS_PER_HOUR)
    ended = near.filter(pl.col("end_seconds").is_not_null())["running_seconds"].to_list()
    return Figures(
        busiest_hour_arrivals=busiest,
        arrivals_per_hour=len(near) / covered_hours,
        cpu_ratio=cpu * density,
        memory_ratio=memory * density,
        cpu_ratio_after_hour=later_cpu * density,
        memory_ratio_after_hour=later_memory * density,
        duration_median_seconds=median(ended),
        duration_p90_seconds=quantiles(ended, n=10)[-1],
        failure_share=len(near.filter(pl.col("outcome") == "fail")) / len(near),
    )


def model_figures(name: str, *, nodes: int, seed: int) -> Figures:
    """Figures of one play of the shipped model at `nodes` nodes, scaled to its reference."""
    workload = open_workload(name, nodes=nodes, seed=seed)
    scale = load_model(name).reference_nodes / nodes
    end = HOURS_PLAYED * SECONDS_PER_HOUR
    played = list(takewhile(lambda entry: entry.time_seconds < end, workload.arrivals))
    arrivals = [entry for entry in played if entry.time_seconds >= CARRIED_IN_SECONDS]
    cores = sum(node.cpu_millicores for node in workload.nodes)
    memory = sum(node.memory_bytes for node in workload.nodes)
    ratios = []
    for seconds in (CARRIED_IN_SECONDS, SECONDS_PER_HOUR):
        there = [entry for entry in played if _runs_at(entry, seconds)]
        ratios.append(sum(entry.cpu_request_millicores for entry in there) / cores)
        ratios.append(sum(entry.memory_request_bytes for entry in there) / memory)
    lasting = (entry.duration_seconds for entry in arrivals)
    durations = [value for value in lasting if value is not None and value != OPEN_RUN_SECONDS]
    first_hour = sum(entry.time_seconds < SECONDS_PER_HOUR for entry in arrivals)
    return Figures(
        busiest_hour_arrivals=first_hour * scale,
        arrivals_per_hour=len(arrivals) * scale / HOURS_PLAYED,
        cpu_ratio=ratios[0],
        memory_ratio=ratios[1],
        cpu_ratio_after_hour=ratios[2],
        memory_ratio_after_hour=ratios[3],
        duration_median_seconds=median(durations),
        duration_p90_seconds=quantiles(durations, n=10)[-1],
        failure_share=sum(entry.outcome == "fail" for entry in arrivals) / len(arrivals),
    )


def _runs_at(entry: WorkloadArrival, seconds: float) -> bool:
    lasting = entry.duration_seconds
    ended = lasting is not None and entry.time_seconds + lasting <= seconds
    return entry.time_seconds < seconds and not ended


def mean_figures(plays: Sequence[Figures]) -> Figures:
    """Mean of every figure over the plays."""
    fields = Figures.__slots__
    return Figures(**{name: fsum(getattr(p, name) for p in plays) / len(plays) for name in fields})


def _table(name: str, nodes: int, trace: Figures, model: Figures) -> Table:
    table = Table("figure", "trace", "model", "ratio", title=f"{name}, model at {nodes} nodes")
    for field in Figures.__slots__:
        expected, got = getattr(trace, field), getattr(model, field)
        ratio = f"{got / expected:.2f}" if expected else "-"
        table.add_row(field, f"{expected:.4g}", f"{got:.4g}", ratio)
    return table


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code (2: bad input)."""
    parser = argparse.ArgumentParser(prog="python -m lab.workloads.check", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="folder of the real trace files"
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=100,
        metavar="N",
        help="nodes of the cluster that plays the models (default: 100)",
    )
    options = parser.parse_args(arguments)
    console = Console()
    try:
        for name in workload_names():
            plays = [model_figures(name, nodes=options.nodes, seed=seed) for seed in SEEDS]
            trace = trace_figures(read_workload_trace(name, options.data))
            console.print(_table(name, options.nodes, trace, mean_figures(plays)))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
