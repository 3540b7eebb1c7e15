"""JSON exports: one object a line, or one array, plain or gzip.

Guarantee: cells are handed on as text, numbers and texts alike (BigQuery writes 64-bit numbers as
texts); what they must be is checked by the caller, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl

from lab.traces.delimited import Choose, blocks, open_binary
from lab.traces.repair import SchemaDrift

ROWS = 50_000


def json_rows(
    path: Path, names_by_column: Mapping[str, Sequence[str]], choose: Choose
) -> Iterator[pl.DataFrame]:
    """Yield text columns and `row`. `names_by_column` is column -> the names it may have."""
    objects = _objects(path)
    first = 1
    while rows := list(islice(objects, ROWS)):
        if first == 1:
            choose(sorted({name for row in rows[:1_000] for name in _names(row)}))
        yield pl.DataFrame(
            {name: [_text(row, names) for row in rows] for name, names in names_by_column.items()},
            schema=dict.fromkeys(names_by_column, pl.String),
        ).insert_column(0, pl.Series("row", np.arange(first, first + len(rows))))
        first += len(rows)


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    number = 0
    with open_binary(path) as stream:
        for block in blocks(path, stream):
            if number == 0 and block.lstrip().startswith(b"["):
                yield from _array(path, b"".join([block, *blocks(path, stream)]))
                return
            for line in block.splitlines():
                number += 1
                if line.strip():
                    yield _object(path, number, line)


def _array(path: Path, text: bytes) -> Iterator[dict[str, Any]]:
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaDrift("damaged", path.name, error, "this is no complete JSON array") from error
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise _no_object(path, number, row)
        yield row


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _no_object(path, number, line[:40].decode("utf-8", "replace")) from error
    if not isinstance(row, dict):
        raise _no_object(path, number, row)
    return row


def _no_object(path: Path, number: int, value: object) -> SchemaDrift:
    return SchemaDrift(
        "damaged", f"{path.name} row {number}", value, "expected one JSON object a line"
    )


def _names(row: Mapping[str, Any]) -> Iterator[str]:
    for name, value in row.items():
        yield name
        if isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in value)


def _text(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        value: Any = row
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if name in row and value is None:
            value = row[name]
        if value is not None:
            return value if isinstance(value, str) else orjson.dumps(value).decode()
    return None
