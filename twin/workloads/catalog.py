"""Open a workload by name or by file.

The twin knows three things only: `idle`, a shipped fitted model, and a file. Real traces reach
it as files that `lab.workloads.prepare` made of them.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from inputs.errors import InputError
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.fitted_play import SECONDS_PER_HOUR, play_fitted
from twin.workloads.model import FittedModel
from twin.workloads.trace_file import read_trace_file
from twin.workloads.workload import CARRIED_IN_SECONDS, Workload

IDLE = "idle"
FITTED = ("openb", "google2011", "azure", "philly", "surf")
NAMES = (*FITTED, IDLE)
PLAIN_CPU_MILLICORES = 16_000  # a common general-purpose machine: 4 GiB for each core
PLAIN_MEMORY_BYTES = 64 * 2**30


def open_workload(name_or_path: str, *, nodes: int, seed: int) -> Workload:
    """Open `idle`, a fitted model by name, or a file by path.

    `nodes` (at least 1) is the cluster's size; node rows of a file take precedence over it. The
    same arguments give the same workload. Raises InputError (bad name, file, row or count).
    """
    if nodes < 1:
        raise InputError(field="nodes", value=nodes, remedy="give 1 or more")
    if name_or_path == IDLE:
        return _idle(nodes)
    if name_or_path in FITTED:
        return play_fitted(load_model(name_or_path), nodes=nodes, seed=seed)
    path = Path(name_or_path)
    if not path.exists():
        raise InputError(
            field="workload",
            value=name_or_path,
            remedy=f"use {', '.join(NAMES)} or an existing .csv or .jsonl file",
        )
    return _from_file(path, nodes)


def load_model(name: str) -> FittedModel:
    """Read a shipped model; raises InputError when it is absent or does not fit its schema."""
    source = files("twin.workloads") / "fitted" / f"{name}.json"
    try:
        return FittedModel.model_validate_json(source.read_bytes())
    except FileNotFoundError as error:
        raise InputError(
            field="workload", value=name, remedy=f"use one of {', '.join(NAMES)}"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            field=f"fitted model {name}: {where}",
            value=str(first["input"])[:60],
            remedy=f"make it again with python -m lab.workloads.fit ({first['msg']})",
        ) from error


def plain_nodes(count: int) -> list[NodeShape]:
    """`count` equal machines of 16 cores and 64 GiB without GPUs."""
    return [
        NodeShape(
            name=f"node-{index:04d}",
            cpu_millicores=PLAIN_CPU_MILLICORES,
            memory_bytes=PLAIN_MEMORY_BYTES,
            gpus=0,
            labels={},
        )
        for index in range(count)
    ]


def _idle(nodes: int) -> Workload:
    return Workload(
        nodes=plain_nodes(nodes),
        arrivals=iter(()),
        description=[f"workload idle: {nodes} nodes of 16 cores and 64 GiB, nothing arrives"],
        arrivals_per_hour=0.0,
    )


def _from_file(path: Path, nodes: int) -> Workload:
    plain = plain_nodes(nodes)
    file_nodes, arrivals, comments = read_trace_file(path, plain)
    machines = file_nodes or plain
    origin = "from its node rows" if file_nodes else "16 cores and 64 GiB each (no node rows)"
    return Workload(
        nodes=machines,
        arrivals=iter(arrivals),
        description=[
            f"workload file {path.name}: {len(arrivals)} arrivals",
            f"{len(machines)} nodes, {origin}",
            *comments,
        ],
        arrivals_per_hour=_first_hour_rate(arrivals),
        history_files=tuple(
            path.parent / name for name in sorted({one.history for one in arrivals} - {""})
        ),
    )


def _first_hour_rate(arrivals: list[WorkloadArrival]) -> float:
    """Arrivals per hour after the carried-in seconds, over the first hour or the shorter file."""
    later = [entry.time_seconds for entry in arrivals if entry.time_seconds >= CARRIED_IN_SECONDS]
    if not later:
        return 0.0
    end = min(SECONDS_PER_HOUR, later[-1])
    span = max(end - CARRIED_IN_SECONDS, 1.0)
    return sum(time <= end for time in later) * SECONDS_PER_HOUR / span
