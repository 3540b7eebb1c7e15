"""`foresail run-trace` on what has no rows yet: raw metrics, and tables of Google's and of the common form."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from lab.rerun.verify import verify
from projections.frame_states import FrameStates
from schemas.observation import Observation

Table = dict[str, list[Any]]
SECOND = 1_000_000
# SUBMIT, SCHEDULE, EVICT, FAIL, FINISH by the numbers of each trace.
CODES = {"google2011": (0, 1, 2, 3, 4), "google2019": (0, 3, 4, 5, 6)}
TASKS = (
    # seconds, event, job, machine, CPU asked for
    (0, "submit", 1, 0, 0.2),
    (0, "schedule", 1, 11, 0.2),
    (700, "submit", 2, 0, 0.4),
    (710, "schedule", 2, 12, 0.4),
    (720, "submit", 3, 0, 0.9),
    (910, "fail", 1, 11, 0.2),
    (1210, "finish", 2, 12, 0.4),
    (1510, "submit", 4, 0, 0.1),
)
WORDS = ("submit", "schedule", "evict", "fail", "finish")


def google_tables(folder: Path, trace: str) -> Path:
    """Write the same story as the tables of a trace: two machines of different sizes, four tasks."""
    folder.mkdir()
    machines: Table = {
        "time": [0, 0],
        "machine_id": [11, 12],
        "cpus": [0.5, 1.0],
        "memory": [0.5, 1.0],
    }
    events: Table = {
        "time": [seconds * SECOND for seconds, *_ in TASKS],
        "machine_id": [machine for *_, machine, _ in TASKS],
        "priority": [1] * len(TASKS),
        "scheduling_class": [0] * len(TASKS),
    }
    types = [CODES[trace][WORDS.index(word)] for _, word, *_ in TASKS]
    jobs, cpus = [one[2] for one in TASKS], [one[4] for one in TASKS]
    zeros = [0] * len(TASKS)
    if trace == "google2011":
        machines |= {"event_type": [0, 0]}
        events |= {"event_type": types, "job_id": jobs, "task_index": zeros, "user": ["u"] * len(jobs),
                   "cpu_request": cpus, "memory_request": cpus}  # fmt: skip
        pl.DataFrame(events).write_parquet(folder / "task_events.parquet")
    else:
        machines |= {"type": [1, 1]}
        events |= {
            "type": types,
            "collection_id": jobs,
            "instance_index": zeros,
            "cpus": cpus,
            "memory": cpus,
        }
        pl.DataFrame(events).write_parquet(folder / "instance_events.parquet")
    pl.DataFrame(machines).write_parquet(folder / "machine_events.parquet")
    return folder


def observed(recording: Path) -> list[tuple[Observation, dict[str, tuple[Any, ...]]]]:
    """Return each observation with CPU and memory of its nodes."""
    frames, seen = FrameStates(), []
    for message in open_recording(recording):
        event = event_of(message)
        if not isinstance(event.data, Observation):
            continue
        state = frames.add(event)
        assert state is not None
        nodes: Any = state.tables["nodes"]
        shares = zip(nodes.cpu_requested_ratio, nodes.memory_requested_ratio, strict=True)
        seen.append((event.data, dict(zip(nodes.ids, shares, strict=True))))
    return seen


def play(path: Path, out: Path, *more: str) -> list[tuple[Observation, dict[str, tuple[Any, ...]]]]:
    """Play a file or folder; return what was observed."""
    assert main(["run-trace", str(path), str(out), *more]) == 0
    return observed(out)


def test_the_trace_of_2019_is_played_as_that_of_2011(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same story in both traces' own codes gives the same rows, and these are those of the story."""
    seen = {}
    for trace in CODES:
        folder, out = google_tables(tmp_path / trace, trace), tmp_path / f"{trace}.fslog"
        seen[trace] = play(folder, out, "--form", trace)
        report = verify(out)
        assert report.layers["decision"].equal == 4
        assert not any(layer.different for layer in report.layers.values())
    by_hand = [
        # until, queue, violations, completed, CPU of machines 11 and 12
        (900, 1, 1, 0, 0.4, 0.4),
        (1200, 1, 2, 0, 0.0, 0.4),
        (1500, 1, 1, 1, 0.0, 0.0),
        (1800, 2, 2, 1, 0.0, 0.0),
    ]
    for rows in seen.values():
        said = [
            (one.cluster_time_seconds, one.totals.queue_length, one.totals.sla_violations,
             one.totals.completed_tasks, nodes["11"][0], nodes["12"][0])
            for one, nodes in rows
        ]  # fmt: skip
        assert said == [pytest.approx(row, abs=1e-6) for row in by_hand]
    capsys.readouterr()
    for verb in (
        ["explain", "2", "--recording"],
        ["report", "--recording"],
        ["what-if", "--set", "agents.safety.replicate=0.75"],
    ):
        assert main([*verb, str(tmp_path / "google2019.fslog")]) in {0, 1}, verb
        assert capsys.readouterr().out


