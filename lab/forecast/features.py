"""Features of a dataset: feeds its events and its decisions, in time order, to `History`.

Problem: millions of events and tens of millions of rows do not fit memory, and a second
implementation for training would drift from the live one. Guarantee: every value comes from
`features.history`; this file only chooses how much is read at once, which no value
depends on. Memory holds one piece of events, one piece of rows, and what `History` remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from features.history import (
    FEATURE_SETS,
    Anchors,
    Events,
    FeatureSet,
    History,
    JobEvents,
    MachineEvents,
    TaskEvents,
)
from features.history.attempts import Attempts
from features.history.tables import F32, Table
from lab.forecast.workspace import PARTIAL

EVENTS_AT_ONCE = 125_000
ROWS_AT_ONCE = 131_072
ROWS_PER_PART = 100_000
"""Rows of one file under features/."""
EVENTS, JOB_EVENTS, MACHINE_EVENTS = (
    "events.parquet",
    "job_events.parquet",
    "machine_events.parquet",
)
ANCHORS, FEATURES = "anchors.parquet", "features"

T = TypeVar("T", bound=Table)


def table_of(kind: type[T], frame: pl.DataFrame) -> T:
    """Return a frame's columns as a table; columns that the frame lacks take their defaults."""
    names = [item.name for item in fields(kind) if item.name in frame.columns]
    return kind.of(**{name: frame[name].to_numpy() for name in names})


@dataclass(slots=True)
class Feed(Generic[T]):
    """Reads a sorted parquet file front to back, by time, as if nothing came from `until_us` on."""

    kind: type[T]
    file: Path
    rows: int
    waiting: T
    until_us: int | None = None
    read: int = 0

    @classmethod
    def of(cls, kind: type[T], file: Path, until_us: int | None = None) -> Feed[T]:
        """Open a file; one that is not there is read as empty."""
        rows = 0
        if file.exists():
            rows = pl.scan_parquet(file).select(pl.len()).collect().item()
        return cls(kind, file, rows, kind.empty(), until_us)

    def some(self) -> T:
        """Return the rows that wait, after reading on when there are none."""
        if not len(self.waiting) and self.read < self.rows:
            names = [item.name for item in fields(self.kind)]
            lazy = pl.scan_parquet(self.file)
            here = [name for name in names if name in lazy.collect_schema().names()]
            frame = lazy.select(here).slice(self.read, EVENTS_AT_ONCE).collect()
            self.read += len(frame)
            if self.until_us is not None and frame["time_us"][-1] >= self.until_us:
                frame = frame.filter(pl.col("time_us") < self.until_us)
                self.read = self.rows
            self.waiting = table_of(self.kind, frame)
        return self.waiting

    def before(self, time_us: int) -> T:
        """Take rows strictly before a time: what waits, at most one reading."""
        waiting: Any = self.some()
        stop = int(np.searchsorted(waiting.time_us, time_us))
        due, self.waiting = waiting.rows(slice(0, stop)), waiting.rows(slice(stop, None))
        return due  # type: ignore[no-any-return]  # `rows` returns its own type

    def next_us(self) -> int | None:
        """Return the time of the next row, None at the end."""
        waiting: Any = self.some()
        return int(waiting.time_us[0]) if len(waiting) else None


@dataclass(slots=True)
class DatasetHistory:
    """A dataset's history, moved on as later rows are asked for."""

    history: History
    attempts: Attempts
    tasks: Feed[TaskEvents]
    jobs: Feed[JobEvents]
    machines: Feed[MachineEvents]

    @classmethod
    def of(
        cls, folder: Path, feature_set: FeatureSet, until_us: int | None = None
    ) -> DatasetHistory:
        """Open the events of a dataset's folder; those from `until_us` on are not read."""
        return cls(
            History.begin(feature_set),
            Attempts.none(),
            Feed.of(TaskEvents, folder / EVENTS, until_us),
            Feed.of(JobEvents, folder / JOB_EVENTS, until_us),
            Feed.of(MachineEvents, folder / MACHINE_EVENTS, until_us),
        )

    def features(self, anchors: Anchors) -> F32:
        """Return (anchors, features). Anchors are sorted by time, here and from call to call."""
        whole = np.empty((len(anchors), len(self.history.feature_set.features)), np.float32)
        done = 0
        while done < len(anchors):
            known_us = self._read_on(int(anchors.time_us[-1]))
            self.history = self.history.trim(min(int(anchors.time_us[done]), known_us))
            ready = int(np.searchsorted(anchors.time_us, known_us, side="right"))
            stop = min(ready, done + ROWS_AT_ONCE)
            if stop > done:
                whole[done:stop] = self.history.features(anchors.rows(slice(done, stop)))
                done = stop
        return whole

    def _read_on(self, time_us: int) -> int:
        """Add at most one reading of task events before a time, and what else came by then.

        Returns the time before which everything is known now.
        """
        self.attempts, tasks = self.attempts.resolve(self.tasks.before(time_us))
        unread = self.tasks.next_us()
        until = time_us if unread is None else min(time_us, unread)
        self.history = self.history.extend(Events(tasks))
        while (upcoming := self.jobs.next_us()) is not None and upcoming < until:
            self.history = self.history.extend(Events(jobs=self.jobs.before(until)))
        while (upcoming := self.machines.next_us()) is not None and upcoming < until:
            self.history = self.history.extend(Events(machines=self.machines.before(until)))
        return until


def write_features(
    folder: Path, feature_set: str, progress: Callable[[int, int], None]
) -> Mapping[str, object]:
    """Write features/part-NNNNN.parquet for every row of a schedule dataset, in its order.

    Parts that are there stay as they are, so an interrupted build goes on. `progress` is called with
    (rows done, rows) after each part. Returns what the dataset's manifest says about them.
    """
    chosen = FEATURE_SETS[feature_set]
    past = DatasetHistory.of(folder, chosen)
    (folder / FEATURES).mkdir(exist_ok=True)
    lazy = pl.scan_parquet(folder / ANCHORS)
    rows = lazy.select(pl.len()).collect().item()
    stored = lazy.collect_schema().names()
    names = [item.name for item in fields(Anchors) if item.name in stored]
    for part, start in enumerate(range(0, rows, ROWS_PER_PART)):
        file = folder / FEATURES / f"part-{part:05d}.parquet"
        if not file.exists():
            anchors = table_of(Anchors, lazy.select(names).slice(start, ROWS_PER_PART).collect())
            _write(file, past.features(anchors), chosen.names)
        progress(min(start + ROWS_PER_PART, rows), rows)
    return describe_feature_set(chosen)


def chunk_features(
    folder: Path, anchors: Iterator[pl.DataFrame], feature_set: str
) -> Iterator[F32]:
    """Yield each chunk's features; chunks and their rows come in time order."""
    past = DatasetHistory.of(folder, FEATURE_SETS[feature_set])
    for chunk in anchors:
        yield past.features(table_of(Anchors, chunk))


def describe_feature_set(feature_set: FeatureSet) -> dict[str, object]:
    """Return what a manifest says about the columns."""
    return {
        "feature_set": feature_set.name,
        "version": feature_set.version,
        "feature_names": list(feature_set.names),
        "feature_units": [feature.unit for feature in feature_set.features],
    }


def _write(file: Path, values: F32, names: tuple[str, ...]) -> None:
    partial = file.with_name(file.name + PARTIAL)
    columns = np.ascontiguousarray(values.T)
    frame = pl.DataFrame({name: columns[place] for place, name in enumerate(names)})
    frame.write_parquet(partial, compression="lz4", statistics=False)
    partial.replace(file)
