"""What it would save to end running attempts that are predicted to fail, and how many sound ones would go with them.

    python -m lab.forecast.risk.ending_early --dataset DATASET --model MODEL_FOLDER [--segment 1]

An attempt is ended at the first moment, five minutes or more after it began, at which the model's risk is at or above
the threshold; moments are the dataset's, five minutes apart. What a failing attempt would still have run is saved; what
a sound one had done is thrown away. The row at which 1 % of the sound ones are ended is chosen in hindsight, which
flatters the rule.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from bus.errors import ForesailError, InputError
from features.history import Kind
from lab.forecast.dataset import open_dataset
from lab.forecast.risk.boosting import load_booster, mean_probability
from lab.forecast.risk.holding import MINUTES
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.store import TrainingStore
from lab.traces.google2011_lives import LARGEST_CPU_MILLICORES

GRACE_SECONDS = 300.0
THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
ROWS_PER_CHUNK = 500_000
COLUMNS = (
    "position",
    "time_us",
    "job",
    "task",
    "attempt_start_us",
    "end_us",
    "end_kind",
    "cpu_request",
)
HEAD = (
    "| ended from | ended | of these failing | of the sound ones ended | saved of all waste "
    "| sound work lost, of all waste |\n|---:|---:|---:|---:|---:|---:|"
)


def scored_moments(source: DatasetSource, members: Sequence[bytes], segment: int) -> pl.DataFrame:
    """Return the moments of attempts that began and ended in a segment: risk, core-hours done and left, outcome."""
    boosters = [load_booster(raw) for raw in members]
    parts: list[pl.DataFrame] = []
    offset = 0
    for chunk in source.anchor_chunks(ROWS_PER_CHUNK):
        rows = chunk.with_row_index("position", offset=offset).filter(
            pl.col("segment") == segment, pl.col("attempt_start_us") > 0, pl.col("end_us") >= 0
        )
        offset += len(chunk)
        if len(rows):
            parts.append(rows.select(COLUMNS))
    table = pl.concat(parts)
    risks = [
        mean_probability(boosters, matrix)
        for matrix in source.features_at(table["position"].to_numpy().astype(np.int64))
    ]
    core_hours = pl.col("cpu_request").fill_null(0.0) * LARGEST_CPU_MILLICORES / 1000 / 3.6e9
    return table.with_columns(
        risk=pl.Series(np.concatenate(risks)),
        age=(pl.col("time_us") - pl.col("attempt_start_us")) / 1e6,
        done=(pl.col("time_us") - pl.col("attempt_start_us")) * core_hours,
        left=(pl.col("end_us") - pl.col("time_us")) * core_hours,
        fails=pl.col("end_kind") == Kind.FAIL,
    )


def row_of(moments: pl.DataFrame, threshold: float) -> str:
    """Return one row of the table."""
    key = ["job", "task", "attempt_start_us"]
    attempts = moments.group_by(key).agg(
        pl.col("fails").first(), (pl.col("done") + pl.col("left")).first().alias("hours")
    )
    ended = (
        moments.filter(pl.col("age") >= GRACE_SECONDS, pl.col("risk") >= threshold)
        .sort("time_us")
        .group_by(key, maintain_order=True)
        .first()
    )
    wasted = float(attempts.filter("fails")["hours"].sum())
    sound = attempts.height - int(attempts["fails"].sum())
    right, wrong = ended.filter("fails"), ended.filter(~pl.col("fails"))
    saved, lost = float(right["left"].sum()), float(wrong["done"].sum())
    return (
        f"| {threshold:g} | {ended.height:,} | {right.height:,} | {100 * wrong.height / max(1, sound):.2f} % "
        f"| {100 * saved / wasted:.1f} % | {100 * lost / wasted:.1f} % |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code (2: no such dataset, model or segment)."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.forecast.risk.ending_early", description=__doc__
    )
    parser.add_argument("--dataset", type=Path, required=True, help="a dataset's folder")
    parser.add_argument("--model", type=Path, required=True, help="a model's folder")
    parser.add_argument(
        "--segment", type=int, default=1, help="the part of the trace that is judged"
    )
    options = parser.parse_args(arguments)
    try:
        source = DatasetSource(open_dataset(options.dataset))
        if options.segment not in source.segments:
            raise InputError("--segment", options.segment, f"it has {sorted(source.segments)}")
        trained = TrainingStore(options.model).read(MINUTES)
        if trained is None:
            raise InputError("--model", options.model.name, "give one with its .training beside it")
        moments = scored_moments(source, list(trained.members.values()), options.segment)
    except ForesailError as error:
        print(f"lab.forecast.risk.ending_early: {error}", file=sys.stderr)
        return 2
    print(HEAD)
    for threshold in THRESHOLDS:
        print(row_of(moments, threshold))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
