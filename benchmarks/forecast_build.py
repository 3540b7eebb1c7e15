"""Building a dataset: rows a second, next to a plain Polars scan and sort and next to pandas.

`python -m benchmarks.forecast_build [--data FOLDER] [--part 2]` builds the pack's google2011 events (labels
alone, then with every feature) each in a process of its own, and a sample of one part three ways: by
the build, by pandas making the labels, and by pandas making the labels and the counts of starts, ends and
submissions in the last 5, 15 and 60 minutes by job, user, logical name and machine, a sixth of what the
build makes. Pandas' values are compared with the build's: the benchmark fails where they differ.
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
HORIZON_US = 15 * 60_000_000
T = TypeVar("T")


def main() -> int:
    """Run all and print the figures; exit code 1 when a target is missed or values differ."""
    made = parser(__doc__)
    made.add_argument("--data", default=os.environ.get("FORESAIL_DATA", ""), help="the trace pack")
    made.add_argument("--part", type=int, default=2, help="the part that is the sample")
    given = made.parse_args()
    pack = Path(given.data) / "google2011"
    if not (pack / "task_events.parquet").is_file():
        sys.stderr.write("set FORESAIL_DATA or --data to the trace pack's folder; skipped\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="foresail-build-") as folder:
        rows, differing = run(pack, Path(folder), given.part)
    built, by_pandas = rows[2], rows[-1]
    times = built["values/s"] / by_pandas["values/s"]
    notes = (
        f"values are labels and features of decisions, seconds those of the processor; the build makes "
        f"{times:.0f} times as many a second as pandas on the sample (target {TARGET_TIMES:g}); "
        f"{differing} of pandas' values differ from the build's"
    )
    report("Building a dataset", given, rows, notes)
    return int(times < TARGET_TIMES or differing > 0)


def run(pack: Path, space: Path, part: int) -> tuple[list[dict[str, Any]], int]:
    """Measure everything; returns the rows and how many of pandas' values differ from the build's."""
    sample = space / "sample"
    sample.mkdir()
    columns = ["time", "job_id", "task_index", "event_type", "machine_id", "cpu_request", "user"]
    table = pl.scan_parquet(pack / "task_events.parquet")
    table.filter(pl.col("part") == part).sink_parquet(sample / "task_events.parquet")
    pl.scan_parquet(pack / "job_events.parquet").sink_parquet(sample / "job_events.parquet")
    sort_seconds, events = _timed(
        lambda: table.select(columns).sort("job_id", "task_index", "time").collect().height
    )
    rows = [_row("Polars: scan and sort", events, 0, sort_seconds)]
    for name, given, features in (
        ("build: labels", pack, "none"),
        ("build: labels and all features", pack, "full"),
        ("build, sample: labels and all features", sample, "full"),
    ):
        rows.append(_build(name, given, space, features))
    built = open_dataset(space / "processed" / "full-sample")
    label_seconds, frame = _timed(lambda: _pandas_labels(sample))
    rows.append(_row("pandas, sample: labels", len(frame), 5, label_seconds, _anchors(frame)))
    more_seconds, counts = _timed(lambda: _pandas_windows(frame))
    rows.append(
        _row(
            "pandas, sample: labels and windows",
            len(frame),
            5 + counts.shape[1],
            label_seconds + more_seconds,
            _anchors(frame),
        )
    )
    return rows, _differing(frame, counts, built)


def _build(name: str, given: Path, space: Path, features: str) -> dict[str, Any]:
    """Build in a process of its own, as users do."""
    command = [
        *(sys.executable, "-m", "foresail", "forecast", "dataset", "--trace", "google2011"),
        *("--input", str(given), "--name", f"{features}-{given.name}", "--features", features),
    ]
    environment = {**os.environ, "BORG_XGBOOST_WORKSPACE": str(space)}
    seconds, ran = _timed(
        lambda: subprocess.run(
            [*command, "--json"], env=environment, capture_output=True, text=True, check=True
        )
    )
    manifest = json.loads(ran.stdout)
    columns = 5 + len(manifest["features"]["feature_names"])
    return _row(name, manifest["events"], columns, seconds, manifest["anchors"]["rows"])


def _row(
    name: str, events: int, columns: int, seconds: float, decisions: int = 0
) -> dict[str, Any]:
    return {
        "what": name,
        "events": events,
        "decisions": decisions,
        "columns": columns,
        "CPU s": round(seconds, 1),
        "events/s": events / seconds,
        "values/s": decisions * columns / seconds,
    }


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Time on the processor, children included: the machine may be busy with other things."""
    began = _used()
    done = work()
    return _used() - began, done


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _anchors(frame: pd.DataFrame) -> int:
    return int((frame["event_type"] == SCHEDULE).sum())


