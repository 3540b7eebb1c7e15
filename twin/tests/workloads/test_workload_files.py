"""Workload files read back as written, and a bad row names file, line, field and value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inputs.errors import InputError
from twin.engine import Engine
from twin.workloads import NodeShape, WorkloadArrival, open_workload
from twin.workloads.trace_file import read_trace_file, write_trace_file

NODE = {"record": "node", "name": "n1", "cpu_millicores": 16000, "memory_bytes": 2**36}
ARRIVAL = {
    "record": "arrival",
    "name": "web",
    "time_seconds": 5,
    "kind": "service",
    "cpu_request_millicores": 2000,
    "memory_request_bytes": 2**32,
}


def write_rows(folder: Path, *rows: object) -> Path:
    """A JSON Lines file of the rows."""
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_written_rows_read_back_equal(tmp_path: Path) -> None:
    """Writing and reading a file keeps every field of nodes and arrivals."""
    node = NodeShape("n1", 96_000, 2**38, 8, {"foresail.dev/gpu-model": "G2"})
    late = WorkloadArrival(
        9.5,
        "b",
        "task",
        500,
        2**30,
        1,
        0.4,
        0.8,
        60.25,
        "fail",
        2,
        9,
        {"a": "b"},
        "team",
    )
    early = WorkloadArrival(0.0, "a", "service", 500, 2**30, 0, 0.4, 0.8, None, "run")
    path = tmp_path / "w.jsonl"
    write_trace_file(path, [node], [late, early], ["made by a test"])
    assert read_trace_file(path) == ([node], [early, late], ["made by a test"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.jsonl"]


def test_csv_and_json_lines_mean_the_same(tmp_path: Path) -> None:
    """The same rows as CSV and as JSON Lines give the same workload."""
    table = tmp_path / "rows.csv"
    table.write_text(
        "# from a test\n"
        "record,name,labels,cpu_millicores,memory_bytes,time_seconds,kind,"
        "cpu_request_millicores,memory_request_bytes\n"
        f"node,n1,zone=a;rack=b,16000,{2**36},,,,\n\n"
        f"arrival,web,,,,5,service,2000,{2**32}\n",
        encoding="utf-8",
    )
    node = NODE | {"labels": {"zone": "a", "rack": "b"}}
    assert read_trace_file(table)[:2] == read_trace_file(write_rows(tmp_path, node, ARRIVAL))[:2]


@pytest.mark.parametrize(
    ("rows", "line", "field", "value"),
    [
        ([NODE | {"cpu_millicores": 0}], 1, "cpu_millicores", "0"),
        ([NODE | {"cpu_millicores": "many"}], 1, "cpu_millicores", "many"),
        ([NODE | {"cpu_millicores": 1.5}], 1, "cpu_millicores", "1.5"),
        ([NODE | {"cpu_millicores": True}], 1, "cpu_millicores", "True"),
        ([NODE | {"kind": "task"}], 1, "kind", "task"),
        ([NODE, NODE], 2, "name", "n1"),
        ([NODE, ARRIVAL | {"name": "Web_1"}], 2, "name", "Web_1"),
        ([NODE, ARRIVAL | {"name": "a\nb"}], 2, "name", "a\\nb"),
        ([NODE, ARRIVAL | {"kind": "pod"}], 2, "kind", "pod"),
        ([NODE, ARRIVAL | {"time_seconds": -1}], 2, "time_seconds", "-1"),
        ([NODE, ARRIVAL | {"time_seconds": "NaN"}], 2, "time_seconds", "NaN"),
        ([NODE, ARRIVAL | {"outcome": "fail"}], 2, "duration_seconds", "absent"),
        ([NODE, ARRIVAL | {"outcome": "burn"}], 2, "outcome", "burn"),
        ([NODE, ARRIVAL | {"labels": {"a": 1}}], 2, "labels", "1"),
        ([NODE | {"labels": {"bad key!": "a"}}], 1, "labels", "bad key!"),
        ([NODE, ARRIVAL | {"labels": {"a": "b c"}}], 2, "labels", "b c"),
        ([NODE, ARRIVAL | {"labels": {"a": "b" * 64}}], 2, "labels", "bbb"),
        ([NODE | {"annotations": {"/x": "a"}}], 1, "annotations", "/x"),
        ([NODE | {"name": "n" * 64}], 1, "name", "nnn"),
        ([NODE | {"cordoned": "perhaps"}], 1, "cordoned", "perhaps"),
        ([NODE, ARRIVAL | {"name": "a..b"}], 2, "name", "a..b"),
        ([NODE, ARRIVAL | {"namespace": "a.b"}], 2, "namespace", "a.b"),
        ([NODE, ARRIVAL | {"namespace": "n" * 64}], 2, "namespace", "nnn"),
        ([NODE, ARRIVAL | {"usage_windows": [[10**400, 1, 1]]}], 2, "row", "300 characters"),
        ([NODE, ARRIVAL | {"usage_windows": "60:1"}], 2, "usage_windows", "60:1"),
        ([NODE, ARRIVAL | {"usage_windows": [{}]}], 2, "usage_windows", "{}"),
        ([NODE, ARRIVAL | {"usage_windows": [[1, {}, 1]]}], 2, "usage_windows", "{}"),
        ([NODE, ARRIVAL | {"start_nodes": [1]}], 2, "start_nodes", "1"),
        ([NODE, ARRIVAL | {"start_nodes": "nowhere"}], 2, "start_nodes", "nowhere"),
        ([NODE, ARRIVAL | {"colour": "red"}], 2, "colour", "red"),
        ([NODE, {"record": "pod"}], 2, "record", "pod"),
        ([NODE, [1, 2]], 2, "row", "[1, 2]"),
    ],
)
def test_bad_rows_name_line_field_and_value(
    tmp_path: Path, rows: list[object], line: int, field: str, value: str
) -> None:
    """A bad row raises InputError on opening, with file, line, field and value in one line."""
    path = write_rows(tmp_path, *rows)
    with pytest.raises(InputError) as caught:
        open_workload(str(path), nodes=3, seed=1)
    message = str(caught.value)
    assert f"rows.jsonl line {line}: {field}" in message
    assert value in message
    assert "\n" not in message


def test_what_is_read_the_twin_accepts(tmp_path: Path) -> None:
    """Rows at the limits of names, labels and amounts become objects; none is refused later."""
    node = NODE | {"name": "n" * 63, "labels": {"a.b/c_d": "x" * 63, "empty": ""}, "cordoned": True}
    rows = [
        ARRIVAL | {"name": f"{kind}-{end}", "kind": kind, "namespace": "n" * 63, "labels": {"a": "b"},
                   "cpu_request_millicores": 0, "priority": priority}
        for kind in ("service", "task")
        for end, priority in (("x" * 200, 10**9), ("a.b", -(10**9)))
    ]  # fmt: skip
    workload = open_workload(str(write_rows(tmp_path, NODE, node, *rows)), nodes=1, seed=1)
    engine = Engine(seed=1)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.advance(engine.now + 30)

    assert engine.arrivals.refused == 0
    assert len(list(engine.store.records("pods"))) == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", "record,name,size\nnode,n1,3\n"),
        ("w.csv", "record,name\nnode,n1,3\n"),
        ("w.csv", 'record,name\nnode,"n1\n'),
        ("w.csv", ""),
        ("w.jsonl", "{not json}"),
        ("w.jsonl", "# only a comment\n"),
        ("w.yaml", "a: b"),
    ],
)
def test_malformed_files_are_input_errors(tmp_path: Path, name: str, text: str) -> None:
    """Broken syntax, unknown columns, empty files and other suffixes are refused in one line."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_workload(str(path), nodes=3, seed=1)
    assert "\n" not in str(caught.value)


