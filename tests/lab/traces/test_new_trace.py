"""A stranger's task: a new trace is one reader and one row, and both users of traces take it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from bus.errors import ConfigError, InputError
from features.history import Kind
from foresail.run_settings import RunSettings
from foresail.stack.workload import choose_workload
from lab.forecast.dataset_build import DatasetPlan, build_dataset
from lab.traces import registry
from lab.traces.event_reader import EventReader, TraceInput, find_tables
from lab.traces.events import MICROSECONDS
from lab.traces.machines import MachineKind, machine_rows
from lab.traces.repair import RepairLog
from lab.traces.trace_reader import TraceReader
from lab.traces.workload_trace import (
    POD_COLUMNS,
    PodClass,
    TraceFile,
    WorkloadTrace,
    hour_weights,
    require,
)
from twin.port.workloads import open_workload

NAME = "village"
FILE = "jobs.csv"
JOBS = """job,submitted,began,ended,cores,gigabytes
bread,3600,3605,3700,2,4
cheese,3610,3620,4000,1,2
"""


def _read_village(data_dir: Path) -> WorkloadTrace:
    jobs = pl.read_csv(require(data_dir, FILE))
    seconds = {name: pl.col(name).cast(pl.Float64) for name in ("submitted", "began", "ended")}
    pods = jobs.select(
        pl.col("job").alias("name"),
        pl.lit("job").alias("class_name"),
        pl.col("job").alias("batch"),
        (pl.col("cores") * 1000).alias("cpu_millicores"),
        (pl.col("gigabytes") * 2**30).alias("memory_bytes"),
        pl.lit(0, pl.Int64).alias("gpus"),
        seconds["submitted"].alias("arrive_seconds"),
        seconds["began"].alias("start_seconds"),
        seconds["ended"].alias("end_seconds"),
        (seconds["ended"] - seconds["began"]).alias("running_seconds"),
        pl.lit("succeed").alias("outcome"),
    ).select(POD_COLUMNS)
    return WorkloadTrace(
        name=NAME,
        nodes=machine_rows("barn", [MachineKind(2, 8, 32, 0, "")]),
        pods=pods,
        classes=(PodClass("job", "task", 0),),
        end_seconds=7200.0,
        reference_nodes=2,
        reference_note="two barns",
        hour_weights=hour_weights(pods["arrive_seconds"]),
        dropped="no row",
        files=(TraceFile(FILE, "everything"),),
    )


def _task_events(source: TraceInput, _ledger: RepairLog) -> Iterator[pl.DataFrame]:
    jobs = pl.read_csv(source.tables["jobs"][0])
    rows = [
        (row[column] * MICROSECONDS, int(kind), row["job"])
        for row in jobs.iter_rows(named=True)
        for column, kind in (("began", Kind.SCHEDULE), ("ended", Kind.FAIL))
    ]
    table = pl.DataFrame(
        sorted(rows), schema={"time_us": pl.Int64, "kind": pl.Int8, "job": pl.String}, orient="row"
    )
    yield table.with_row_index("row").with_columns(
        pl.col("row").cast(pl.Int64),
        pl.lit(0, pl.Int32).alias("task"),
        pl.lit("ann").alias("user"),
        pl.col("job").alias("name"),
        pl.lit(-1, pl.Int64).alias("machine"),
        pl.lit(0.5, pl.Float32).alias("cpu_request"),
        pl.lit(0.5, pl.Float32).alias("memory_request"),
        pl.lit(0, pl.Int16).alias("priority"),
        pl.lit(0, pl.Int8).alias("scheduling_class"),
        pl.lit(0, pl.Int8).alias("different_machines"),
        pl.lit(0, pl.Int16).alias("segment"),
    )


VILLAGE = TraceReader(
    name=NAME,
    read_workload=_read_village,
    events=EventReader(
        trace=NAME,
        find=lambda given: find_tables(given, ("jobs",), ("jobs",)),
        task_events=_task_events,
    ),
)


@pytest.fixture
def village(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the made-up trace, whose row is in the registry."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / FILE).write_text(JOBS, encoding="utf-8")
    monkeypatch.setitem(registry.TRACES, NAME, VILLAGE)
    return folder


def test_a_new_trace_is_played_by_the_twin(village: Path, tmp_path: Path) -> None:
    """With its row, `--workload village` and the folder of traces play the trace's own jobs."""
    run = RunSettings(workload=NAME, data=str(village), nodes=2)

    chosen = choose_workload(run, tmp_path / "state")

    assert chosen.kind == "trace_file"
    played = open_workload(chosen.name_or_path, nodes=2, seed=1)
    assert {arrival.name for arrival in played.arrivals} == {"bread", "cheese"}


