"""A world as files: the workload that the twin plays, a rate file for each Service, and the table of its history."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from lab.rate_worlds.draw import GIB, RateService, RateWorld
from lab.rate_worlds.pieces import HISTORY_MINUTES
from lab.rate_worlds.rate_sets import MINUTE, Floats
from twin.port.files import COLUMNS
from twin.port.settings import START_2026

WORKLOAD, HISTORY = "world.jsonl", "history.csv.gz"
HISTORY_STEP_SECONDS = 300
AUTOSCALER_MOST = 12
"""Replicas of an autoscaler at most, as a multiple of those deployed."""
MEMORY_PER_CORE = GIB
MACHINE_MEMORY_PER_CORE = 4 * GIB


def start_seconds(world: RateWorld) -> int:
    """Return the cluster time at which the played day begins: hour and weekday are those of the rates."""
    return (
        int(START_2026) + world.week_second
    )  # 2026-01-01 is a Thursday, as the first day of Unix time


def write_world(
    world: RateWorld, folder: Path, notes: Sequence[str] = (), cpu_percent: int | None = None
) -> Path:
    """Write a world into a folder that exists, and return its workload file.

    Args:
        world: what is played.
        folder: where its files go.
        notes: first lines of the workload file.
        cpu_percent: of the autoscaler that each Service has; None: it has none.
    """
    rows = [
        {
            "record": "node",
            "name": f"n{number:02}",
            "cpu_millicores": 1_000 * world.machine_cores,
            "memory_bytes": MACHINE_MEMORY_PER_CORE * world.machine_cores,
        }
        for number in range(world.machines)
    ]
    for service in world.services:
        rates = folder / f"{service.name}.csv"
        rates.write_text(rate_text(service.day), encoding="utf-8")
        rows.append(_arrival(service, rates.name) | _autoscaler(service, cpu_percent))
    path = folder / WORKLOAD
    about = (
        *(f"# {note}" for note in notes),
        f"# World {world.seed} of family {world.family}: one day of real request rates, and the week before it.",
        *(f"# {service.name}: {service.source}" for service in world.services),
    )
    lines = (*about, *(json.dumps(row) for row in rows))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    # Without a time of its own in the file, the same world gives the same bytes.
    table = history_table(world).write_csv().encode()
    (folder / HISTORY).write_bytes(gzip.compress(table, mtime=0))
    return path


def _arrival(service: RateService, rates: str) -> dict[str, object]:
    return {
        "record": "arrival",
        "name": service.name,
        "time_seconds": 0,
        "kind": "service",
        "cpu_request_millicores": service.request_millicores,
        "memory_request_bytes": MEMORY_PER_CORE * service.request_millicores // 1_000,
        "replicas": service.replicas,
        "traffic": f"file {rates}",
        "history": HISTORY,
        "request_cpu_seconds": service.cpu_seconds,
        "request_cv": service.cv,
        "ready_seconds": service.ready_seconds,
    }


def _autoscaler(service: RateService, cpu_percent: int | None) -> dict[str, object]:
    if cpu_percent is None:
        return {}
    most = AUTOSCALER_MOST * service.replicas
    return {
        "autoscaler": f"cpu_percent={cpu_percent} least={service.replicas} most={most}",
    }


def rate_text(rates: Floats) -> str:
    """Return a rate file of requests a second, minute by minute."""
    lines = (f"{place * MINUTE},{rate:.4g}" for place, rate in enumerate(rates.tolist()))
    return "\n".join((",".join(COLUMNS), *lines)) + "\n"


def history_table(world: RateWorld) -> pl.DataFrame:
    """Return `series, t_s, value` of the week before: requests a second of each Service in steps of five minutes.

    `t_s` counts back from the start: the last step begins at -300. Steps of which nothing was measured have no row.
    """
    width = HISTORY_STEP_SECONDS // MINUTE
    steps = HISTORY_MINUTES // width
    times = (np.arange(steps) - steps) * HISTORY_STEP_SECONDS
    parts = []
    for service in world.services:
        minutes = service.history.reshape(steps, width)
        known = np.isfinite(minutes)
        count = known.sum(axis=1)
        means = np.where(known, minutes, 0.0).sum(axis=1) / np.maximum(count, 1)
        parts.append(
            pl.DataFrame(
                {
                    "series": [f"service/default/{service.name}"] * int((count > 0).sum()),
                    "t_s": times[count > 0],
                    "value": means[count > 0],
                },
                schema_overrides={"value": pl.Float32},
            )
        )
    return pl.concat(parts)


def read_history(folder: Path) -> dict[str, Floats]:
    """Return by Service (`<namespace>/<name>`) what a written world keeps of its past.

    Values are requests a second in steps of five minutes until the start, holes bridged by a straight line; empty
    where there is no table.
    """
    path = folder / HISTORY
    if not path.is_file():
        return {}
    found = {}
    table = pl.read_csv(path).sort("t_s")
    for key, rows in table.partition_by("series", as_dict=True).items():
        times = rows["t_s"].to_numpy()
        grid = np.arange(times[0], times[-1] + 1, HISTORY_STEP_SECONDS)
        found[str(key[0]).removeprefix("service/")] = np.interp(grid, times, rows["value"])
    return found