def test_binary_file_is_an_input_error(tmp_path: Path) -> None:
    """A file that is not UTF-8 is refused, not half read."""
    path = tmp_path / "w.csv"
    path.write_bytes(b"\xff\xfe\x00record")
    with pytest.raises(InputError):
        open_workload(str(path), nodes=3, seed=1)


def test_file_without_nodes_uses_plain_nodes(tmp_path: Path) -> None:
    """Without node rows the asked number of plain nodes is there; with them the rows win."""
    bare = open_workload(str(write_rows(tmp_path, ARRIVAL)), nodes=3, seed=1)
    assert [node.name for node in bare.nodes] == ["node-0000", "node-0001", "node-0002"]
    own = open_workload(str(write_rows(tmp_path, NODE, ARRIVAL)), nodes=3, seed=1)
    assert [node.name for node in own.nodes] == ["n1"]


def test_file_rate_leaves_the_carried_in_set_out(tmp_path: Path) -> None:
    """The arrival rate of a file counts what comes after the first ten seconds."""
    rows = [ARRIVAL | {"name": f"a{i}", "time_seconds": i * 0.01} for i in range(50)]
    rows += [ARRIVAL | {"name": f"b{i}", "time_seconds": 10 + 359 * i} for i in range(1, 11)]
    workload = open_workload(str(write_rows(tmp_path, *rows)), nodes=3, seed=1)
    assert workload.arrivals_per_hour == pytest.approx(10, rel=0.01)
