"""Building datasets: decisions and values a second, next to a plain Polars scan and sort and to pandas.

`python -m benchmarks.forecast_build [--data FOLDER] [--parts 2]` builds the pack's google2011 events (labels
alone, then with every feature), then a sample, the first parts of the trace, at each placement and at each
running attempt every 5 minutes. Pandas gets the sample's events ready made, and makes of them what it has
quick words for: labels, and the counts of each kind of event in the last 5, 15 and 60 minutes by job,
user, logical name and machine (a sixth of the build's columns); of the grid, at some moments only. Its
values are compared with the build's: the benchmark fails where one differs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.machine import parser, report
from lab.forecast.dataset import Dataset, open_dataset

TARGET_TIMES = 10.0
SCHEDULE = 1
ENDS = (2, 3, 4, 5, 6)
KINDS = {"submits": 0, "starts": 1, "evicts": 2, "fails": 3, "finishes": 4, "kills": 5}
KEYS = ("job", "user", "name", "machine")
MINUTES = (5, 15, 60)
MINUTE_US = 60_000_000
GRID_CHUNK = 100_000
PANDAS_EVERY = 10
"""Every so manyth chunk of the grid is made by pandas, too."""
T = TypeVar("T")


def main() -> int:
    """Run all and print the figures; exit code 1 when pandas' values are not the build's."""
    made = parser(__doc__)
    made.add_argument("--data", default=os.environ.get("FORESAIL_DATA", ""), help="the trace pack")
    made.add_argument("--parts", type=int, default=2, help="first parts of the trace as sample")
    options = made.parse_args()
    pack = Path(options.data) / "google2011"
    if not (pack / "task_events.parquet").is_file():
        sys.stderr.write("set FORESAIL_DATA or --data to the trace pack's folder; skipped\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="foresail-build-") as folder:
        rows, differing = run(pack, Path(folder), options.parts)
    speed = {row["what"]: row["values/s"] for row in rows}
    times = {
        anchor: speed[f"sample, {anchor}: build"] / speed[f"sample, {anchor}: pandas"]
        for anchor in ("schedule", "grid")
    }
    notes = (
        "values are the features and labels of decisions; seconds are the processor's. Values a second "
        f"against pandas: {times['schedule']:.1f} times on schedule anchors, {times['grid']:.1f} times "
        f"on the grid ({'target' if min(times.values()) >= TARGET_TIMES else 'missed target'}: "
        f"{TARGET_TIMES:g}); {differing} of pandas' values differ from the build's"
    )
    report("Building a dataset", options, rows, notes)
    return int(differing > 0)


def run(pack: Path, space: Path, parts: int) -> tuple[list[dict[str, Any]], int]:
    """Measure everything; returns the rows and how many of pandas' values differ from the build's."""
    sample = space / "sample"
    sample.mkdir()
    table = pl.scan_parquet(pack / "task_events.parquet")
    table.filter(pl.col("part") < parts).sink_parquet(sample / "task_events.parquet")
    pl.scan_parquet(pack / "job_events.parquet").sink_parquet(sample / "job_events.parquet")
    columns = ["time", "job_id", "task_index", "event_type", "machine_id", "cpu_request", "user"]
    seconds, events = _cpu_time(
        lambda: table.select(columns).sort("job_id", "task_index", "time").collect().height
    )
    rows = [
        _row("Polars: scan and sort", events, 0, 0, seconds),
        _build("build: labels", pack, space, "none", "schedule"),
        _build("build: labels and features", pack, space, "full", "schedule"),
        _build("sample, schedule: build", sample, space, "full", "schedule"),
    ]
    by_schedule = open_dataset(space / "processed" / "full-sample-schedule")
    frame = by_schedule.events().collect().to_pandas()
    for kind, code in KINDS.items():
        frame[kind] = (frame["kind"] == code).astype("float32")
    seconds, labelled = _cpu_time(lambda: _pandas_labels(frame))
    more, counts = _cpu_time(lambda: _pandas_windows(labelled))
    count = by_schedule.rows
    rows.append(
        _row("sample, schedule: pandas", len(frame), count, 5 + counts.shape[1], seconds + more)
    )
    differing = _differing_labels(labelled, by_schedule)
    differing += _differing(counts, by_schedule.features(list(counts.columns)))
    more_rows, more_differing = _grid(sample, space, frame)
    return rows + more_rows, differing + more_differing


def _grid(sample: Path, space: Path, frame: pd.DataFrame) -> tuple[list[dict[str, Any]], int]:
    """Stream over every row of the sample's grid; let pandas make some of its chunks."""
    built = _build("grid", sample, space, "full", "grid")
    grid = open_dataset(space / "processed" / "full-sample-grid")
    names = grid.feature_names
    parts: list[tuple[pd.DataFrame, np.ndarray]] = []

    def stream() -> int:
        total = 0
        for number, (anchors, values) in enumerate(grid.feature_chunks(GRID_CHUNK)):
            total += len(values)
            if number % PANDAS_EVERY == PANDAS_EVERY - 1:
                parts.append((anchors.to_pandas(), values))
        return total

    seconds, total = _cpu_time(stream)
    used = float(built["CPU s"]) + seconds
    rows = [_row("sample, grid: build", built["events"], total, 5 + len(names), used)]
    seconds, made = _cpu_time(lambda: [_pandas_windows_at(frame, rows) for rows, _ in parts])
    decisions = sum(len(anchors) for anchors in made)
    rows.append(_row("sample, grid: pandas", len(frame), decisions, made[0].shape[1], seconds))
    differing = sum(
        _differing(counts, values[:, [names.index(name) for name in counts.columns]])
        for counts, (_, values) in zip(made, parts, strict=True)
    )
    return rows, differing


