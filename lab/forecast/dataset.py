"""A built dataset, opened for reading.

Guarantee: anchors and features are in one order, row for row; grid rows are made as they are read;
what is read is what the manifest describes, or the dataset is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bus.errors import ConfigError
from features.history import Kind
from inputs.limited_files import read_limited
from inputs.limited_json import load_json
from lab.forecast.anchors import GRIDS, Grid
from lab.forecast.features import chunk_features
from lab.forecast.labels import LabelChoice
from lab.forecast.workspace import Workspace

ROWS_PER_CHUNK = 200_000


MANIFEST_BYTES = 16 * 1024**2
"""Bytes of a dataset's manifest."""


@dataclass(frozen=True)
class Dataset:
    """One dataset. `folder` holds events.parquet and the other tables."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """The build's name."""
        return str(self.manifest["name"])

    @property
    def anchor(self) -> str:
        """`schedule` or `grid`."""
        return str(self.manifest["anchor"])

    @property
    def rows(self) -> int:
        """How many anchors there are, censored ones too."""
        return int(self.manifest["anchors"]["rows"])

    @property
    def choice(self) -> LabelChoice:
        """What its labels mean."""
        chosen = self.manifest["label"]
        failures = tuple(Kind[name] for name in chosen["failures"])
        return LabelChoice(failures, int(chosen["horizon_minutes"]))

    @property
    def segments(self) -> dict[int, tuple[int, int]]:
        """Segment -> times of its first and last event, in microseconds."""
        return {
            int(segment["segment"]): (int(segment["first_us"]), int(segment["end_us"]))
            for segment in self.manifest["segments"]
        }

    @property
    def feature_names(self) -> list[str]:
        """Names of the feature columns; empty when it was built without."""
        return list(self.manifest["features"]["feature_names"])

    def events(self) -> pl.LazyFrame:
        """Return the task events, in time order."""
        return pl.scan_parquet(self.folder / "events.parquet")

    def anchors(self) -> pl.LazyFrame:
        """Return the anchors with labels; for a grid, collect only what a chunk holds.

        Raises:
            ConfigError: it is a grid, whose rows are not stored: take `anchor_chunks`.
        """
        if self.anchor in GRIDS:
            raise ConfigError("--dataset", self.name, "a grid is read in chunks (anchor_chunks)")
        return pl.scan_parquet(self.folder / "anchors.parquet")

    def anchor_chunks(self, rows_per_chunk: int = ROWS_PER_CHUNK) -> Iterator[pl.DataFrame]:
        """Yield the anchors in order; chunks of a grid hold whole moments, so a few rows more."""
        if self.anchor in GRIDS:
            yield from self._grid.frames(rows_per_chunk)
            return
        for start in range(0, self.rows, rows_per_chunk):
            yield self.anchors().slice(start, rows_per_chunk).collect()

    def features(
        self, columns: Sequence[str] | None = None, rows: slice | None = None
    ) -> np.ndarray:
        """Return stored features as float32 (rows, columns); NaN is missing.

        Raises:
            ConfigError: the dataset was built without features, or is a grid.
        """
        parts = sorted((self.folder / "features").glob("part-*.parquet"))
        if not parts:
            raise ConfigError("--dataset", self.name, "holds no stored features")
        chosen = self.feature_names if columns is None else list(columns)
        table = pl.scan_parquet(parts).select(chosen)
        if rows is not None:
            start, stop, _ = rows.indices(self.rows)
            table = table.slice(start, stop - start)
        return _matrix(table, self.rows if rows is None else stop - start, len(chosen))

    def feature_chunks(
        self, rows_per_chunk: int = ROWS_PER_CHUNK
    ) -> Iterator[tuple[pl.DataFrame, np.ndarray]]:
        """Yield (anchors, features) over every row in order, computed where they are not stored."""
        if self.anchor not in GRIDS:
            for start in range(0, self.rows, rows_per_chunk):
                anchors = self.anchors().slice(start, rows_per_chunk).collect()
                yield anchors, self.features(rows=slice(start, start + anchors.height))
            return
        shown: deque[pl.DataFrame] = deque()

        def chunks() -> Iterator[pl.DataFrame]:
            for anchors in self.anchor_chunks(rows_per_chunk):
                shown.append(anchors)
                yield anchors

        feature_set = self.manifest["features"]["feature_set"]
        for values in chunk_features(self.folder, chunks(), feature_set):
            yield shown.popleft(), values

    @cached_property
    def _grid(self) -> Grid:
        return Grid(
            pl.read_parquet(self.folder / "attempts.parquet"),
            self.choice,
            self.segments,
            int(self.manifest["starts_at_us"]),
            with_placements=self.anchor == "hazard",
        )


def open_dataset(path_or_name: str | Path, workspace: Workspace | None = None) -> Dataset:
    """Open a dataset by its folder, or by its name in a workspace.

    Raises:
        ConfigError: there is none, or its format is not this version's.
    """
    folder = Path(path_or_name)
    if workspace is not None:
        folder = workspace.dataset(str(path_or_name))
    try:
        manifest = load_json(read_limited(folder / "manifest.json", MANIFEST_BYTES))
    except (OSError, ValueError) as error:
        raise ConfigError("--dataset", folder.name, "holds no readable manifest.json") from error
    if not isinstance(manifest, dict):
        raise ConfigError("--dataset", folder.name, "its manifest.json holds no object")
    if manifest.get("format") != 1:
        stored_format = manifest.get("format")
        raise ConfigError(
            "--dataset", folder.name, f"has format {stored_format}, expected 1; build it again"
        )
    return Dataset(folder, manifest)


def _matrix(table: pl.LazyFrame, rows: int, columns: int) -> np.ndarray:
    """Fill one array piece by piece, so that features stand in memory once."""
    matrix = np.empty((rows, columns), np.float32)
    at = 0
    for frame in table.collect_batches(chunk_size=65_536, maintain_order=True):
        matrix[at : at + frame.height] = frame.to_numpy()
        at += frame.height
    return matrix
