"""Traces made by hand are read, thinned and converted as documented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import polars as pl
import pytest

from bus.errors import InputError
from features.codes import program_of
from lab.traces.google2011 import read_google2011
from lab.traces.openb import read_openb
from lab.workloads import check, fit, prepare
from lab.workloads.figures import arrival_endings, batch_rows, quantiles, request_rows
from lab.workloads.retries import Cut, cut_courses
from lab.workloads.thinning import every_kth, sample_machines
from twin.port.workloads import open_workload

HOUR = 3600
SECOND = 1_000_000
SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL = range(6)

POD_HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time,gpu_spec33"
)
PODS = [
    "old-ls,4000,8192,1,500,,LS,Running,100,90000,110,",  # beyond the end of the collection
    "gone,1000,1024,0,0,,BE,Running,100,3000,110,",  # ended before the busiest hour
    f"ends,2000,2048,0,0,,Burstable,Succeeded,200,{HOUR + 60},260,",
    f"fails,3000,4096,0,0,,BE,Failed,{HOUR + 120},{HOUR + 500},{HOUR + 200},",
    f"waits,5000,4096,2,1000,,LS,Pending,{HOUR + 300},{HOUR + 400},,",
    f"more,1000,1024,0,0,,BE,Running,{HOUR + 310},{HOUR + 320},{HOUR + 310},",
    f"last,1000,1024,0,0,,Guaranteed,Running,{HOUR + 300},{HOUR + 900},{HOUR + 300},",
]


@pytest.fixture
def openb_dir(tmp_path: Path) -> Path:
    """A folder with a seven-pod openb trace on four machines of two shapes."""
    folder = tmp_path / "k8s"
    folder.mkdir()
    nodes = ["sn,cpu_milli,memory_mib,gpu,model"]
    nodes += [f"gpu-{i},96000,393216,8,G2" for i in range(3)] + ["plain-0,32000,262144,0,"]
    (folder / "openb_node_list.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (folder / "openb_pod_list.csv").write_text(
        "\n".join([POD_HEADER, *PODS]) + "\n", encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def google_dir(tmp_path: Path) -> Path:
    """A folder with a 2011 trace of one machine and three tasks."""
    folder = tmp_path / "google2011"
    folder.mkdir()
    rows = [
        (0, 1, 0, SUBMIT, 3, 9), (0, 1, 0, SCHEDULE, 3, 9),
        (4000, 2, 0, SUBMIT, 0, 0), (4010, 2, 0, SCHEDULE, 0, 0), (4110, 2, 0, EVICT, 0, 0),
        (4110, 2, 0, SUBMIT, 0, 0), (4200, 2, 0, SCHEDULE, 0, 0), (4250, 2, 0, FAIL, 0, 0),
        (4260, 2, 0, SUBMIT, 0, 0), (4261, 2, 0, SCHEDULE, 0, 0), (4300, 2, 0, FINISH, 0, 0),
        (4400, 3, 1, SUBMIT, 1, 10), (4410, 3, 1, SCHEDULE, 1, 10), (4500, 3, 1, KILL, 1, 10),
        (8000, 4, 0, SUBMIT, 0, 2),
    ]  # fmt: skip
    pl.DataFrame(
        {
            "time": [row[0] * SECOND for row in rows],
            "job_id": [row[1] for row in rows],
            "task_index": [row[2] for row in rows],
            "machine_id": [None] * len(rows),
            "event_type": [row[3] for row in rows],
            "user": ["ann"] * len(rows),
            "scheduling_class": [row[4] for row in rows],
            "priority": [row[5] for row in rows],
            "cpu_request": [0.125] * len(rows),
            "memory_request": [0.25] * len(rows),
            "part": [0] * len(rows),
        }
    ).write_parquet(folder / "task_events.parquet")
    pl.DataFrame(
        {
            "time": [0],
            "machine_id": [5],
            "event_type": [0],
            "cpus": [1.0],
            "memory": [0.5],
        }
    ).write_parquet(folder / "machine_events.parquet")
    pl.DataFrame(
        {
            "time": [HOUR * SECOND],
            "job_id": [2],
            "event_type": [SUBMIT],
            "user": ["ann"],
            "scheduling_class": [0],
            "logical_job_name": ["report"],
        }
    ).write_parquet(folder / "job_events.parquet")
    return tmp_path


def test_openb_pods_become_arrivals_by_name(openb_dir: Path, tmp_path: Path) -> None:
    """From the busiest hour on, pods keep name, time, request, remaining life and outcome."""
    prepared = prepare("openb", openb_dir, tmp_path / "out.jsonl", nodes=4, seed=1)
    # Four machines are the whole node list; its share of the 100-node reference keeps few pods.
    assert open_workload(str(prepared.path), nodes=4, seed=1).nodes[0].name == "gpu-0"
    trace = read_openb(openb_dir)
    assert trace.busiest_hour() == (1, 4)
    running = {row["name"]: row["left_seconds"] for row in trace.running_at(HOUR).to_dicts()}
    assert running == {"old-ls": None, "ends": 60.0}
    pods = {row["name"]: row for row in trace.pods.to_dicts()}
    assert (pods["fails"]["outcome"], pods["fails"]["running_seconds"]) == (
        "fail",
        300.0,
    )
    assert (pods["waits"]["start_seconds"], pods["waits"]["running_seconds"]) == (
        None,
        100.0,
    )
    assert pods["old-ls"]["gpus"] == 1


def test_prepared_file_is_the_same_for_one_seed(openb_dir: Path, tmp_path: Path) -> None:
    """Converting twice with one seed writes the same bytes and leaves no partial file."""
    texts = [
        prepare("openb", openb_dir, tmp_path / name, nodes=2, seed=5).path.read_bytes()
        for name in ("a.jsonl", "b.jsonl")
    ]
    assert texts[0] == texts[1]
    assert not list(tmp_path.glob("*.partial"))


def test_google_lives_span_evictions_and_end_at_failures(google_dir: Path) -> None:
    """An eviction pauses a life, a failure ends it, and the next submission is a new one."""
    lives = {row["name"]: row for row in read_google2011(google_dir).pods.to_dicts()}
    assert list(lives) == ["g11-1-0", "g11-2-0", "g11-2-0-1", "g11-3-1", "g11-4-0"]
    crashed, rerun = lives["g11-2-0"], lives["g11-2-0-1"]
    assert (crashed["running_seconds"], crashed["outcome"]) == (150.0, "fail")
    assert (rerun["running_seconds"], rerun["outcome"]) == (39.0, "succeed")
    assert lives["g11-1-0"]["end_seconds"] is None
    assert lives["g11-3-1"]["outcome"] == "run"
    assert lives["g11-4-0"]["start_seconds"] is None


def test_google_units_and_classes(google_dir: Path) -> None:
    """Requests scale to a largest machine of 64 cores and 256 GiB; bands become classes."""
    trace = read_google2011(google_dir)
    assert trace.nodes["cpu_millicores"].to_list() == [64_000]
    assert trace.nodes["memory_bytes"].to_list() == [128 * 2**30]
    assert set(trace.pods["cpu_millicores"]) == {8_000}
    assert set(trace.pods["memory_bytes"]) == {64 * 2**30}
    classes = dict(trace.pods.select("name", "class_name").rows())
    assert classes["g11-1-0"] == "production-service"
    assert classes["g11-3-1"] == "production-task"
    assert (classes["g11-2-0"], classes["g11-4-0"]) == ("free", "batch")


def test_google_converts_and_plays(google_dir: Path, tmp_path: Path) -> None:
    """With one node for one machine every life of the busiest hour is played at its time."""
    path = prepare("google2011", google_dir, tmp_path / "out.jsonl", nodes=1, seed=1).path
    played = {a.name: a for a in open_workload(str(path), nodes=1, seed=1).arrivals}
    assert list(played) == ["g11-1-0", "g11-2-0", "g11-2-0-1", "g11-3-1", "g11-4-0"]
    assert played["g11-1-0"].time_seconds == 0
    assert played["g11-1-0"].duration_seconds is None
    assert played["g11-2-0"].time_seconds == 400
    assert (played["g11-3-1"].duration_seconds, played["g11-3-1"].kind) == (90, "task")


@pytest.mark.parametrize(
    ("start", "played"),
    [(3980.0, {"150f,39s": 20.0, "90s": 420.0}), (4255.0, {"39s": 10.0, "90s": 145.0})],
)
def test_google_failures_are_retries_of_one_job(
    google_dir: Path, start: float, played: dict[str, float]
) -> None:
    """What was submitted again is an attempt of the same pod, in its owner's namespace; what is over is left out."""
    arrivals = cut_courses(google_dir, Cut(nodes=1, seed=1, start_seconds=start)).arrivals
    assert {one.attempts: one.time_seconds for one in arrivals if one.attempts} == played
    services = [one.duration_seconds for one in arrivals if one.kind == "service"]
    assert services == [None]
    owners = {one.namespace for one in arrivals}
    assert len(owners) == 1
    assert program_of("u/Job/" + arrivals[-1].name) == "u/Job/" + arrivals[-1].name.split("-")[0]


