"""The truncation check: does any feature know what had not happened yet?

Problem: a feature that looks at or past its own decision time makes every figure of a model look
better than it is, and nothing in the figures says so. Check: all events at or after a moment are
deleted, the features of rows up to that moment are built again, and every value must be the same,
bit for bit. A tie (an event at the very microsecond of a row) lies behind the row, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from features.history import FEATURE_SETS, Anchors
from features.history.tables import F32
from lab.forecast.features import DatasetHistory, table_of

Builder = Callable[[Anchors, int | None], F32]
"""Features of anchors (sorted by time) from the events before a time; None: from all events."""
COLUMNS = tuple(Anchors.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Leak:
    """One column that changed when the future was deleted."""

    feature: str
    moment_us: int
    rows: int
    """How many of the checked rows changed."""


@dataclass(frozen=True, slots=True)
class LeakReport:
    """Compared values and differences."""

    features: int
    moments_us: tuple[int, ...]
    rows: int
    """Rows compared, over all moments together."""
    leaks: tuple[Leak, ...]


def check_leaks(
    build: Builder, names: Sequence[str], anchors: Anchors, moments_us: Sequence[int]
) -> LeakReport:
    """Compare features built with and without what lies at or after each moment.

    Args:
        build: computes the features that are checked.
        names: the columns' names.
        anchors: rows to look at, sorted by time; those after a moment are not asked for there.
        moments_us: when the future begins.
    """
    whole = build(anchors, None)
    leaks: list[Leak] = []
    rows = 0
    for moment_us in moments_us:
        early = np.flatnonzero(anchors.time_us <= moment_us)
        again = build(anchors.rows(early), moment_us)
        changed = again.view(np.int32) != np.ascontiguousarray(whole[early]).view(np.int32)
        rows += len(early)
        counts = changed.sum(axis=0).tolist()
        leaks += [
            Leak(name, int(moment_us), count)
            for name, count in zip(names, counts, strict=True)
            if count
        ]
    return LeakReport(len(names), tuple(int(moment) for moment in moments_us), rows, tuple(leaks))


def check_dataset(
    folder: Path, feature_set: str, anchors: Anchors, moments_us: Sequence[int]
) -> LeakReport:
    """Check the features of a dataset's events, as the build and the grid path compute them."""
    chosen = FEATURE_SETS[feature_set]

    def build(rows: Anchors, until_us: int | None) -> F32:
        return DatasetHistory.of(folder, chosen, until_us).features(rows)

    return check_leaks(build, chosen.names, anchors, moments_us)


def rows_to_check(
    chunks: Iterable[pl.DataFrame], total: int, moments_us: Sequence[int], rows: int
) -> Anchors:
    """Return about `rows` anchors: half just before a moment, half spread over all of time.

    Args:
        chunks: the anchors in their order, piece by piece.
        total: how many there are.
        moments_us: when the future will begin.
        rows: how many to take.
    """
    near_rows = max(rows // (2 * max(len(moments_us), 1)), 1)
    stride = max(2 * total // max(rows, 1), 1)
    near: list[pl.DataFrame] = [pl.DataFrame()] * len(moments_us)
    spread, at = [], 0
    for chunk in chunks:
        frame = chunk.select(name for name in COLUMNS if name in chunk.columns).with_columns(
            place=pl.int_range(at, at + chunk.height)
        )
        at += chunk.height
        spread.append(frame.filter(pl.col("place") % stride == 0))
        for number, moment_us in enumerate(moments_us):
            before = frame.filter(pl.col("time_us") <= moment_us).tail(near_rows)
            near[number] = pl.concat([near[number], before], how="diagonal").tail(near_rows)
    picked = pl.concat([*spread, *near], how="diagonal").unique("place").sort("place")
    return table_of(Anchors, picked)
