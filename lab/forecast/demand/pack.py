"""The series families of the trace pack, repaired as its README says.

Guarantee: what is dropped or replaced is counted in the family's notes, and a file that is not
there leaves its family out by name instead of failing late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from bus.errors import InputError
from features.series.rules import DAY_WINDOWS, WINDOW_SECONDS
from lab.forecast.demand.series import Family, Series, on_grid, time_split

WINDOW_US = WINDOW_SECONDS * 1_000_000
WINDOW_MS = WINDOW_SECONDS * 1_000
LONG_GAP_MS = 3 * 3_600_000
"""A fragment longer than this is a hole in the recording, not a constant load."""
MINIMUM_WINDOWS = 36
"""Two hours of history and an hour to forecast."""

Reader = Callable[[Path], list[Family]]


def absent_files(folder: Path) -> list[str]:
    """Return the files that are not under `folder`.

    Raises:
        InputError: none of them is.
    """
    absent = [file for file in READERS if not (folder / file).is_file()]
    if len(absent) == len(READERS):
        raise InputError("--input", str(folder), f"it holds none of: {', '.join(READERS)}")
    return absent


def read_file(folder: Path, file: str) -> list[Family]:
    """Return the families of one file, none if it is not there.

    Raises:
        InputError: the file cannot be read, lacks a column, or holds nothing.
    """
    path = folder / file
    if not path.is_file():
        return []
    try:
        families = READERS[file](path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError("demand file", path.name, reason) from error
    if not all(family.series for family in families):
        raise InputError("demand file", path.name, "it holds no series that is long enough")
    return families


def job_days(path: Path) -> list[Family]:
    """2011 jobs, summed over tasks: unbroken runs of days; 60 % of the jobs train."""
    table = pl.read_parquet(path).sort("job_id", "day", "step")
    families = []
    for signal, column in (("cpu", "cpu_pct"), ("memory", "mem_pct")):
        series = []
        for (job,), rows in table.group_by("job_id", maintain_order=True):
            steps = (rows["day"].cast(pl.Int64) - 1) * DAY_WINDOWS + rows["step"]
            values = rows[column].cast(pl.Float64).to_numpy()
            for first, run in _runs(steps.to_numpy(), values):
                series.append(Series(str(job), first, run))
        split = 6 * DAY_WINDOWS
        families.append(
            Family("google2011 job-days", signal, "% of a machine", tuple(series), split, 12, True)
        )
    return families


def large_job(path: Path) -> list[Family]:
    """One service job of 3,000 tasks, 29 days: zeros are missing, doubled windows are halved."""
    table = pl.read_parquet(path).sort("time_s")
    tasks = table["n_tasks"].to_numpy()
    doubled = tasks > 1.5 * float(np.median(tasks))
    steps = (table["time_s"].to_numpy() // WINDOW_SECONDS).astype(np.int64)
    families = []
    for signal, column in (("cpu", "mean_cpu"), ("memory", "canonical_mem")):
        values = np.where(doubled, 0.5, 1.0) * table[column].to_numpy()
        missing = (tasks == 0) | (values == 0)
        first, grid = on_grid(steps, np.where(missing, np.nan, values))
        note = f"{int(doubled.sum())} doubled windows halved, {int(missing.sum())} zero missing"
        series = (Series("6176858948", first, grid),)
        families.append(_by_time("google2011 large job", signal, "sum of tasks", series, 3, note))
    return families


def cell(path: Path) -> list[Family]:
    """Whole-cell averages of 2019."""
    table = pl.read_parquet(path).sort("step")
    families = []
    for signal, column in (("cpu", "avg_cpu"), ("memory", "avg_mem")):
        first, grid = on_grid(table["step"].to_numpy(), table[column].to_numpy())
        series = (Series("cell", first, grid),)
        families.append(_by_time("google2019 cell", signal, "share of the cell", series, 3))
    return families


def azure(path: Path) -> list[Family]:
    """Sums over all virtual machines of Azure in 2019."""
    table = pl.read_parquet(path).sort("timestamp")
    steps = table["timestamp"].to_numpy() // WINDOW_SECONDS
    families = []
    for signal, column in (("cpu", "cpu_usage"), ("memory", "assigned_mem")):
        first, grid = on_grid(steps, table[column].to_numpy())
        series = (Series("all", first, grid),)
        families.append(_by_time("azure_v2 total", signal, "sum", series, 3))
    return families


def instances(path: Path) -> list[Family]:
    """2019 instances: windows that do not end on the grid (a run's first and last) are left out."""
    table = pl.read_parquet(
        path, columns=["time", "unique_id", "avg_cpu_usage", "avg_memory_usage"]
    ).sort("unique_id", "time")
    whole = table.filter(pl.col("time") % WINDOW_US == 0)
    families = []
    for signal, column in (("cpu", "avg_cpu_usage"), ("memory", "avg_memory_usage")):
        series = []
        used = whole.filter(pl.col(column) > 0)
        for (name,), rows in used.group_by("unique_id", maintain_order=True):
            steps = rows["time"].to_numpy() // WINDOW_US
            first, grid = on_grid(steps, rows[column].cast(pl.Float64).to_numpy())
            series.append(Series(str(name), first, grid))
        note = f"{len(table) - len(whole)} odd and {len(whole) - len(used)} zero windows left out"
        unit = "of the largest machine"
        families.append(_by_time("google2019 instances", signal, unit, tuple(series), 12, note))
    return families


def helios(path: Path) -> list[Family]:
    """GPUs in use per virtual cluster, one-minute samples averaged over five minutes."""
    table = (
        pl.read_parquet(path, columns=["vc", "time", "running_gpu_num", "total_gpu_num"])
        .sort("vc", "time")
        .with_columns(pl.col("time").dt.epoch("s") // WINDOW_SECONDS)
        .group_by("vc", "time", maintain_order=True)
        .agg(pl.col("running_gpu_num").mean(), pl.col("total_gpu_num").max())
    )
    series = []
    for (name,), rows in table.group_by("vc", maintain_order=True):
        first, grid = on_grid(rows["time"].to_numpy(), rows["running_gpu_num"].to_numpy())
        series.append(Series(str(name), first, grid, float(rows["total_gpu_num"].max())))  # type: ignore[arg-type]
    return [_by_time("helios virtual clusters", "gpu", "GPUs", tuple(series), 12)]


def solvinity(path: Path) -> list[Family]:
    """Business virtual machines of 2013, 30 days."""
    return [_fragments(path, "solvinity13 VMs", 12, unseen_owners=False)]


def surf(path: Path) -> list[Family]:
    """Batch jobs of an HPC cluster that fill 16 cores of a machine, 30-second samples averaged."""
    return [replace(_fragments(path, "surf22 jobs", 3, unseen_owners=True), like_nodes=True)]


def _fragments(path: Path, name: str, stride: int, *, unseen_owners: bool) -> Family:
    tasks = pl.read_parquet(path.with_name(path.name.replace("fragments", "tasks")))
    begin = dict(zip(tasks["id"], tasks["submission_time"].dt.epoch("ms"), strict=True))
    capacity = dict(zip(tasks["id"], tasks["cpu_capacity"], strict=True))
    series, short, holes = [], 0, 0
    for (task,), rows in pl.read_parquet(path).group_by("id", maintain_order=True):
        durations = rows["duration"].to_numpy()
        if durations.sum() < MINIMUM_WINDOWS * WINDOW_MS:
            short += 1
            continue
        hole = (durations > LONG_GAP_MS) | (rows["cpu_count"].to_numpy() == 0)
        holes += int(hole.sum())
        usage = np.where(hole, np.nan, rows["cpu_usage"].to_numpy())
        values = window_means(durations, usage)
        first = int(begin[task]) // WINDOW_MS
        limit = max(float(capacity[task]), float(np.nanmax(values, initial=0.0)))
        series.append(Series(str(task), first, values, limit))
    notes = f"{short} tasks shorter than 3 h left out, {holes} fragments are holes"
    family = _by_time(name, "cpu", "MHz", tuple(series), stride, notes)
    return replace(family, unseen_owners=unseen_owners)


def window_means(durations_ms: np.ndarray, usage: np.ndarray) -> np.ndarray:
    """Return mean usage per five-minute window of consecutive fragments, NaN where unknown.

    A window that is not complete at the end is left out.
    """
    ends = np.cumsum(durations_ms).astype(np.float64)
    edges = np.arange(1, int(ends[-1] // WINDOW_MS) + 1) * float(WINDOW_MS)
    known = ~np.isnan(usage)
    area = np.cumsum(np.where(known, usage, 0.0) * durations_ms)
    time = np.cumsum(np.where(known, durations_ms, 0))
    starts = np.concatenate([[0.0], ends])
    area_at = np.interp(edges, starts, np.concatenate([[0.0], area]))
    time_at = np.interp(edges, starts, np.concatenate([[0.0], time]))
    measured = np.diff(time_at, prepend=0.0)
    used = np.diff(area_at, prepend=0.0)
    enough = measured >= WINDOW_MS / 2
    return np.where(enough, used / np.where(enough, measured, 1.0), np.nan)


def _by_time(
    name: str, signal: str, unit: str, series: tuple[Series, ...], stride: int, *notes: str
) -> Family:
    # A single series has few windows: learn from each of them.
    row_stride = 1 if len(series) == 1 else 3
    return Family(
        name, signal, unit, series, time_split(series), stride, False, notes, row_stride=row_stride
    )


def _runs(steps: np.ndarray, values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    cuts = np.flatnonzero(np.diff(steps) != 1) + 1
    pieces = zip(np.split(steps, cuts), np.split(values, cuts), strict=True)
    return [(int(step[0]), value) for step, value in pieces]


READERS: Mapping[str, Reader] = {
    "demand/google2011_job_day_usage_5min.parquet": job_days,
    "demand/google2011_job_6176858948_5min.parquet": large_job,
    "demand/google2019_cell_usage_5min.parquet": cell,
    "demand/azure_v2_vm_usage_5min.parquet": azure,
    "google2019/instance_usage_5min.parquet": instances,
    "demand/helios_earth_vc_queue_1min.parquet": helios,
    "replay/solvinity13_fragments.parquet": solvinity,
    "replay/surf22_fragments.parquet": surf,
}
