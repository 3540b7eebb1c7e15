"""Workload files: every row is what it says, or InputError names file, line, field and remedy."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bus.errors import InputError
from tests.fuzz.mutation import (
    FUZZ,
    ODD,
    ODD_TEXTS,
    broken_encodings,
    dump_json,
    mutated_bytes,
    mutations,
)
from twin.port.workloads import ALL_FIELDS, read_trace_file, write_trace_file

NODE = {"record": "node", "name": "n-0", "cpu_millicores": 4000, "memory_bytes": 2**33}
ARRIVAL = {
    "record": "arrival", "name": "a", "time_seconds": 1.5, "kind": "task", "cpu_request_millicores": 100,
    "memory_request_bytes": 2**20, "duration_seconds": 60, "outcome": "succeed", "labels": {"tier": "x"},
}  # fmt: skip
ROWS = [NODE, ARRIVAL]


def judge_file(name: str, content: bytes) -> None:
    """Read a file; what is accepted is written and read back equal."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            nodes, arrivals, comments = read_trace_file(path)
        except InputError as error:
            refused_well(error)
            return
        again = Path(folder) / "again.jsonl"
        write_trace_file(again, nodes, arrivals, comments)
        back = read_trace_file(again)
        assert [nodes, arrivals] == [back[0], back[1]]
        json.dumps([asdict(node) for node in (*nodes, *arrivals)], allow_nan=False)


def refused_well(error: InputError) -> None:
    """Check that the refusal is one line with a remedy."""
    assert error.remedy
    assert "\n" not in error.field


@FUZZ
@given(st.data())
def test_json_lines_of_any_form(data: st.DataObject) -> None:
    """InputError is the only refusal of a JSON Lines file."""
    rows = [data.draw(st.just(dump_json(row)) | mutations(row).map(dump_json)) for row in ROWS]
    judge_file("a.jsonl", b"\n".join(rows))
    judge_file("a.jsonl", data.draw(broken_encodings(ARRIVAL)))
    judge_file("a.jsonl", data.draw(mutated_bytes(b"\n".join(dump_json(row) for row in ROWS))))


@FUZZ
@given(st.data())
def test_csv_of_any_form(data: st.DataObject) -> None:
    """InputError is the only refusal of a CSV file."""
    out = io.StringIO()
    fields = data.draw(st.lists(st.sampled_from(ALL_FIELDS), unique=True, min_size=3))
    writer = csv.DictWriter(out, ["record", "name", *sorted(set(fields) - {"record", "name"})])
    writer.writeheader()
    for row in ROWS:
        cells: dict[str, Any] = {name: row.get(name, "") for name in writer.fieldnames}
        cells[data.draw(st.sampled_from(list(cells)))] = data.draw(
            st.sampled_from(ODD_TEXTS) | ODD.map(str)
        )
        writer.writerow(cells)
    content = out.getvalue().encode("utf-8", "surrogatepass")
    judge_file("a.csv", content)
    judge_file("a.csv", data.draw(mutated_bytes(content)))
    judge_file("a.csv", data.draw(st.binary(max_size=60)))