def test_a_part_of_the_tables_is_played(tmp_path: Path) -> None:
    """From an offset on, so many rows, so many nodes, in stretches of a length of one's choice."""
    folder = google_tables(tmp_path / "g", "google2019")
    part = ("--form", "google2019", "--offset", "1", "--max-rows", "2", "--max-nodes", "1")
    rows = play(folder, tmp_path / "a.fslog", *part)
    assert [one.cluster_time_seconds for one, _ in rows] == [1200, 1500]
    assert {tuple(nodes) for _, nodes in rows} == {("11",)}
    whole = play(folder, tmp_path / "b.fslog", "--form", "google2019", "--interval", "10m")
    assert [one.cluster_time_seconds for one, _ in whole] == [1200, 1800]


USAGE: Table = {
    "start_time": [600 * SECOND, 600 * SECOND, 900 * SECOND],
    "end_time": [900 * SECOND, 900 * SECOND, 1200 * SECOND],
    "collection_id": [1, 2, 2],
    "instance_index": [0, 0, 0],
    "machine_id": [11, 12, 12],
    "cpu_mean": [0.1, 0.3, 0.5],
    "memory_mean": [0.25, 0.2, 0.4],
}


def test_windows_are_written_in_the_common_form_and_played(tmp_path: Path) -> None:
    """Use that was measured is what nodes are judged by; written, renamed and numbered it means the same."""
    folder = google_tables(tmp_path / "g", "google2019")
    pl.DataFrame(USAGE).write_parquet(folder / "instance_usage.parquet")
    measured = play(folder, tmp_path / "g.fslog", "--form", "google2019")
    assert [nodes["12"] for _, nodes in measured] == [
        pytest.approx((0.3, 0.2)),
        pytest.approx((0.5, 0.4)),
    ]
    assert measured[0][1]["11"] == pytest.approx((0.2, 0.5))  # of a machine half as large

    out = tmp_path / "windows.parquet"
    given = ["forecast", "windows", "--trace", "google2019", "--input", str(folder), "--out"]
    assert main([*given, str(out), "--default-cluster", "a", "--platform", "borg"]) == 0
    windows = pl.read_parquet(out)
    assert windows["source_platform"].unique().to_list() == ["borg"]
    assert windows["terminal_event_type"].to_list() == ["FAIL", "FINISH", "FINISH"]
    assert windows["observed_cpu_avg_ratio"].to_list() == pytest.approx([0.5, 0.75, 1.25])

    named = {"observed_cpu_avg": "cpu", "source_workload_id": "app", "terminal_event_type": "end"}
    theirs = tmp_path / "theirs.csv"
    numbers = windows.with_columns(
        pl.col("terminal_event_type").replace_strict({"FAIL": 5, "FINISH": 6})
    )
    numbers.rename(named).drop("source_cluster_id").write_csv(theirs)
    mapping = tmp_path / "names.json"
    mapping.write_text(json.dumps({name: named.get(name, name) for name in windows.columns
                                   if name != "source_cluster_id"}))  # fmt: skip
    options = ["--mapping", str(mapping), "--default-cluster", "a", "--numeric-codes", "google2019"]
    common = ["forecast", "windows", "--trace", "common", "--input", str(theirs), *options]
    again = tmp_path / "again.parquet"
    assert main([*common, "--out", str(again), "--platform", "borg"]) == 0
    assert pl.read_parquet(again).equals(windows)
    coded = tmp_path / "coded.csv"
    assert main([*common, "--out", str(coded), "--write-codes", "google2011"]) == 0
    assert pl.read_csv(coded)["terminal_event_type"].to_list() == [3, 4, 4]

    sizes = ("--node-cpu", "1", "--node-memory", "1")
    played = play(theirs, tmp_path / "c.fslog", "--form", "common", *options, *sizes, "--cell", "a")
    assert [nodes["a/12"] for _, nodes in played] == [nodes["12"] for _, nodes in measured]


