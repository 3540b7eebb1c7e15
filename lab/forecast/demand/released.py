"""The model directory of a demand run: calibration, thresholds by budget, card.

A booster's factor makes its quantile hold on the calibration rows of all families together, each
family weighing the same. Thresholds are shares of capacity that the stated share of calibration
rows stays below, from the families that load a machine as a node is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.series.features import (
    FEATURE_SET,
    FEATURE_SET_VERSION,
    FEATURES,
    TARGET,
)
from features.series.quantiles import Floats
from lab.forecast.demand.baselines import ascending_quantiles, weighted_quantile
from lab.forecast.demand.card import card
from lab.forecast.demand.origins import Origins
from lab.forecast.demand.quantile import Boosters, raw_numbers
from lab.forecast.demand.series import Family
from lab.forecast.demand.split import Horizon, parts_of
from lab.forecast.demand.table import MODEL, FamilyTable
from lab.forecast.model_writer import BoosterPart, ModelParts, write_model
from schemas.manifest import Calibration, ModelManifest, TrainingData

BUDGETS: Mapping[str, float] = {
    "sleep_demand_ratio": 0.01,
    "dvfs_demand_ratio": 0.05,
    "balloon_demand_ratio": 0.10,
}
"""Share of rows whose predicted p90 may lie below each threshold of the efficiency agent."""
THRESHOLD_QUANTILE = 0.9
LEAST_NUMBER = 0.05
"""Where a quantile lies this near the mean, a factor would not move it."""
LEAST_STEP = 1e-6
DIGITS = 6


@dataclass(frozen=True)
class CalibrationSample:
    """Statistics of calibration rows of one family and horizon.

    `needed` (rows, quantiles) is peak over prediction, in spreads; NaN where the prediction is too
    near the mean. `shares` is predicted p90 over capacity, empty for families unlike nodes.
    """

    horizon: Horizon
    quantiles: tuple[float, ...]
    needed: Floats
    shares: Floats


@dataclass(frozen=True)
class Released:
    """A model, ready to be written."""

    parts: ModelParts
    boosters: tuple[BoosterPart, ...]

    def write(self, folder: Path) -> ModelManifest:
        """Write the model directory, whole or not at all."""
        return write_model(folder, self.parts, self.boosters)


def calibration_sample(
    family: Family, rows: Origins, horizon: Horizon, boosters: Boosters
) -> CalibrationSample:
    """Return what the family's calibration rows say of the boosters."""
    chosen = np.flatnonzero(parts_of(family, rows, horizon).calibrate)
    levels = tuple(boosters)
    units = rows.units.take(chosen)
    numbers = ascending_quantiles(raw_numbers(boosters, rows.features[chosen]))
    peaks = units.numbers(rows.peaks[chosen, horizon.column])
    above = numbers > LEAST_NUMBER
    needed = np.where(above, peaks[:, None] / np.where(above, numbers, 1.0), np.nan)
    usage = units.usage(numbers)[:, levels.index(THRESHOLD_QUANTILE)]
    capacity = rows.capacity[chosen]
    known = np.isfinite(capacity) & family.like_nodes
    return CalibrationSample(horizon, levels, needed, usage[known] / capacity[known])


def release(
    name: str,
    boosters: Mapping[Horizon, Boosters],
    samples: Sequence[CalibrationSample],
    tables: Sequence[FamilyTable],
    pool_rows: int,
    data_hash: str,
) -> Released:
    """Return the model of a run."""
    parts = [
        BoosterPart(
            horizon_seconds=float(horizon.seconds),
            raw=bytes(booster.save_raw(raw_format="ubj")),
            quantile=quantile,
            calibration=calibration(
                quantile, [sample for sample in samples if sample.horizon == horizon]
            ),
        )
        for horizon, own in boosters.items()
        for quantile, booster in own.items()
    ]
    main = min(boosters, key=lambda horizon: abs(horizon.seconds - 3600))
    thresholds = demand_thresholds([sample.shares for sample in samples if sample.horizon == main])
    shown = [table for table in tables if table.horizon == main]
    data = TrainingData(
        dataset="demand series",
        dataset_sha256=data_hash,
        trace=", ".join(dict.fromkeys(table.family for table in tables)),
        label="largest five-minute window within the horizon",
        split="by time, and by owner where there are many; the last quarter of training calibrates",
        rows=pool_rows,
    )
    described = ModelParts(
        name=name,
        kind="demand",
        feature_set=FEATURE_SET,
        feature_set_version=FEATURE_SET_VERSION,
        features=[(feature.name, feature.unit) for feature in FEATURES],
        data=data,
        card=card(name, shown, thresholds, BUDGETS, pool_rows),
        calibrated=True,
        target=TARGET,
        thresholds={"efficiency": thresholds} if thresholds else {},
        budgets=dict(BUDGETS) if thresholds else {},
        metrics=_metrics(shown),
    )
    return Released(described, tuple(parts))


def demand_thresholds(shares: Sequence[Floats]) -> dict[str, float]:
    """Return for each budget the share of capacity that so many predictions stay below.

    Thresholds rise strictly. Empty without any share.
    """
    values = np.concatenate([np.empty(0), *shares])
    if not len(values):
        return {}
    thresholds: dict[str, float] = {}
    lowest = 0.0
    for field, budget in BUDGETS.items():
        value = round(weighted_quantile(values, np.ones(len(values)), budget), DIGITS)
        lowest = max(value, round(lowest + LEAST_STEP, DIGITS))
        thresholds[field] = lowest
    return thresholds


def calibration(quantile: float, samples: Sequence[CalibrationSample]) -> Calibration:
    """Return the factor that makes the quantile hold; none for the median, which has no side."""
    if quantile <= 0.5:
        return Calibration()
    column = samples[0].quantiles.index(quantile)
    needed = [sample.needed[:, column] for sample in samples]
    known = [values[~np.isnan(values)] for values in needed]
    known = [values for values in known if len(values)]
    if not known:
        return Calibration()
    weights = np.concatenate([np.full(len(values), 1.0 / len(values)) for values in known])
    factor = weighted_quantile(np.concatenate(known), weights, quantile)
    return Calibration(kind="factor", factor=round(max(factor, 0.0), DIGITS))


def _metrics(tables: Sequence[FamilyTable]) -> dict[str, object]:
    return {
        table.family: {
            "violation": round(table.method(MODEL).followed.violation, DIGITS),
            "savings": round(table.method(MODEL).followed.savings, DIGITS),
            "quantiles_as_they_are": {
                f"{row.quantile:g}": round(row.plain_violation, DIGITS) for row in table.quantiles
            },
        }
        for table in tables
    }
