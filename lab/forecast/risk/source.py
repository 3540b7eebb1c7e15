"""A built dataset as risk models read it: some rows' features, computed or stored.

Features of a grid are computed for the wanted rows only; the history that they need is read on the
way in either case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bus.errors import InputError
from features.history import FEATURE_SETS
from lab.forecast.anchors import GRIDS
from lab.forecast.dataset import Dataset
from lab.forecast.features import chunk_features
from lab.forecast.risk.boosting import ABSOLUTE, CELL
from lab.forecast.risk.every_age import column_groups
from lab.forecast.risk.metrics import Ints
from lab.forecast.risk.rows import Bools, Matrix

ROWS_PER_CHUNK = 100_000
GRID_ROWS_PER_CHUNK = 500_000
ABSOLUTE_KEYS = ("user", "name", "machine", "shape", "user_jobs", "name_jobs")
ABSOLUTE_UNITS = ("events", "attempts")


@dataclass(frozen=True)
class DatasetSource:
    """`RiskData` over a dataset's folder."""

    dataset: Dataset

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The build's manifest."""
        return self.dataset.manifest

    @property
    def feature_set(self) -> str:
        """Name of the feature set."""
        return str(self.manifest["features"]["feature_set"])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns, in order.

        Raises:
            InputError: the dataset was built without features.
        """
        names = tuple(self.dataset.feature_names)
        if not names:
            raise InputError("--dataset", self.dataset.name, "was built without features")
        return names

    @property
    def groups(self) -> dict[str, Bools]:
        """Features that members may leave out, as masks by group.

        `absolute`: counts by one actor (user, program, machine, shape); `cell`: the whole cell.
        """
        known = {feature.name: feature for feature in FEATURE_SETS[self.feature_set].features}
        features = [known[name] for name in self.feature_names]
        absolute = np.array(
            [
                feature.unit in ABSOLUTE_UNITS and feature.key in ABSOLUTE_KEYS
                for feature in features
            ]
        )
        return {
            **column_groups(features),
            ABSOLUTE: absolute,
            CELL: np.array([feature.key == "cell" for feature in features]),
        }

    @property
    def units(self) -> list[tuple[str, str]]:
        """Name and unit of each feature."""
        return list(
            zip(self.feature_names, self.manifest["features"]["feature_units"], strict=True)
        )

    @property
    def segments(self) -> dict[int, tuple[int, int]]:
        """First and last moment of each segment, microseconds.

        What a trace carries from before its start (at time 0) is history and no moment of it.
        """
        begins = int(self.manifest["starts_at_us"])
        return {
            number: (max(first, begins), end)
            for number, (first, end) in self.dataset.segments.items()
        }

    def anchor_chunks(self, rows_per_chunk: int) -> Iterator[pl.DataFrame]:
        """Yield one row per decision, in order, in pieces."""
        return self.dataset.anchor_chunks(rows_per_chunk)

    def events(self) -> pl.LazyFrame:
        """Return the task events."""
        return self.dataset.events()

    def features_at(self, positions: Ints) -> Iterator[Matrix]:
        """Yield the features of some rows (rising positions), in pieces, in order."""
        if self.dataset.anchor in GRIDS:
            yield from chunk_features(
                self.dataset.folder, self._chosen_frames(positions), self.feature_set
            )
            return
        for start in range(0, self.dataset.rows, ROWS_PER_CHUNK):
            stop = min(start + ROWS_PER_CHUNK, self.dataset.rows)
            low, high = np.searchsorted(positions, (start, stop))
            if low < high:
                yield self.dataset.features(rows=slice(start, stop))[positions[low:high] - start]

    def _chosen_frames(self, positions: Ints) -> Iterator[pl.DataFrame]:
        """Yield the anchors at some positions."""
        start = 0
        for chunk in self.dataset.anchor_chunks(GRID_ROWS_PER_CHUNK):
            low, high = np.searchsorted(positions, (start, start + len(chunk)))
            if low < high:
                yield chunk[positions[low:high] - start]
            start += len(chunk)