def test_the_mapping_is_read_for_datasets_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One reader: the same options of `forecast dataset`; numbers whose trace nobody names are refused."""
    monkeypatch.setenv("BORG_PROCESSED_DIR", str(tmp_path / "processed"))
    minutes = [5 * number for number in range(1, 40)]
    with (tmp_path / "mine.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["app", "pod", "begin", "end", "cores", "memory", "ended", "how"])
        for app in range(6):
            for end in minutes:
                rows.writerow([app, 0, (end - 5) * 60 * SECOND, end * 60 * SECOND, 1, 1,
                               (150 + app) * 60 * SECOND, 5 if app % 2 else 6])  # fmt: skip
    mapping = {"source_workload_id": "app", "source_workload_instance_id": "pod", "window_start_us": "begin",
               "window_end_us": "end", "requested_cpu": "cores", "requested_mem": "memory",
               "terminal_event_time_us": "ended", "terminal_event_type": "how"}  # fmt: skip
    (tmp_path / "names.json").write_text(json.dumps(mapping))
    given = ["forecast", "dataset", "--trace", "common", "--input", str(tmp_path / "mine.csv"), "--name", "mine",
             "--anchor", "window", "--features", "none", "--mapping", str(tmp_path / "names.json"),
             "--default-cluster", "here", "--numeric-codes"]  # fmt: skip
    assert main([*given, "google2019"]) == 0
    (made,) = (tmp_path / "processed").rglob("mine/manifest.json")
    manifest = json.loads(made.read_text(encoding="utf-8"))
    assert manifest["recipe"]["numeric_codes"] == "google2019"
    horizon = next(one for one in manifest["anchors"]["by_horizon"] if one["minutes"] == 15)
    assert (
        horizon["positives"] == 9
    )  # three failing pods, three windows each that end in the 15 minutes before
    assert main([*given[:-1], "--replace"]) == ExitCode.BAD_INPUT
    assert "--numeric-codes says whose they are" in capsys.readouterr().err


POINTS = [
    {"timestamp": 1_700_000_000, "node_id": "b", "cpu_util": 0.5, "mem_util": 0.7, "task_id": "t0",
     "urgency": 0.4, "queue_priority": 3, "queue_length": 50, "energy_price": 0.13},
    {"timestamp": 1_700_000_010, "node_id": "a", "cpu_util": 0.6, "mem_util": 0.2, "queue_length": 60,
     "disk_util": 0.4},
    {"timestamp": 1_700_000_020, "node_id": "b", "cpu_util": 0.9, "mem_util": 0.8, "sla_violations": 2},
    {"timestamp": 1_700_000_060, "node_id": "a", "cpu_util": 0.1, "mem_util": 0.1},
]  # fmt: skip


def test_raw_metrics_are_gathered_by_minute(tmp_path: Path) -> None:
    """Of each node the last point, of each count the largest; the same from JSON, JSON Lines and CSV."""
    (tmp_path / "m.json").write_text(json.dumps(POINTS), encoding="utf-8")
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, POINTS)), encoding="utf-8")
    pl.DataFrame(POINTS).write_csv(tmp_path / "m.csv")
    for number, name in enumerate(("m.json", "m.jsonl", "m.csv")):
        (first, nodes), (second, later) = play(tmp_path / name, tmp_path / f"{number}.fslog")
        assert first.cluster_time_seconds == 1_700_000_000 - 1_700_000_000 % 60
        assert nodes == {"a": (0.6, 0.2), "b": (0.9, 0.8)}
        assert (first.totals.queue_length, first.totals.sla_violations) == (60, 2)
        assert first.totals.energy_price == 0.13
        assert (later, second.totals.queue_length) == ({"a": (0.1, 0.1)}, 0)
    rows = [{"timestamp": 5, "nodes": [{"node_id": "a", "cpu_util": 1, "mem_util": 0}]}]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    assert len(play(tmp_path / "rows.json", tmp_path / "r.fslog", "--form", "metrics")) == 1


@pytest.mark.parametrize(
    ("name", "content", "more", "words"),
    [
        ("m.jsonl", '{"timestamp": 1, "node_id": "a"}', (), "row 1: cpu_util = (missing)"),
        ("m.jsonl", '{"timestamp": 1, "node_id": "a", "cpu_util": 1, "mem_util": 1}\n{"timestamp": 2, "nodes": []}',
         (), "row 2 = a row with nodes"),
        ("m.csv", "timestamp,node_id\n1,2,3\n", (), "the header has fewer columns"),
        ("m.csv", "a,b\n1,2\n", (), "give a trace (rows with timestamp"),
        ("t.parquet", "", (), "--form = (not given)"),
        ("t.csv", "", ("--form", "google2019", "--mapping", "MAPPING"), "it is of --form common alone"),
        ("t.csv", "a\n1\n", ("--form", "common", "--mapping", "MAPPING"), "did you mean requested_cpu?"),
        ("t.jsonl", "{}", ("--cell", "a"), "--cell = a: it is of --form common"),
        ("no.csv", None, ("--form", "common"), "give a file or folder that is there"),
    ],
)  # fmt: skip
def test_what_has_no_rows_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    more: tuple[str, ...],
    words: str,
) -> None:
    """File, row or option, value and remedy; no recording is left."""
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    mapping = tmp_path / "mapping.json"
    mapping.write_text('{"requested_cpus": "a"}' if "did" in words else '{"requested_cpu": "a"}')
    options = [str(mapping) if one == "MAPPING" else one for one in more]
    out = tmp_path / "out.fslog"
    assert main(["run-trace", str(tmp_path / name), str(out), *options]) == ExitCode.BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not out.exists()