def test_a_start_beyond_the_trace_is_refused(google_dir: Path) -> None:
    """A start that the trace does not have is refused by name."""
    with pytest.raises(InputError, match="--start"):
        cut_courses(google_dir, Cut(nodes=1, seed=1, start_seconds=9_000.0))


@pytest.mark.parametrize("name", ["openb", "google2011", "borg"])
def test_missing_traces_are_input_errors(name: str, tmp_path: Path) -> None:
    """An empty folder or an unknown trace gives one line that names what is missing."""
    with pytest.raises(InputError):
        prepare(name, tmp_path, tmp_path / "out.jsonl", nodes=3, seed=1)


def test_thinning_keeps_shares() -> None:
    """Systematic sampling keeps the share of any run of items to within one."""
    kept = every_kth(range(1000), 0.13, Random(4))
    assert all(abs(sum(i < end for i in kept) - 0.13 * end) <= 1 for end in range(0, 1000, 50))
    assert every_kth(range(5), 1.0, Random(4)) == [0, 1, 2, 3, 4]


def test_machine_sample_keeps_the_mix() -> None:
    """A quarter of the machines holds a quarter of each shape."""
    nodes = pl.DataFrame(
        {"name": [f"n{i:03d}" for i in range(100)], "shape": ["a"] * 60 + ["b"] * 40}
    )
    shapes = sample_machines(nodes, 25, Random(2))["shape"].to_list()
    assert (shapes.count("a"), shapes.count("b")) == (15, 10)


