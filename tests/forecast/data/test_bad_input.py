"""Every way in which a trace can be wrong: a named fault with file, row and field, exit code 2, and
nothing half written.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.history import Kind
from foresail.__main__ import main
from lab.traces.cloud_neutral import FORM as COMMON_FORM
from lab.traces.cloud_neutral import READER as COMMON
from lab.traces.google2011 import READER
from lab.traces.order import out_of_order
from lab.traces.repair import RepairLog, SchemaDrift

GOOD = (
    "600000000,,1,0,5,0,ann,2,9,0.1,0.2,0.01,0",
    "600000001,,1,0,5,1,ann,2,9,0.1,0.2,0.01,0",
    "700000000,,1,0,5,3,ann,2,9,0.1,0.2,0.01,0",
    "9000000000,,2,0,,0,bob,0,0,,,,0",
)
SENTINEL = 2**63 - 1


def _csv(folder: Path, lines: Sequence[str]) -> Path:
    path = folder / "part-00000-of-00500.csv.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


def _with(number: int, field: int, value: object) -> list[str]:
    cells = GOOD[number].split(",")
    cells[field] = str(value)
    return [*GOOD[:number], ",".join(cells), *GOOD[number + 1 :]]


def _truncated_file(folder: Path) -> Path:
    path = _csv(folder, [line for _ in range(300) for line in GOOD[:1]])
    path.write_bytes(path.read_bytes()[:-20])
    return path


def _no_parquet(folder: Path) -> Path:
    path = folder / "task_events.parquet"
    path.write_bytes(b"PAR1 and then nothing of use")
    return path


def _nothing(folder: Path) -> Path:
    path = folder / "part-00000-of-00500.csv.gz"
    path.write_bytes(b"")
    return path


def _table(folder: Path, **changed: object) -> Path:
    columns: dict[str, object] = {
        "time": [600_000_000],
        "job_id": [1],
        "task_index": [0],
        "machine_id": [5],
        "event_type": [0],
        "user": ["ann"],
        "scheduling_class": [2],
        "priority": [9],
        "cpu_request": [0.1],
        "memory_request": [0.2],
    } | changed
    path = folder / "task_events.parquet"
    kept = {name: value for name, value in columns.items() if value is not None}
    pl.DataFrame(kept).write_parquet(path)
    return path


def _of_2019(folder: Path) -> Path:
    path = folder / "instance_events.parquet"
    columns = {"time": [1], "type": [3], "collection_id": [1], "instance_index": [0]}
    pl.DataFrame(columns).write_parquet(path)
    return path


def _header_2019(folder: Path) -> Path:
    return _csv(folder, ["time,type,collection_id,instance_index", "1,3,1,0"])


def _header_2011(folder: Path) -> Path:
    names = (
        "time,missing_info,job_id,task_index,machine_id,event_type,user,scheduling_class,priority,"
        "cpu_request,memory_request,disk_request,different_machines"
    )
    return _csv(folder, [names, *GOOD])


def _lines(lines: Sequence[str]) -> Callable[[Path], Path]:
    return lambda folder: _csv(folder, lines)


MAY_2011 = datetime(2011, 5, 1, tzinfo=UTC)
PART = "part-00000-of-00500.csv.gz"
CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "truncated gzip": (_truncated_file, f"{PART} = Compressed file ended"),
    "damaged parquet": (_no_parquet, "task_events.parquet = "),
    "wrong column count": (_lines([line + ",7" for line in GOOD]), f"{PART} row 1 = 14: column-count"),
    "one row too short": (_lines([GOOD[0], "600000001,,1", *GOOD[2:]]), f"{PART} row 2, columns = 3: column-count"),
    "unexpected header": (_header_2011, f"{PART} row 1 = time,missing_info"),
    "JSON as CSV": (_lines(['{"time": 1}']), "this is JSON, not CSV"),
    "negative time": (_lines(_with(1, 0, -5)), f"{PART} row 2, time = -5: negative-time"),
    "sentinel time": (_lines(_with(2, 0, SENTINEL)), f"{PART} row 3, time = {SENTINEL}: sentinel-time"),
    "time out of order": (_lines(_with(2, 0, 7)), f"{PART} row 3, time = 7: out-of-order"),
    "unknown code": (_lines(_with(2, 5, 17)), f"{PART} row 3, event_type = 17: unknown-code"),
    "null join key": (_lines(_with(1, 2, "")), f"{PART} row 2, job_id = None: null-key"),
    "wrong type": (_lines(_with(1, 9, "much")), f"{PART} row 2, cpu_request = much: wrong-type"),
    "negative request": (_lines(_with(1, 9, -0.5)), f"{PART} row 2, cpu_request = -0.5: negative-amount"),
    "duplicate": (_lines([*GOOD[:3], *GOOD[2:]]), f"{PART} row 4, row = 4: duplicate"),
    "empty file": (_nothing, f"{PART} = 0 rows: empty"),
    "empty gzip": (_lines([]), f"{PART} = 0 rows: empty"),
    "missing column": (lambda folder: _table(folder, user=None), "parquet column user = not there: missing-column"),
    "text for a number": (lambda folder: _table(folder, time=["soon"]), "parquet row 1, time = soon: wrong-type"),
    "2019 parquet as 2011": (_of_2019, "instance_events.parquet column = collection_id: wrong-trace"),
    "2019 CSV as 2011": (_header_2019, f"{PART} column = collection_id: wrong-trace"),
    "seconds": (_lines(_with(0, 0, 600)), f"{PART} row 1, time = 600: wrong-unit"),
    "milliseconds": (_lines(_with(0, 0, 600_000)), f"{PART} row 1, time = 600000: wrong-unit"),
    "nanoseconds": (_lines(_with(3, 0, 9 * 10**15)), f"{PART} row 4, time = {9 * 10**15}: wrong-unit"),
    "a date": (lambda folder: _table(folder, time=[MAY_2011]), "1304208000000000: wrong-unit"),
    "percent": (_lines(_with(1, 9, 12.5)), f"{PART} row 2, cpu_request = 12.5: wrong-unit"),
    "a duration for an id": (lambda folder: _table(folder, job_id=[timedelta(seconds=1)]), "column job_id = Duration"),
    "truth for a number": (lambda folder: _table(folder, priority=[True]), "column priority = Boolean: wrong-type"),
    "a fraction for an id": (lambda folder: _table(folder, job_id=[Decimal("1.5")]), "job_id = 1.5: wrong-type"),
    "no such table": (lambda folder: folder, "missing-table"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_named_line_and_leaves_nothing(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The fault names file, row and field; the exit code is 2; no artifact, whole or half, is left."""
    make, expected = CASES[case]
    source = tmp_path / "source"
    source.mkdir()
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))

    code = main(_command("google2011", make(source)))

    error = capsys.readouterr().err
    assert (2, 1) == (code, error.count("\n"))
    assert expected in error
    assert [] == [path for path in (tmp_path / "space").rglob("*") if path.is_file()]