def _build(name: str, source: Path, space: Path, features: str, anchor: str) -> dict[str, Any]:
    """Build in a process of its own, as users do; its start is in the figure."""
    build = f"{features}-{source.name}-{anchor}"
    command = [
        *(sys.executable, "-m", "foresail", "forecast", "dataset", "--trace", "google2011"),
        *("--input", str(source), "--name", build, "--features", features, "--anchor", anchor),
    ]
    environment = {**os.environ, "BORG_XGBOOST_WORKSPACE": str(space)}
    seconds, ran = _cpu_time(
        lambda: subprocess.run(
            [*command, "--json"], env=environment, capture_output=True, text=True, check=True
        )
    )
    manifest = json.loads(ran.stdout)
    columns = 5 + len(manifest["features"]["feature_names"])
    return _row(name, manifest["events"], manifest["anchors"]["rows"], columns, seconds)


def _row(name: str, events: int, decisions: int, columns: int, seconds: float) -> dict[str, Any]:
    return {
        "what": name,
        "events": events,
        "decisions": decisions,
        "columns": columns,
        "CPU s": round(seconds, 1),
        "events/s": events / seconds,
        "decisions/s": decisions / seconds,
        "values/s": decisions * columns / seconds,
    }


def _cpu_time(work: Callable[[], T]) -> tuple[float, T]:
    """Time on the processor, children included: the machine may be busy with other things."""
    began = _cpu_seconds()
    done = work()
    return _cpu_seconds() - began, done


def _cpu_seconds() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _pandas_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """What is usual in pandas: sort by task, fill the next end back, sort by time again."""
    frame = frame.sort_values(["segment", "job", "task", "row"])
    is_end = frame["kind"].isin(ENDS)
    by_task = [frame["segment"], frame["job"], frame["task"]]
    for column, source in (("end_kind", "kind"), ("end_us", "time_us")):
        frame[column] = frame[source].where(is_end).groupby(by_task).bfill()
    for minutes in (5, 15, 30, 45, 60):
        within = frame["end_us"] <= frame["time_us"] + minutes * MINUTE_US
        frame[f"label_{minutes}m"] = within & (frame["end_kind"] == KINDS["fails"])
    return frame.sort_values("row").reset_index(drop=True)


def _pandas_windows(frame: pd.DataFrame) -> pd.DataFrame:
    """Counts by key in rolling windows that end strictly before each SCHEDULE event."""
    frame["at"] = pd.to_datetime(frame["time_us"], unit="us")
    decisions = (frame["kind"] == SCHEDULE) & (frame["time_us"] > 0)
    columns: dict[str, np.ndarray] = {}
    for key in KEYS:
        ordered = frame.sort_values([key, "row"])
        for minutes in MINUTES:
            rolled = ordered.groupby(key, sort=True)[[*KINDS, "at"]].rolling(
                f"{minutes}min", on="at", closed="left"
            )
            sums = rolled[list(KINDS)].sum()
            sums.index = ordered.index  # groups come in the sorted order
            sums = sums.reindex(frame.index).fillna(0)
            for kind in _compared_kinds(key):
                columns[f"{key}_{kind}_{minutes}m"] = sums.loc[decisions, kind].to_numpy()
    return pd.DataFrame(columns)


def _pandas_windows_at(frame: pd.DataFrame, anchors: pd.DataFrame) -> pd.DataFrame:
    """The same counts at any moments: running sums strictly before t less those before t - w."""
    columns: dict[str, np.ndarray] = {}
    for key in KEYS:
        sums = frame.groupby(key)[list(KINDS)].cumsum()
        sums[key], sums["at"] = frame[key], frame["time_us"]

        def before(back_us: int, key: str = key, sums: pd.DataFrame = sums) -> pd.DataFrame:
            moments = anchors[[key]].assign(at=anchors["time_us"] - back_us)
            return pd.merge_asof(moments, sums, on="at", by=key, allow_exact_matches=False).fillna(
                0
            )

        now = before(0)
        for minutes in MINUTES:
            then = before(minutes * MINUTE_US)
            for kind in _compared_kinds(key):
                columns[f"{key}_{kind}_{minutes}m"] = (now[kind] - then[kind]).to_numpy()
    return pd.DataFrame(columns)


def _compared_kinds(key: str) -> list[str]:
    """A KILL often stands without its machine; the build knows it from the attempt."""
    return [kind for kind in KINDS if (key, kind) != ("machine", "kills")]


def _differing(counts: pd.DataFrame, values: np.ndarray) -> int:
    return int((values != counts.to_numpy()).sum())


def _differing_labels(labelled: pd.DataFrame, built: Dataset) -> int:
    anchors = built.anchors().select("label_15m").collect()["label_15m"].to_numpy()
    chosen = (labelled["kind"] == SCHEDULE) & (labelled["time_us"] > 0)
    labels = labelled.loc[chosen, "label_15m"].to_numpy()
    known = anchors >= 0
    return int((labels[known] != (anchors[known] == 1)).sum())


if __name__ == "__main__":
    sys.exit(main())