def _pandas_labels(sample: Path) -> pd.DataFrame:
    """What is usual in pandas: sort by task, fill the next end back, sort by time again."""
    frame = pd.read_parquet(sample / "task_events.parquet")
    jobs = pd.read_parquet(sample / "job_events.parquet")
    names = jobs.drop_duplicates("job_id").set_index("job_id")["logical_job_name"]
    frame["name"] = frame["job_id"].map(names)
    frame["order"] = np.arange(len(frame))
    frame = frame.sort_values(["job_id", "task_index", "order"])
    is_end = frame["event_type"].isin(ENDS)
    by_task = [frame["job_id"], frame["task_index"]]
    for column, source in (("end_kind", "event_type"), ("end_time", "time")):
        frame[column] = frame[source].where(is_end).groupby(by_task).bfill()
    for minutes in (5, 15, 30, 45, 60):
        within = frame["end_time"] <= frame["time"] + minutes * 60_000_000
        frame[f"label_{minutes}m"] = within & (frame["end_kind"] == KINDS["fails"])
    return frame.sort_values("order").rename(columns={"job_id": "job", "machine_id": "machine"})


def _pandas_windows(frame: pd.DataFrame) -> pd.DataFrame:
    """Counts by key in rolling windows that end strictly before each decision."""
    frame = frame.assign(at=pd.to_datetime(frame["time"], unit="us")).reset_index(drop=True)
    for kind, code in KINDS.items():
        frame[kind] = (frame["event_type"] == code).astype("float32")
    decisions = frame["event_type"] == SCHEDULE
    found: dict[str, np.ndarray] = {}
    for key in KEYS:
        ordered = frame.sort_values([key, "order"])
        for minutes in MINUTES:
            rolled = ordered.groupby(key, sort=True)[[*KINDS, "at"]].rolling(
                f"{minutes}min", on="at", closed="left"
            )
            sums = rolled[list(KINDS)].sum()
            sums.index = ordered.index[ordered[key].notna()]  # groups come in the sorted order
            sums = sums.reindex(frame.index).fillna(0)
            for kind in KINDS:
                found[f"{key}_{kind}_{minutes}m"] = sums.loc[decisions, kind].to_numpy()
    return pd.DataFrame(found)


def _differing(frame: pd.DataFrame, counts: pd.DataFrame, built: Dataset) -> int:
    """Count the values of pandas that are not the build's.

    A KILL often stands without its machine; the build knows it from the attempt, this pandas does not.
    """
    names = [
        name
        for name in counts.columns
        if name in built.feature_names and not name.startswith("machine_kills")
    ]
    values = np.nan_to_num(built.features(names))
    differing = int((values != counts[names].to_numpy()).sum())
    anchors = built.anchors().select("label_15m").collect()["label_15m"].to_numpy()
    labels = frame.loc[frame["event_type"] == SCHEDULE, "label_15m"].to_numpy()
    known = anchors >= 0
    return differing + int((labels[known] != (anchors[known] == 1)).sum())


if __name__ == "__main__":
    sys.exit(main())