def _command(trace: str, given: Path, *more: str) -> list[str]:
    words = ["--trace", trace, "--input", str(given), "--name", "x", "--features", "none"]
    return ["forecast", "dataset", *words, *more]


def test_repair_sets_bad_rows_aside_and_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --repair the good rows are built, and the report names fault, field, count and examples."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))
    cells = GOOD[1].split(",")
    bad = [
        "600000002,,1",
        ",".join([*cells[:5], "17", *cells[6:]]),
        ",".join(["", *cells[1:]]),
        GOOD[1],
    ]
    source = _csv(tmp_path, [*GOOD[:2], *bad, *GOOD[2:]])

    code = main(_command("google2011", source, "--repair"))

    printed = capsys.readouterr().out
    assert 0 == code
    assert "4 task events" in printed
    for fault in ("column-count", "unknown-code", "null-key", "duplicate"):
        assert f"1 rows, {fault} (row " in printed


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("kind", [pl.Datetime, pl.Duration])
def test_times_of_any_unit_are_read_as_what_they_are(
    kind: Callable[[str], pl.DataType], unit: str, tmp_path: Path
) -> None:
    """A column that names its unit is read in it: 700 s are 700 s."""
    times = pl.Series([0, 700]) * {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    rows = {"event_type": pl.Series(["0", "1"], dtype=pl.Categorical), "priority": [2, 2]}
    one = {name: [1, 1] for name in ("job_id", "task_index", "machine_id", "scheduling_class")}
    amounts = {"cpu_request": [0.1, 0.1], "memory_request": [0.1, 0.1], "user": ["a", "a"]}
    table = pl.DataFrame({"time": times.cast(kind(unit)), **rows, **one, **amounts})
    table.write_parquet(tmp_path / "task_events.parquet")

    frames = READER.task_events(READER.find(tmp_path), RepairLog(repair=False))

    read = pl.concat(frames)
    assert read["time_us"].to_list() == [0, 700_000_000]
    assert read["kind"].to_list() == [Kind.SUBMIT, Kind.SCHEDULE]


def test_windows_in_milliseconds_are_refused(tmp_path: Path) -> None:
    """Windows of five minutes that would last 0.3 s are in another unit."""
    columns = {name: ["a"] * 3 for name in COMMON_FORM.names[:3]}
    ends = {"window_start_us": [0, 300_000, 600_000], "window_end_us": [300_000, 600_000, 900_000]}
    asked = {"requested_cpu": [1.0] * 3, "requested_mem": [1.0] * 3}
    nothing = {name: [None] * 3 for name in ("terminal_event_time_us", "terminal_event_type")}
    table = pl.DataFrame({**columns, **ends, **asked, **nothing})
    table.write_parquet(tmp_path / "windows.parquet")

    with pytest.raises(SchemaDrift, match="row 1, window_end_us = 300000: wrong-unit"):
        list(COMMON.task_events(COMMON.find(tmp_path), RepairLog(repair=False)))


@pytest.mark.parametrize("absurd", [2_000_000_000_000, 10**15])
def test_repair_sets_the_one_absurd_time_aside(absurd: int, tmp_path: Path) -> None:
    """A time in the far future costs its own row, not the good ones after it."""
    lines = [f"{600_000_000 + row},,1,{row},5,0,ann,2,9,0.1,0.2,0.01,0" for row in range(30)]
    lines[3] = lines[3].replace("600000003", str(absurd))
    ledger = RepairLog(repair=True)

    frames = list(READER.task_events(READER.find(_csv(tmp_path, lines)), ledger))

    assert pl.concat(frames)["task"].to_list() == [0, 1, 2, *range(4, 30)]
    assert [(one["rows"], one["examples"]) for one in ledger.report()] == [
        (1, [f"row 4: {absurd}"])
    ]


def test_repair_stops_where_most_rows_are_bad(tmp_path: Path) -> None:
    """Faults of most rows is how they are read: the commonest fault is named."""
    source = READER.find(_csv(tmp_path, [*GOOD[:1], *_with(1, 5, 17)[1:2], *_with(2, 5, 17)[2:3]]))

    with pytest.raises(SchemaDrift, match=r"2 of 3 rows are bad, 2 of them unknown-code") as fault:
        list(READER.task_events(source, RepairLog(repair=True)))
    assert fault.value.fault == "too-many-bad"


@given(st.lists(st.integers(0, 6), max_size=9))
def test_the_fewest_rows_are_out_of_order(times: list[int]) -> None:
    """What is kept never falls, and no larger choice of rows would do."""
    bad = out_of_order(np.array(times, dtype=np.int64))

    def rises(values: Sequence[int]) -> bool:
        return all(left <= right for left, right in pairwise(values))

    kept = [time for time, wrong in zip(times, bad, strict=True) if not wrong]
    assert rises(kept)
    assert not any(rises(larger) for larger in combinations(times, len(kept) + 1))


@pytest.mark.parametrize("trace", ["google2011", "google2019", "kaggle2019", "common"])
def test_a_folder_without_the_trace_says_what_is_there(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong folder is named with what it holds."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "notes.txt").write_text("nothing to read")

    code = main(_command(trace, tmp_path / "source"))

    assert 2 == code
    assert "source = notes.txt: missing-table" in capsys.readouterr().err


def test_nothing_left_after_repair_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of bad rows alone builds nothing, even with --repair."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))

    code = main(_command("google2011", _csv(tmp_path, _with(0, 0, -1)[:1]), "--repair"))

    assert 2 == code
    assert "0 events: empty" in capsys.readouterr().err


def test_a_2011_file_read_as_2019_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other way round, the fault says which trace the file belongs to."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))

    code = main(
        _command("google2019", _table(tmp_path).rename(tmp_path / "instance_events.parquet"))
    )

    assert 2 == code
    assert "wrong-trace: this is a table of google2011" in capsys.readouterr().err


def test_an_end_that_is_no_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure choice may hold ends of attempts only: SUBMIT ends nothing."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "space"))

    code = main(_command("google2011", _csv(tmp_path, GOOD), "--failure", "FAIL,SUBMIT"))

    assert 2 == code
    assert "--failure = FAIL,SUBMIT" in capsys.readouterr().err