def test_merged_requests_keep_the_load() -> None:
    """Merging rare requests changes neither their number nor their sum beyond rounding."""
    rng = Random(3)
    pods = pl.DataFrame(
        {
            "cpu_millicores": [rng.randrange(100, 60_000) for _ in range(3000)],
            "memory_bytes": [rng.randrange(2**28, 2**38) for _ in range(3000)],
            "gpus": [rng.randrange(2) for _ in range(3000)],
        }
    )
    rows = request_rows(pods)
    assert len(rows) < 300
    assert sum(row.weight for row in rows) == 3000
    load = sum(row.cpu_millicores * row.weight for row in rows)
    assert load == pytest.approx(pods["cpu_millicores"].sum(), rel=1e-3)


def test_batches_keep_the_number_of_pods() -> None:
    """Merged submission sizes still add up to the pods they hold, to within rounding."""
    pods = pl.DataFrame({"batch": [f"b{i}" for i in range(60) for _ in range(i + 1)]})
    total = sum(row.size * row.weight for row in batch_rows(pods))
    assert total == pytest.approx(len(pods), rel=0.02)


def test_endings_add_up_and_open_runs_get_a_day() -> None:
    """Shares of outcomes sum to one; what outlived the trace is given a day, not for ever."""
    pods = pl.DataFrame(
        {
            "outcome": ["fail", "run", "run", "succeed"],
            "end_seconds": [10.0, None, 30.0, 40.0],
            "running_seconds": [5.0, 99.0, 7.0, 9.0],
        }
    )
    endings = arrival_endings(pods)
    assert sum(ending.share for ending in endings) == pytest.approx(1)
    assert [86_400.0] in [ending.duration_seconds_quantiles for ending in endings]


def test_quantiles_hold_extremes_and_order() -> None:
    """At most 101 quantiles, ascending, from the least to the greatest value."""
    rng = Random(6)
    values = [rng.random() * 100 for _ in range(1000)]
    picked = quantiles(values)
    assert len(picked) == 101
    assert picked == sorted(picked)
    assert (picked[0], picked[-1]) == (round(min(values), 1), round(max(values), 1))
    assert quantiles([4.0]) == [4.0]
    assert quantiles([]) == []


@pytest.mark.parametrize("command", [fit.main, check.main])
def test_commands_refuse_an_empty_folder(
    command: Callable[[list[str]], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without the trace files both commands end with code 2 and one line on standard error."""
    arguments = ["--data", str(tmp_path)]
    if command is fit.main:
        arguments += ["--out", str(tmp_path / "out")]
    assert command(arguments) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert str(tmp_path) in complaint
    assert not (tmp_path / "out").exists()
