"""What could never be placed is refused when the file is read; validation finds every bad row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inputs.errors import InputError
from twin.workloads import NodeShape, WorkloadArrival, open_workload
from twin.workloads.largest_node import LargestNode
from twin.workloads.trace_file import check_trace_file

NODES = (
    {"record": "node", "name": "wide", "cpu_millicores": 64_000, "memory_bytes": 2**36},
    {"record": "node", "name": "gpu", "cpu_millicores": 8_000, "memory_bytes": 2**38, "gpus": 4},
)
TASK = {
    "record": "arrival",
    "time_seconds": 1,
    "kind": "task",
    "cpu_request_millicores": 1000,
    "memory_request_bytes": 2**30,
}


def write_rows(folder: Path, *rows: object) -> Path:
    """A JSON Lines file of the rows."""
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("request_fields", "field", "remedy"),
    [
        ({"cpu_request_millicores": 64_001}, "cpu_request_millicores = 64001", "more than 64000"),
        ({"memory_request_bytes": 2**39}, "memory_request_bytes", "larger node"),
        ({"gpus": 5}, "gpus = 5", "no node offers more than 4"),
        ({"gpus": 1, "cpu_request_millicores": 9_000}, "request = 9000", "no single node"),
    ],
)
def test_an_impossible_request_names_its_row(
    tmp_path: Path, request_fields: dict[str, int], field: str, remedy: str
) -> None:
    """A pod that no empty node could hold stops the start with line, amount and limit."""
    path = write_rows(tmp_path, *NODES, TASK | {"name": "big"} | request_fields)
    with pytest.raises(InputError) as caught:
        open_workload(str(path), nodes=3, seed=1)
    message = str(caught.value)
    assert f"rows.jsonl line 3: {field}" in message
    assert remedy in message
    assert "\n" not in message


def test_files_without_nodes_are_measured_against_plain_ones(tmp_path: Path) -> None:
    """Without node rows the plain nodes of 16 cores are the measure."""
    fits = write_rows(tmp_path, TASK | {"name": "a", "cpu_request_millicores": 16_000})
    assert len(open_workload(str(fits), nodes=2, seed=1).nodes) == 2
    too_large = write_rows(tmp_path, TASK | {"name": "a", "cpu_request_millicores": 16_001})
    with pytest.raises(InputError, match="line 1: cpu_request_millicores = 16001"):
        open_workload(str(too_large), nodes=2, seed=1)


def test_validation_names_every_bad_row(tmp_path: Path) -> None:
    """One pass finds all bad rows in order, and keeps what is good."""
    path = write_rows(
        tmp_path,
        *NODES,
        TASK | {"name": "good"},
        TASK | {"name": "late", "duration_seconds": -5, "outcome": "succeed"},
        TASK | {"name": "good"},
        TASK | {"name": "huge", "gpus": 9},
        TASK | {"name": "odd", "colour": "red"},
        TASK | {"name": "far", "start_nodes": ["nowhere"]},
        TASK | {"name": "many", "start_nodes": ["wide", "wide"]},
    )
    content, errors = check_trace_file(path)

    assert [arrival.name for arrival in content.arrivals] == ["good", "huge", "far"]
    assert [str(error).partition(":")[0] for error in errors] == [
        f"rows.jsonl line {line}" for line in (4, 5, 7, 9, 6, 8)
    ]
    assert "duration_seconds = -5" in str(errors[0])


def test_start_nodes_read_from_both_forms(tmp_path: Path) -> None:
    """A list in JSON Lines and a cell of names in CSV mean the same nodes."""
    rows = write_rows(tmp_path, *NODES, TASK | {"name": "a", "replicas": 2,
                                                "start_nodes": ["wide", "gpu"]})  # fmt: skip
    table = tmp_path / "rows.csv"
    table.write_text(
        "record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,"
        "memory_request_bytes,replicas,start_nodes\n"
        f"node,wide,64000,{2**36},,,,,,\nnode,gpu,8000,{2**38},,,,,,\n"
        f"arrival,a,,,1,task,1000,{2**30},2,wide;gpu\n",
        encoding="utf-8",
    )
    first, second = (list(open_workload(str(p), nodes=1, seed=1).arrivals) for p in (rows, table))
    assert first == second
    assert first[0].start_nodes == ("wide", "gpu")


def test_room_is_about_single_empty_nodes() -> None:
    """Amounts of different nodes are never added up."""
    room = LargestNode([NodeShape("a", 4_000, 2**30, 0, {}), NodeShape("b", 1_000, 2**34, 1, {})])

    def task(cpu: int, memory: int, gpus: int) -> WorkloadArrival:
        return WorkloadArrival(0.0, "t", "task", cpu, memory, gpus, 0.5, 0.5, None, "run")

    assert room.holds(task(4_000, 2**30, 0))
    assert room.holds(task(1_000, 2**34, 1))
    assert not room.holds(task(4_000, 2**34, 0))
