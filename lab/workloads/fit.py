"""Fit the small workload models that the repository ships.

    python -m lab.workloads.fit --data DIR --out twin/workloads/fitted

Deterministic: the same files give the same bytes. Machines, carried-in pods and rates are taken
from the whole trace; mixes, durations and outcomes of arrivals from the days around its busiest
hour (48 h before to 24 h after it), so that load and arrivals belong to the same state.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.progress import Progress

from bus.errors import InputError
from lab.traces.registry import read_workload_trace, workload_names
from lab.traces.workload_trace import SECONDS_PER_HOUR, WorkloadTrace
from lab.workloads.figures import (
    arrival_endings,
    batch_rows,
    left_endings,
    request_rows,
)
from lab.workloads.prepare import GPU_MODEL_LABEL, SHAPE_LABEL
from lab.workloads.provenance import provenance
from lab.workloads.usage import USAGE_FILE, fit_usage, own_usage
from twin.port.workloads import HOURS_PER_DAY, FittedModel, NodeRow, RunningClass, Usage, WorkClass

COMMAND = "python -m lab.workloads.fit --data DIR --out twin/workloads/fitted"
SECONDS_BEFORE = 48 * SECONDS_PER_HOUR
SECONDS_AFTER = 24 * SECONDS_PER_HOUR


def fit_model(trace: WorkloadTrace, data_dir: Path, usage: Usage) -> FittedModel:
    """All figures of `trace`; `data_dir` is read again for the checksums only."""
    hour, busiest = trace.busiest_hour()
    start = hour * SECONDS_PER_HOUR
    near, covered_hours = pods_around(trace, start)
    mean_per_hour = len(near) / covered_hours
    rates = [round(mean_per_hour * weight, 3) for weight in trace.hour_weights]
    rates[hour % HOURS_PER_DAY] = float(busiest)
    running = trace.running_at(start)
    return FittedModel(
        format="foresail-workload-model/1",
        name=trace.name,
        command=COMMAND,
        trace_nodes=len(trace.nodes),
        reference_nodes=trace.reference_nodes,
        reference_note=trace.reference_note,
        arrivals_per_hour=rates,
        start_hour=hour % HOURS_PER_DAY,
        carried_in=len(running),
        nodes=_node_rows(trace.nodes),
        classes=_classes(trace, near),
        running=_running(trace, running),
        usage=own_usage(trace, usage),
        provenance=[
            provenance(trace.name, data_dir, trace.files),
            provenance("google2019", data_dir, (USAGE_FILE,)),
        ],
    )


def pods_around(trace: WorkloadTrace, start_seconds: float) -> tuple[pl.DataFrame, float]:
    """Arrivals around `start_seconds` and the hours that the trace covers there."""
    low = max(start_seconds - SECONDS_BEFORE, 0.0)
    high = min(start_seconds + SECONDS_AFTER, trace.end_seconds)
    arrive = pl.col("arrive_seconds")
    pods = trace.pods.filter(arrive > 0, arrive >= low, arrive < high)
    return pods, (high - low) / SECONDS_PER_HOUR


def _node_rows(nodes: pl.DataFrame) -> list[NodeRow]:
    columns = ("shape", "cpu_millicores", "memory_bytes", "gpus", "gpu_model")
    counts = Counter(nodes.select(columns).iter_rows())
    rows = []
    for (shape, cpu, memory, gpus, gpu_model), weight in sorted(
        counts.items(), key=lambda item: (-item[1], item[0])
    ):
        labels = {SHAPE_LABEL: shape} | ({GPU_MODEL_LABEL: gpu_model} if gpu_model else {})
        rows.append(
            NodeRow(
                name=shape,
                cpu_millicores=cpu,
                memory_bytes=memory,
                gpus=gpus,
                labels=labels,
                weight=weight,
            )
        )
    return rows


def _classes(trace: WorkloadTrace, near: pl.DataFrame) -> list[WorkClass]:
    rows = []
    for entry in trace.classes:
        members = near.filter(pl.col("class_name") == entry.name)
        # A class that only runs and never arrives keeps its own figures with share 0.
        source = members if len(members) else trace.pods.filter(pl.col("class_name") == entry.name)
        rows.append(
            WorkClass(
                name=entry.name,
                kind="service" if entry.kind == "service" else "task",
                priority=entry.priority,
                share=round(len(members) / len(near), 6),
                batches=batch_rows(source),
                requests=request_rows(source),
                endings=arrival_endings(source),
            )
        )
    return rows


def _running(trace: WorkloadTrace, running: pl.DataFrame) -> list[RunningClass]:
    groups = []
    for entry in trace.classes:
        members = running.filter(pl.col("class_name") == entry.name)
        if len(members):
            groups.append(
                RunningClass(
                    class_name=entry.name,
                    requests=request_rows(members),
                    endings=left_endings(members),
                )
            )
    return groups


def write_model(model: FittedModel, out_dir: Path) -> Path:
    """Write `model` as <name>.json, complete or not at all."""
    out_dir.mkdir(parents=True, exist_ok=True)
    path = out_dir / f"{model.name}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(model.model_dump_json(indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code (2: bad input)."""
    parser = argparse.ArgumentParser(prog="python -m lab.workloads.fit", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="folder of the real trace files"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="where the fitted models are written",
    )
    options = parser.parse_args(arguments)
    console = Console()
    try:
        with Progress(console=console) as progress:
            step = progress.add_task("usage", total=len(workload_names()) + 1)
            usage = fit_usage(options.data)
            for name in workload_names():
                progress.update(step, advance=1, description=name)
                model = fit_model(read_workload_trace(name, options.data), options.data, usage)
                path = write_model(model, options.out)
                progress.console.print(f"{path} {path.stat().st_size} bytes")
            progress.update(step, advance=1, description="done")
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
