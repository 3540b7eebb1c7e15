"""Which workload a run plays: a shipped fitted model, the real trace where its files are, or the
user's own file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bus.errors import ConfigError
from foresail.run_settings import RunSettings
from foresail.settings import StackSettings
from projections.figures import duration, number
from twin.port.workloads import (
    FITTED,
    IDLE,
    PARQUET_SUFFIX,
    open_workload,
    plain_nodes,
    suggest_speed,
)

RECORDING_SUFFIX = ".fslog"


@dataclass(frozen=True)
class ChosenWorkload:
    """Workload of the twin."""

    name_or_path: str
    kind: Literal["fitted_model", "trace_file", "file", "idle"]
    description: tuple[str, ...]
    speed: float
    """Cluster seconds per wall second."""
    arrivals_per_hour: float
    history_files: tuple[str, ...] = ()
    """Tables that tell of the time before it."""

    def lines(self, interval_seconds: float) -> tuple[str, ...]:
        """Return what is printed at the start: where it comes from, how fast it is played."""
        covered = self.speed * interval_seconds
        pace = (
            f"speed {number(self.speed)}: a cycle of {duration(interval_seconds)} covers "
            f"{duration(covered)} of the cluster's time"
        )
        wait = 3600 / (self.arrivals_per_hour * self.speed) if self.arrivals_per_hour else 0.0
        arrival = f"; something arrives about every {duration(wait)}" if wait else ""
        return (*self.description, pace + arrival)


def choose_workload(run: RunSettings, folder: Path) -> ChosenWorkload:
    """Prepare and check the workload; every row is read before anything starts.

    Raises:
        InputError: an unknown name, a file that cannot be read, or a row that does not fit.
        ConfigError: FORESAIL_DATA names no folder.
    """
    name: str = run.workload
    kind: Literal["fitted_model", "trace_file", "file", "idle"] = "file"
    if name == IDLE:
        kind = "idle"
    elif run.data is not None and _is_trace(name):
        kind = "trace_file"
        name = str(_convert(run, folder))
    elif name in FITTED:
        kind = "fitted_model"
    elif Path(name).suffix == PARQUET_SUFFIX:
        name = str(_from_parquet(Path(name), run.nodes, folder))
    workload = open_workload(name, nodes=run.nodes, seed=run.seed)
    speed = run.speed if run.speed is not None else suggest_speed(workload.arrivals_per_hour)
    return ChosenWorkload(
        name,
        kind,
        tuple(workload.description),
        speed,
        workload.arrivals_per_hour,
        tuple(str(path.resolve()) for path in workload.history_files),
    )


def with_history(
    settings: StackSettings, workload: ChosenWorkload | None, folder: Path
) -> StackSettings:
    """Return the settings of a stack whose collector begins with what the workload tells of the time before it.

    Files that the user names take its place. Tables in parquet, and what recordings hold,
    are written into the folder as CSV.

    Raises:
        ConfigError: a parquet file is no table of history.
        InputError: a recording cannot be read, or is too short.
    """
    files = settings.collector.history_files
    if workload is not None and "collector.history_files" not in settings.origins:
        files = workload.history_files
    read = tuple(_history_table(Path(file), folder) for file in files)
    update: dict[str, object] = {"history_files": read}
    if files and all(Path(file).suffix == RECORDING_SUFFIX for file in files):
        update["history_source"] = "recording"
    collector = settings.collector.model_copy(update=update)
    return settings.model_copy(update={"collector": collector})


def _history_table(path: Path, folder: Path) -> str:
    """Return the name of a table that the collector reads, written into the folder where the file is none."""
    if path.suffix not in (PARQUET_SUFFIX, RECORDING_SUFFIX):
        return str(path)
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{path.stem}.csv"
    if path.suffix == RECORDING_SUFFIX:
        from lab.workloads.recorded_history import write_recorded_history  # noqa: PLC0415 - few have one

        write_recorded_history(path, out)
    else:
        from lab.workloads.history import write_history_csv  # noqa: PLC0415 - polars is loaded only when it is needed

        write_history_csv(path, out)
    return str(out)


def _is_trace(name: str) -> bool:
    from lab.traces.registry import workload_names  # noqa: PLC0415 - polars is loaded only when traces are converted

    return name in workload_names()


def _from_parquet(path: Path, nodes: int, folder: Path) -> Path:
    from lab.workloads.parquet import convert  # noqa: PLC0415 - polars is loaded only when it is needed

    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{path.stem}.jsonl"
    convert(path, out, plain_nodes(nodes))
    return out


def _convert(run: RunSettings, folder: Path) -> Path:
    from lab.workloads.prepare import prepare  # noqa: PLC0415 - polars is loaded only when traces are converted

    data = Path(run.data or "")
    if not data.is_dir():
        raise ConfigError(
            "run.data", str(data), "name the folder of the trace files, or unset FORESAIL_DATA"
        )
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{run.workload}.jsonl"
    prepare(run.workload, data, out, nodes=run.nodes, seed=run.seed)
    return out
