"""Tables that are written piece by piece and end as one parquet file.

Guarantee: the pieces decide nothing about the file's bytes: row groups have a fixed size, order is
kept. Peak memory follows the size of a piece, not of the table.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

ROW_GROUP = 200_000
LEVEL = 3


class PartWriter:
    """Collects the pieces of one table beside the file they will become."""

    def __init__(self, path: Path, schema: Mapping[str, type[pl.DataType] | pl.DataType]) -> None:
        self._path = path
        self._schema = dict(schema)
        self._folder = path.with_name(path.name + ".parts")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._count = 0
        self.rows = 0

    def write(self, frame: pl.DataFrame, place: int | None = None) -> None:
        """Write the next piece; `place` numbers pieces that are not written in order."""
        number = self._count if place is None else place
        chosen = frame.select(pl.col(name).cast(dtype) for name, dtype in self._schema.items())
        chosen.write_parquet(self._folder / f"{number:08}.parquet", compression="lz4")
        self._count += 1
        self.rows += frame.height

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the pieces again, in order."""
        for path in sorted(self._folder.iterdir()):
            yield pl.read_parquet(path)

    def scan(self) -> pl.LazyFrame:
        """Return the pieces as one table, in order."""
        paths = sorted(self._folder.iterdir())
        return pl.scan_parquet(paths) if paths else pl.LazyFrame(schema=self._schema)

    def finish(self) -> None:
        """Join the pieces to the file and remove them."""
        write_table(self.scan(), self._path)
        self.discard()

    def discard(self) -> None:
        """Remove the pieces."""
        shutil.rmtree(self._folder)


def write_table(table: pl.LazyFrame, path: Path) -> None:
    """Write a table to a file that appears only when it is whole."""
    partial = path.with_name(path.name + ".partial")
    table.sink_parquet(
        partial,
        row_group_size=ROW_GROUP,
        compression="zstd",
        compression_level=LEVEL,
        maintain_order=True,
    )
    partial.replace(path)
