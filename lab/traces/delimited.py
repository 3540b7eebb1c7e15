"""CSV, with and without header, plain or gzip, in bounded blocks of whole lines.

Guarantee: every row is counted, a row of another width is a named fault of that row, and a
truncated or damaged gzip file is a fault of the file, whatever was already read from it.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import polars as pl

from lab.traces.repair import RepairLog, RowCheck, SchemaDrift

BLOCK_BYTES = 16 * 2**20
QUOTED_ROWS = 20_000
Choose = Callable[[Sequence[str]], dict[str, str]]
"""Names found -> wanted column: its name in the file."""


def delimited_rows(
    path: Path, headerless: Sequence[str] | None, choose: Choose, ledger: RepairLog
) -> Iterator[pl.DataFrame]:
    """Yield text columns (empty cells are null) and `row`, from a file with or without header."""
    with open_binary(path) as stream:
        if headerless is not None:
            yield from _plain(path, stream, list(headerless), choose, ledger)
        else:
            yield from _with_header(path, stream, choose, ledger)


def open_binary(path: Path) -> BinaryIO:
    """Open a file; gzip is recognized by its first bytes, not by its name."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast("BinaryIO", gzip.open(path, "rb")) if packed else path.open("rb")


def blocks(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines; raises SchemaDrift when the file ends too early."""
    rest = b""
    try:
        while block := stream.read(BLOCK_BYTES):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield whole + newline
    except (EOFError, OSError, zlib.error) as error:
        raise SchemaDrift(
            "damaged", path.name, error, "the gzip file is cut off or damaged; download it again"
        ) from error
    if rest:
        yield rest + b"\n"


def _plain(
    path: Path, stream: BinaryIO, names: list[str], choose: Choose, ledger: RepairLog
) -> Iterator[pl.DataFrame]:
    """Lines without quotes or header: widths are counted in bulk, then polars parses the block."""
    first = 1
    for block in blocks(path, stream):
        if first == 1:
            _refuse_header(path.name, block, names, choose)
        lines = _widths(block)
        frame = pl.DataFrame({"row": np.arange(first, first + len(lines)), "columns": lines})
        frame = ledger.judge(frame, path.name, [_width_check(len(names))])
        first += len(lines)
        if frame.height:
            good = block if frame.height == len(lines) else _without(block, lines != len(names))
            yield _parse(path, good, names).insert_column(0, frame["row"])


def _width_check(width: int) -> RowCheck:
    return RowCheck(
        "column-count", "columns", pl.col("columns") != width, f"expected {width} columns"
    )


def _parse(path: Path, block: bytes, names: list[str]) -> pl.DataFrame:
    try:
        return pl.read_csv(
            block, has_header=False, new_columns=names, infer_schema=False, quote_char=None
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise SchemaDrift("damaged", path.name, reason, "the file is no text table") from error


def _widths(block: bytes) -> np.ndarray:
    """Return the number of cells of each line."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    commas = np.cumsum(data == ord(","), dtype=np.int64)[ends]
    return np.diff(commas, prepend=0) + 1


def _without(block: bytes, bad: np.ndarray) -> bytes:
    return b"".join(
        line for line, wrong in zip(block.splitlines(keepends=True), bad, strict=True) if not wrong
    )


def _refuse_header(file: str, block: bytes, names: list[str], choose: Choose) -> None:
    line = block.partition(b"\n")[0].decode("utf-8", "replace").strip()
    cells = [cell.strip('" ') for cell in line.split(",")]
    if line.startswith("{"):
        raise SchemaDrift("unexpected-header", f"{file} row 1", line[:40], "this is JSON, not CSV")
    if not any(cell.lstrip("-").replace(".", "", 1).isdigit() for cell in cells):
        choose([*cells, *(name for name in names if name not in cells)])
        raise SchemaDrift(
            "unexpected-header",
            f"{file} row 1",
            line[:60],
            "the published parts have no header line",
        )
    if len(cells) != len(names):
        raise SchemaDrift(
            "column-count",
            f"{file} row 1",
            len(cells),
            f"expected {len(names)} columns: {', '.join(names)}",
        )


def _with_header(
    path: Path, stream: BinaryIO, choose: Choose, ledger: RepairLog
) -> Iterator[pl.DataFrame]:
    """Quoted cells may hold commas and line ends: the standard library's parser takes them apart."""
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            table = csv.reader(text)
            header = next(table, None)
            if header is None:
                return
            places = _places(path.name, header, choose)
            first = 1
            while rows := list(islice(table, QUOTED_ROWS)):
                yield _read_quoted(path.name, rows, first, len(header), places, ledger)
                first += len(rows)
    except (EOFError, OSError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise SchemaDrift(
            "damaged", path.name, error, "the file is cut off or no text; download it again"
        ) from error


def _places(file: str, header: list[str], choose: Choose) -> dict[str, int]:
    """Return where each wanted column stands."""
    if len(set(header)) != len(header):
        raise SchemaDrift("unexpected-header", f"{file} row 1", header, "a name stands twice")
    if header and all(cell.replace(".", "", 1).isdigit() for cell in header if cell):
        shown = ",".join(header)[:60]
        raise SchemaDrift("unexpected-header", f"{file} row 1", shown, "no header line")
    return {name: header.index(source) for name, source in choose(header).items()}


def _read_quoted(
    file: str,
    rows: list[list[str]],
    first: int,
    width: int,
    places: dict[str, int],
    ledger: RepairLog,
) -> pl.DataFrame:
    count = pl.DataFrame(
        {"row": np.arange(first, first + len(rows)), "columns": [len(row) for row in rows]}
    )
    good_rows = ledger.judge(count, file, [_width_check(width)])["row"]
    good = [rows[number - first] for number in good_rows]
    return pl.DataFrame(
        {name: [row[place] or None for row in good] for name, place in places.items()},
        schema=dict.fromkeys(places, pl.String),
    ).insert_column(0, good_rows)
