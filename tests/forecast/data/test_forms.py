"""The published forms: the same events whatever the file type, and codes of the trace's own version."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from features.history import Kind
from lab.forecast.dataset_build import DatasetPlan, build_dataset
from lab.traces.events import GOOGLE_2011, GOOGLE_2019
from lab.traces.google2011 import READER as GOOGLE2011
from lab.traces.repair import RepairLog, SchemaDrift

SECOND_US = 1_000_000
INSTANCES = [
    {"time": 900 * SECOND_US, "type": 0, "collection_id": 10, "instance_index": 1},
    {"time": 960 * SECOND_US, "type": 3, "collection_id": 10, "instance_index": 1},
    {"time": 9000 * SECOND_US, "type": 10, "collection_id": 11, "instance_index": 0},
    {"time": 990 * SECOND_US, "type": 5, "collection_id": 10, "instance_index": 1},
    {"time": 940 * SECOND_US, "type": 2, "collection_id": 10, "instance_index": 1},
]
REST = {"priority": 200, "scheduling_class": 3, "machine_id": 77}
COLLECTION = {
    "time": 800 * SECOND_US,
    "type": 0,
    "collection_id": 10,
    "scheduling_class": 3,
    "priority": 200,
    "user": "ann",
    "collection_logical_name": "batch",
}


def _build(given: Path, folder: Path, trace: str = "google2019", **asked: object) -> pl.DataFrame:
    plan = DatasetPlan(trace, given, "x", feature_set="none", replace=True, **asked)  # type: ignore[arg-type]
    build_dataset(plan, folder, lambda _stage, _done, _all: None)
    return pl.read_parquet(folder / "x" / "events.parquet")


def _parquet(folder: Path) -> None:
    rows = [{**row, **REST, "resource_request": {"cpus": 0.1, "memory": 0.2}} for row in INSTANCES]
    pl.DataFrame(rows).write_parquet(folder / "instance_events.parquet")
    pl.DataFrame([COLLECTION]).write_parquet(folder / "collection_events.parquet")


def _json(folder: Path) -> None:
    rows = [
        {**{name: str(value) for name, value in row.items()}, **REST}
        | {"resource_request": {"cpus": 0.1, "memory": 0.2}}
        for row in INSTANCES
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "instance_events-000000000000.json.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "collection_events.json").write_text(json.dumps([COLLECTION]))


def _csv(folder: Path) -> None:
    shards = folder / "instance_events"
    shards.mkdir()
    for number, row in enumerate(INSTANCES):
        whole = {**row, **REST, "resource_request.cpus": 0.1, "resource_request.memory": 0.2}
        text = ",".join(whole) + "\n" + ",".join(f'"{value}"' for value in whole.values()) + "\n"
        (shards / f"{number:012}.csv").write_text(text)
    pl.DataFrame([COLLECTION]).write_csv(folder / "collection_events.csv")


@pytest.mark.parametrize("write", [_parquet, _json, _csv])
def test_exports_of_2019_mean_the_same_in_every_file_type(write: object, tmp_path: Path) -> None:
    """Parquet, JSON and CSV, in one file or shards, sorted or not: the same events by 2019's codes."""
    source = tmp_path / "source"
    source.mkdir()
    write(source)  # type: ignore[operator]

    events = _build(source, tmp_path)

    kinds = [Kind.SUBMIT, Kind.SCHEDULE, Kind.FAIL]
    assert [900, 960, 990] == [time_us // SECOND_US for time_us in events["time_us"]]
    assert kinds == events["kind"].to_list()
    assert [-1, -1, 960 * SECOND_US] == events["attempt_start_us"].to_list()
    assert {(0, 0, 77, 200)} == set(events.select("name", "user", "machine", "priority").rows())
    assert [pytest.approx(0.2)] * 3 == events["memory_request"].to_list()


def test_each_version_has_its_own_codes() -> None:
    """3 is FAIL in 2011 and SCHEDULE in 2019; 2 and 6 are no failures in 2019."""
    assert (Kind.FAIL, Kind.SCHEDULE) == (GOOGLE_2011[3], GOOGLE_2019[3])
    assert (Kind.OTHER, Kind.FINISH, Kind.FAIL) == (GOOGLE_2019[2], GOOGLE_2019[6], GOOGLE_2019[5])


KAGGLE = {
    "time": "9.6E+08",
    "collection_id": "1.5E+11",
    "instance_index": "3",
    "machine_id": "7",
    "start_time": "1",
    "end_time": "300000001",
    "scheduling_class": "1",
    "priority": "200",
    "resource_request": "\"{'cpus': 0.25, 'memory': None}\"",
    "user": "u",
    "collection_logical_name": "n",
    "average_usage": "\"{'cpus': 0.5, 'memory': 0.125}\"",
    "maximum_usage": "\"{'cpus': 0.75,\n 'memory': 0.25}\"",
    "cluster": "7",
}


def _kaggle(folder: Path, rows: list[dict[str, str]]) -> Path:
    path = folder / "borg_traces_data.csv"
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_failed_column_of_the_kaggle_sample_is_not_believed(tmp_path: Path) -> None:
    """A row marked failed with type 2 is no failure; a row not marked with type 5 is one."""
    marked = {**KAGGLE, "instance_events_type": "2", "event": "FAIL", "failed": "1"}
    failing = {**KAGGLE, "time": "980000000", "instance_events_type": "5", "event": "LOST"}
    path = _kaggle(tmp_path, [marked, {**failing, "failed": "0"}])

    events = _build(path, tmp_path, "kaggle2019")

    assert [(980 * SECOND_US, Kind.FAIL)] == events.select("time_us", "kind").rows()
    assert [0.25] == events["cpu_request"].to_list()
    usage = pl.read_parquet(tmp_path / "x" / "usage.parquet")
    assert [(0.5, 0.75, 0.125, 0.25)] * 2 == usage.select(
        "cpu_mean", "cpu_max", "memory_mean", "memory_max"
    ).rows()
    notes = json.loads((tmp_path / "x" / "manifest.json").read_text())["notes"]
    assert "marks ENABLE events" in notes[0]


WINDOW = {
    "source_cluster_id": "eu",
    "source_workload_id": "shop",
    "source_workload_instance_id": "shop-1",
    "window_start_us": 0,
    "window_end_us": 300 * SECOND_US,
    "requested_cpu": 0.5,
    "requested_mem": 0.25,
    "observed_cpu_avg": 0.125,
    "terminal_event_time_us": None,
    "terminal_event_type": None,
}


def _window(number: int, end_us: int | None = None, kind: str | None = None) -> dict[str, object]:
    start = number * 300 * SECOND_US
    return {
        **WINDOW,
        "window_start_us": start,
        "window_end_us": start + 300 * SECOND_US,
        "terminal_event_time_us": end_us,
        "terminal_event_type": kind,
    }


def test_a_window_after_its_own_end_is_excluded_and_counted(tmp_path: Path) -> None:
    """Only a terminal event after the window's end is a label; one before it excludes the window."""
    fails_at = 750 * SECOND_US
    rows = [_window(number, fails_at, "FAIL") for number in range(4)]
    rows += [{**_window(20), "source_workload_instance_id": "shop-2"}]
    path = tmp_path / "windows.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)

    _build(path, tmp_path, "common", anchor="window")

    anchors = pl.read_parquet(tmp_path / "x" / "anchors.parquet")
    assert [1, 1, -1, -1, -1] == anchors["label_15m"].to_list()
    counted = json.loads((tmp_path / "x" / "manifest.json").read_text())["anchors"]["by_horizon"][1]
    assert (2, 0, 1, 2) == tuple(
        counted[name] for name in ("positives", "negatives", "censored", "excluded_ended_before")
    )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"terminal_event_type": "3", "terminal_event_time_us": 5}, "unknown-code"),
        ({"terminal_event_time_us": 5}, "terminal_event_type = None: null-key"),
        ({"window_end_us": 0}, "window_end_us = 0: out-of-order"),
        ({"source_workload_id": None}, "source_workload_id = None: null-key"),
    ],
)
def test_poisoned_windows_are_named(changed: dict[str, object], fault: str, tmp_path: Path) -> None:
    """Numbers for names, half a terminal event, windows that end before they begin: named faults."""
    path = tmp_path / "windows.jsonl"
    path.write_text(f"{json.dumps(WINDOW)}\n{json.dumps({**WINDOW, **changed})}\n")

    with pytest.raises(SchemaDrift, match=fault) as raised:
        _build(path, tmp_path, "common")
    assert "windows.jsonl row 2" in str(raised.value)


def _row_2011(time_us: int) -> str:
    return f"{time_us},,1,0,5,0,ann,2,9,0.1,0.2,0.01,0\n"


@pytest.mark.parametrize(
    ("names", "segments"),
    [
        (("part-00000-of-00500.csv.gz", "part-00001-of-00500.csv.gz"), [0, 0]),
        (("part-00013-of-00500.csv.gz", "part-00015-of-00500.csv.gz"), [0, 1]),
        (("one.csv", "two.csv"), [0, 1]),
    ],
)
def test_segments_follow_the_part_numbers_or_long_pauses(
    names: tuple[str, str], segments: list[int], tmp_path: Path
) -> None:
    """Parts in succession are one segment however long the pause; unnamed files split at a pause."""
    folder = tmp_path / "task_events"
    folder.mkdir()
    for number, name in enumerate(names):
        raw = _row_2011((1_000 + number * 1_000) * SECOND_US).encode()
        (folder / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)

    frames = list(GOOGLE2011.task_events(GOOGLE2011.find(tmp_path), RepairLog(repair=False)))

    assert segments == pl.concat(frames)["segment"].to_list()