def test_a_new_trace_becomes_a_dataset(village: Path, tmp_path: Path) -> None:
    """With its row, `forecast dataset --trace village` labels its attempts by how they ended."""
    plan = DatasetPlan(NAME, village, "jobs", feature_set="live")

    manifest, _ = build_dataset(plan, tmp_path / "processed", lambda _stage, _done, _all: None)

    assert manifest["events_by_kind"]["FAIL"] == 2
    assert NAME in registry.event_names()


def test_a_trace_without_one_label_is_refused(village: Path, tmp_path: Path) -> None:
    """All of a day written in one second: every outcome lies beyond the end, and nothing can be learned."""
    head, *_ = JOBS.splitlines()
    (village / FILE).write_text(f"{head}\nbread,3600,3600,3601,2,4\ncheese,3600,3601,3602,1,2\n")
    plan = DatasetPlan(NAME, village, "jobs", feature_set="live")

    with pytest.raises(
        InputError, match=r"rows with a label = 0 of .* check the unit of its times"
    ):
        build_dataset(plan, tmp_path / "processed", lambda _stage, _done, _all: None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"end_seconds": 7.2}, r"village times in jobs\.csv = 7.2 s from first to last"),
        ({"end_seconds": 7_200_000_000.0}, r"village times in jobs\.csv"),
        (
            {"nodes": machine_rows("barn", [MachineKind(2, 8000, 32, 0, "")])},
            "village machines cpu_millicores",
        ),
    ],
)
def test_a_column_in_another_unit_is_refused(
    changes: dict[str, object], message: str, village: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace of seconds or millennia, and a machine of 8,000 cores, are columns in another unit."""
    other = replace(VILLAGE, read_workload=lambda folder: replace(_read_village(folder), **changes))  # type: ignore[arg-type]
    monkeypatch.setitem(registry.TRACES, NAME, other)

    with pytest.raises(InputError, match=message):
        registry.read_workload_trace(NAME, village)


def test_a_trace_without_a_row_is_refused(tmp_path: Path) -> None:
    """An unknown name is refused by both users, with the names that would do."""
    with pytest.raises(InputError, match="openb"):
        registry.read_workload_trace(NAME, tmp_path)
    with pytest.raises(ConfigError, match="google2019"):
        registry.event_reader(NAME)


def test_a_trace_gives_only_what_it_has(tmp_path: Path) -> None:
    """A trace without task events trains nothing, and one without machines is not played."""
    with pytest.raises(ConfigError):
        registry.event_reader("openb")
    with pytest.raises(InputError):
        registry.read_workload_trace("recording", tmp_path)


def test_every_reader_has_its_row() -> None:
    """No file of lab/traces defines a trace that the registry does not know."""
    folder = Path(registry.__file__).parent
    readers = [
        path.stem
        for path in sorted(folder.glob("*.py"))
        if "\nTRACE = " in path.read_text(encoding="utf-8")
    ]

    known = [import_module(f"lab.traces.{name}").TRACE for name in readers]
    assert {trace.name for trace in known} == set(registry.TRACES)
