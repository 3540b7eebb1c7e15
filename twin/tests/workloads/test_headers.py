"""A table whose columns are wrong: the first wrong one by name, and the nearest that would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from inputs.errors import InputError
from twin.workloads.trace_file import read_trace_file

JSON_LINE = '{"record": "node", "name": "a", "cpu_milicores": 1}'


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("w.csv", "record,nmae\nnode,a\n", "w.csv line 1: column = nmae: did you mean name?"),
        ("w.csv", "record,zzz\n", "w.csv line 1: column = zzz: leave it out; docs/workloads.md has every column"),
        (
            "w.csv",
            "name\na\n",
            "w.csv line 1: column record = (missing): add it: it says of each row what it is, such as node",
        ),
        ("w.csv", "record,name,name\n", "w.csv line 1: column = name: it is there 2 times; leave one"),
        ("w.jsonl", JSON_LINE, "w.jsonl line 1: cpu_milicores = 1: did you mean cpu_millicores?"),
    ],
)  # fmt: skip
def test_a_bad_column_is_named(file: str, text: str, line: str, tmp_path: Path) -> None:
    """One short line, not a list of all columns."""
    path = tmp_path / file
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_trace_file(path)
    assert line == str(error.value)
