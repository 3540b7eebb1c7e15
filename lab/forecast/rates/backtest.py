"""Rolling origins through a table of rates: every forecast as it would have been made then.

Series are taken in groups that fit the memory; predictions of a group are written as one piece, and the pieces are
joined at the end, so a file appears only when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bus.errors import InputError
from features.demand.past import Past, origin_times, origins_of
from lab.forecast.progress import Progress
from lab.forecast.rates.scores import Scores
from lab.forecast.rates.table import RateSeries, RateTable, Repairs
from services.inference.speakers import SPEAKERS, Numbers, Said, forecast_all, speak

ORIGINS_TOGETHER = 100_000
"""Origins of a group of series: half a gigabyte."""
COLUMNS = ("q05", "q10", "q50", "q90", "q95")
NO_MODEL = "rules"


@dataclass(frozen=True)
class Backtest:
    """Result of a backtest."""

    dataset: str
    step_seconds: int
    series: int
    predictions: int
    repairs: Repairs
    parts: dict[str, Any]
    silent: dict[str, int]
    """Origins by the reason for which the model said nothing; numbers in it are left out."""


def run_backtest(
    table: RateTable, model: Numbers | None, output: Path | None, progress: Progress
) -> Backtest:
    """Foretell every series of a table at every origin, score it, and write the predictions.

    Raises:
        InputError: no forecast could be made.
    """
    scores, silent = Scores(table.splits), dict[str, int]()
    pieces: list[Path] = []
    done = predictions = 0
    model_id = model.model_id if model is not None else NO_MODEL
    try:
        for group in _groups(table):
            frame = _forecast_group(table, group, model, model_id, scores, silent)
            done += len(group)
            predictions += frame.height
            progress(f"{done} of {len(table.names)} series", done / len(table.names))
            if output is not None:
                piece = output.with_name(f"{output.name}.{len(pieces)}.partial")
                frame.write_parquet(piece)
                pieces.append(piece)
        if not predictions:
            raise InputError("--rates", table.name, "no series has a known value at any origin")
        if output is not None:
            whole = output.with_name(f"{output.name}.partial")
            pieces.append(whole)
            pl.scan_parquet(pieces[:-1]).sink_parquet(whole)
            whole.replace(output)
    finally:
        for piece in pieces:
            piece.unlink(missing_ok=True)
    return Backtest(
        table.name,
        table.step_seconds,
        len(table.names),
        predictions,
        table.repairs,
        scores.report(),
        silent,
    )


def _groups(table: RateTable) -> Iterator[list[RateSeries]]:
    group: list[RateSeries] = []
    origins = 0
    for series in table:
        count = len(series.values) * table.step_seconds // max(900, table.step_seconds) + 1
        if group and origins + count > ORIGINS_TOGETHER:
            yield group
            group, origins = [], 0
        group.append(series)
        origins += count
    if group:
        yield group


def _forecast_group(
    table: RateTable,
    group: list[RateSeries],
    model: Numbers | None,
    model_id: str,
    scores: Scores,
    silent: dict[str, int],
) -> pl.DataFrame:
    step = table.step_seconds
    many, kept = list[Said](), list[RateSeries]()
    for series in group:
        last = series.start_s + (len(series.values) - 1) * step
        times = origin_times(series.start_s, last, step)
        if not len(times):
            continue
        past = Past(series.values, step)
        kept.append(series)
        many.append(speak(model, past, origins_of(series.start_s, step, times)))
    if not many:
        return _frame(table, [])
    bands, named, _ = forecast_all(many)
    names = np.array([model_id, *SPEAKERS[1:]])
    frames = []
    for place, (series, said) in enumerate(zip(kept, many, strict=True)):
        own = bands[place, : len(said)]
        speaker = named[place, : len(said)]
        for reason in said.silent:
            if reason and model is not None:
                words = reason.partition(":")[0].partition("reading")[0].strip()
                silent[words] = silent.get(words, 0) + 1
        judged = np.concatenate([own[:, :, None], said.bands[:, :, 1:]], axis=2)
        split = series.split[np.clip(said.origins.target, 0, len(series.values) - 1)]
        scores.add(
            said.origins,
            judged,
            said.truth,
            split.astype(np.int64),
            said.edges,
            speaker == 0,
        )
        frames.append(_rows(series, said, own, names[speaker]))
    return _frame(table, frames)


def _rows(series: RateSeries, said: Said, bands: Any, names: Any) -> pl.DataFrame:
    """Return the rows of one series: where something was known, one for each origin and horizon."""
    count, horizons = bands.shape[:2]
    keep = np.repeat(said.known, horizons)
    columns = {
        "series": [series.name] * (count * horizons),
        "origin_s": np.repeat(said.origins.origin_s, horizons),
        "horizon_s": np.tile(np.array(said.origins.horizons, dtype=np.int64), count),
        **{
            name: bands[:, :, place].reshape(-1).astype(np.float64)
            for place, name in enumerate(COLUMNS)
        },
        "model": names.reshape(-1),
    }
    return pl.DataFrame(columns).filter(pl.Series(keep))


def _frame(table: RateTable, frames: list[pl.DataFrame]) -> pl.DataFrame:
    kinds: dict[str, Any] = {
        "series": table.series_type,
        "origin_s": pl.Int64(),
        "horizon_s": pl.Int64(),
        **{name: pl.Float64() for name in COLUMNS},
        "model": pl.String(),
    }
    if not frames:
        return pl.DataFrame(schema=kinds)
    return pl.concat(frames).cast(pl.Schema(kinds))
