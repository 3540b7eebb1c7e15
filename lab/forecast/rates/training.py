"""Training the model of rates: one booster per quantile, calibrated on days that a first fit did not see.

Equal rows and options give equal bytes: fixed threads, fixed seed, rows in order. The offsets of split conformal
prediction come from a fit without every fifth day; the boosters that are written learnt from all days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from features.demand.features import COLUMNS, FEATURE_SET, FEATURE_SET_VERSION, UNITS
from features.demand.past import HORIZONS_SECONDS, QUANTILES
from features.series.quantiles import Floats
from lab.forecast.builds import sha256_of
from lab.forecast.demand.baselines import weighted_quantile
from lab.forecast.model_writer import BoosterPart, ModelParts, write_model
from lab.forecast.progress import Progress, within
from lab.forecast.rates.learning_rows import LearningRows, learning_rows
from lab.forecast.rates.table import RateTable
from schemas.manifest import ModelManifest, TrainingData
from services.inference.rate_model import OFFSETS, TARGET

if TYPE_CHECKING:
    import xgboost as xgb

DIGITS = 6
WHAT = (
    "Quantiles 0.05, 0.1, 0.5, 0.9 and 0.95 of a rate in 5, 10, 15, 30 and 60 minutes, for any series: what it reads "
    "is free of level and of names. A number is scales above the base, a mixture of simple rules by their newest "
    "errors (`features/demand/features.py`)."
)
CALIBRATED = (
    "- Calibration: offsets by horizon from a fit without every fifth day; at work every quantile follows its series "
    "online, mixed with the rules by recent loss (`features/demand/follow.py`)."
)
JUDGED = "- Judged by `foresail forecast backtest`; figures in `docs/forecast/rates.md`."
LIMITS = (
    "Limits: what no earlier day and no last hour announces (a match, a campaign, an outage) is not foreseen. Holidays "
    "and weekdays are no columns: the same time last week is. With less than three hours known in the last day it is "
    "silent. Own acts change percentages and replicas: forecast offered requests, not those."
)


@dataclass(frozen=True)
class Size:
    """How large the boosters are."""

    rounds: int = 100
    depth: int = 5
    eta: float = 0.1
    threads: int = 2
    """Fixed: sums of gradients depend on how many threads share them."""
    chosen: tuple[tuple[str, float], ...] = ()
    """Parameters of every booster that were asked for, by XGBoost's own names; they go before the usual ones."""


def fit(rows: LearningRows, size: Size, progress: Progress) -> dict[float, xgb.Booster]:
    """Return one booster per quantile."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    bins = xgb.QuantileDMatrix(
        rows.features, rows.numbers, weight=rows.weights, max_bin=128, nthread=size.threads
    )
    boosters = {}
    for number, quantile in enumerate(QUANTILES):
        progress(f"quantile {quantile:g}", number / len(QUANTILES))
        options = {
            "objective": "reg:quantileerror",
            "quantile_alpha": quantile,
            "tree_method": "hist",
            "max_bin": 128,
            "max_depth": size.depth,
            "eta": size.eta,
            "subsample": 0.7,
            "colsample_bytree": 0.4,
            "min_child_weight": 5,
            "nthread": size.threads,
            "seed": 1,
            "verbosity": 0,
            **dict(size.chosen),
        }
        boosters[quantile] = xgb.train(options, bins, num_boost_round=size.rounds)
    return boosters


def offsets(boosters: dict[float, xgb.Booster], rows: LearningRows) -> dict[str, list[float]]:
    """Return by minutes of a horizon what each quantile needs to hold on rows that were not learnt from."""
    said = np.sort(
        np.stack([one.inplace_predict(rows.features) for one in boosters.values()], axis=1), axis=1
    ).astype(np.float64)
    column = rows.features[:, COLUMNS.index("horizon_minutes")]
    found = {}
    for seconds in HORIZONS_SECONDS:
        chosen = column == seconds / 60
        if chosen.any():
            found[str(seconds // 60)] = [
                round(_needed(rows, said, chosen, place), DIGITS) for place in range(len(QUANTILES))
            ]
    return found


def _needed(rows: LearningRows, said: Floats, chosen: NDArray[np.bool_], place: int) -> float:
    missed = rows.numbers[chosen] - said[chosen, place]
    return weighted_quantile(missed, np.ones(int(chosen.sum())), QUANTILES[place])


def train_rates(
    tables: Sequence[RateTable],
    files: Sequence[Path],
    folder: Path,
    part: str,
    size: Size,
    progress: Progress,
) -> ModelManifest:
    """Train on the tables and write the model directory, whole or not at all."""
    rows = learning_rows(tables, part, within(progress, "reading", 0.0, 0.2))
    held = rows.held_out
    found: dict[str, list[float]] = {}
    if held.any() and not held.all():
        # Half of the rows are enough to see how far quantiles are off, in half of the time.
        half = ~held & (np.arange(len(rows)) % 2 == 0)
        first = fit(rows.take(half), size, within(progress, "calibrating", 0.2, 0.5))
        found = offsets(first, rows.take(held))
    boosters = fit(rows, size, within(progress, "training", 0.5, 1.0))
    names = [table.name for table in tables]
    parts = ModelParts(
        name=folder.name,
        kind="demand",
        feature_set=FEATURE_SET,
        feature_set_version=FEATURE_SET_VERSION,
        features=[(name, UNITS[name]) for name in COLUMNS],
        data=TrainingData(
            dataset=", ".join(names),
            dataset_sha256=", ".join(sha256_of(path)[:12] for path in files),
            label="value of the step that holds origin + horizon",
            split=f"rows of split {part} where a table has splits, else all",
            rows=len(rows),
        ),
        card=card(folder.name, tables, rows, size, part),
        calibrated=bool(found),
        target=TARGET,
        metrics={OFFSETS: found},
    )
    return write_model(
        folder,
        parts,
        [
            BoosterPart(float(max(HORIZONS_SECONDS)), bytes(one.save_raw("ubj")), quantile)
            for quantile, one in boosters.items()
        ],
    )


def card(name: str, tables: Sequence[RateTable], rows: LearningRows, size: Size, part: str) -> str:
    """Return the model card as Markdown."""
    sources = [
        f"  - `{table.name}`: {len(table.names)} series, steps of {table.step_seconds} s"
        for table in tables
    ]
    learnt = (
        f"- Learnt from {len(rows):,} rows of {len(tables)} tables (split `{part}` where there is one), each again "
        "with longer steps, and with few requests and the noise of such counts."
    )
    usual: dict[str, float] = {"max_depth": size.depth, "eta": size.eta}
    parameters = ", ".join(
        f"{name} {value:g}" for name, value in (usual | dict(size.chosen)).items()
    )
    boosters = (
        f"- Boosters: XGBoost, {size.rounds} rounds, {parameters.replace('max_depth', 'depth')}, one per quantile; the "
        "horizon is a column."
    )
    return "\n".join(
        [f"# {name}", "", WHAT, "", learnt, *sources, boosters, CALIBRATED, JUDGED, "", LIMITS, ""]
    )
