"""The rows of one horizon: what a dataset's anchors say apart from their features.

A row whose label is censored or excluded at that horizon is no row. `position` leads back to the
dataset's own order, in which its features lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from bus.errors import InputError
from lab.forecast.risk.metrics import Ints, Labels
from lab.forecast.risk.past import Events

MICROSECONDS = 1_000_000
SECONDS_PER_MINUTE = 60
EXCLUDED = -1
ROWS_PER_CHUNK = 1_000_000
COLUMNS = {
    "position": pl.Int64,
    "time_us": pl.Int64,
    "segment": pl.Int16,
    "job": pl.Int64,
    "name": pl.Int64,
    "machine": pl.Int64,
    "attempt_start_us": pl.Int64,
    "end_us": pl.Int64,
}
RENAMED = {"attempt_start_us": "start_us"}

Bools = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.float32]


class RiskData(Protocol):
    """Inputs of training and evaluation from a dataset."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The build's manifest."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        ...

    def anchor_chunks(self, rows_per_chunk: int) -> Iterator[pl.DataFrame]:
        """Yield one row per decision, in order, in pieces."""
        ...

    def events(self) -> pl.LazyFrame:
        """Return the task events."""
        ...

    def features_at(self, positions: Ints) -> Iterator[Matrix]:
        """Yield the features of some rows (rising positions), in pieces, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Equal-length columns, in the dataset's order."""

    position: Ints
    time_us: Ints
    segment: npt.NDArray[np.int16]
    job: Ints
    name: Ints
    machine: Ints
    start_us: Ints
    """When the attempt began; 0 or less: before anybody looked."""
    end_us: Ints
    label: Labels

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.position)

    def take(self, chosen: Bools | Ints) -> Self:
        """Return some of the rows."""
        return type(self)(
            **{field.name: getattr(self, field.name)[chosen] for field in fields(self)}
        )

    @property
    def positives(self) -> int:
        """Rows with label 1."""
        return int(np.count_nonzero(self.label))


def label_column(horizon_minutes: int) -> str:
    """Return the name of a horizon's label column."""
    return f"label_{horizon_minutes}m"


def read_rows(data: RiskData, horizon_minutes: int) -> Rows:
    """Return the rows of one horizon.

    Raises:
        InputError: the dataset has no label of that horizon.
    """
    label = label_column(horizon_minutes)
    parts: list[pl.DataFrame] = []
    offset = 0
    for chunk in data.anchor_chunks(ROWS_PER_CHUNK):
        if label not in chunk.columns:
            built = ", ".join(name[6:] for name in chunk.columns if name.startswith("label_"))
            remedy = f"the dataset has labels for: {built or 'none'}"
            raise InputError("--horizon", f"{horizon_minutes}m", remedy)
        numbered = chunk.with_row_index("position", offset=offset)
        columns = [pl.col(name).cast(kind) for name, kind in COLUMNS.items()]
        parts.append(
            numbered.select(*columns, pl.col(label).cast(pl.Int8).alias("label")).filter(
                pl.col("label") != EXCLUDED
            )
        )
        offset += len(chunk)
    table = pl.concat(parts)
    return Rows(**{RENAMED.get(name, name): table[name].to_numpy() for name in table.columns})


def read_events(data: RiskData) -> Events:
    """Return the history that baselines count in."""
    table = data.events().select("time_us", "kind", "job", "name").collect()
    return Events(
        time_us=table["time_us"].to_numpy().astype(np.int64, copy=False),
        kind=table["kind"].to_numpy().astype(np.int8, copy=False),
        job=table["job"].to_numpy().astype(np.int64, copy=False),
        name=table["name"].to_numpy().astype(np.int64, copy=False),
    )


def read_features(data: RiskData, positions: Ints) -> Matrix:
    """Return the features of some rows at once; `positions` rise strictly."""
    matrix = np.empty((len(positions), len(data.feature_names)), dtype=np.float32)
    done = 0
    for chunk in data.features_at(positions):
        matrix[done : done + len(chunk)] = chunk
        done += len(chunk)
    return matrix
