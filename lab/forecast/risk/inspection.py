"""Content of a model directory, for people: thresholds, features by gain, one row explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bus.errors import InputError
from lab.forecast.risk.boosting import load_booster, mean_probability, threads_for
from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.importance import gains, importances
from lab.forecast.risk.rows import SECONDS_PER_MINUTE, read_features
from lab.forecast.risk.source import DatasetSource
from services.model_directory import ModelDirectory

if TYPE_CHECKING:
    import xgboost as xgb

LISTED = 30


def describe_model(model: ModelDirectory) -> dict[str, Any]:
    """Return a model's manifest in short, and what its trees use."""
    manifest = model.manifest
    units = {feature.name: feature.unit for feature in manifest.features}
    horizons = {}
    for seconds in manifest.horizons_seconds:
        boosters = _members(model, seconds)
        shares = gains(boosters, list(manifest.feature_names))
        order = np.argsort(-shares, kind="stable")[:LISTED]
        names = [manifest.feature_names[place] for place in order]
        kinds = importances(boosters, list(manifest.feature_names))
        horizons[_horizon(seconds)] = {
            "members": len(boosters),
            "trees": sum(booster.num_boosted_rounds() for booster in boosters),
            "by_gain": [
                {
                    "feature": name,
                    "unit": units[name],
                    "value": float(shares[place]),
                    **{kind: float(values[place]) for kind, values in kinds.items()},
                }
                for name, place in zip(names, order, strict=True)
            ],
        }
    return {
        "model_id": manifest.model_id,
        "illusion": bool(manifest.metrics.get("illusion")),
        "booster_bytes": sum(len(raw) for raw in model.boosters),
        "data": manifest.data.model_dump(mode="json"),
        "feature_set": manifest.feature_set,
        "feature_set_version": manifest.feature_set_version,
        "features": len(manifest.features),
        "thresholds": manifest.thresholds.get("safety", {}),
        "budgets": manifest.budgets,
        "metrics": manifest.metrics,
        "packages": manifest.packages,
        "horizons": horizons,
    }


def gain_shares(model: ModelDirectory) -> list[tuple[str, float]]:
    """Return each feature's share of all boosters' gain, the largest first."""
    names = list(model.manifest.feature_names)
    shares = gains([load_booster(raw) for raw in model.boosters], names)
    order = np.argsort(-shares, kind="stable")
    return [(names[place], float(shares[place])) for place in order]


def explain_row(model: ModelDirectory, source: DatasetSource, row: int) -> dict[str, Any]:
    """Return a row's probability and its contributions, by horizon.

    Raises:
        InputError: there is no such row, or the dataset has other features.
    """
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    manifest = model.manifest
    if not 0 <= row < source.dataset.rows:
        raise InputError("--row", row, f"give 0 to {source.dataset.rows - 1}")
    if manifest.feature_names != source.feature_names:
        known = f"{manifest.feature_set} version {manifest.feature_set_version}"
        raise InputError("--dataset", source.dataset.name, f"build it with features {known}")
    matrix = read_features(source, np.array([row], dtype=np.int64))
    by_horizon = {}
    for seconds in manifest.horizons_seconds:
        boosters = _members(model, seconds)
        raw = mean_probability(boosters, matrix)
        first = next(booster for booster in manifest.boosters if booster.horizon_seconds == seconds)
        curve = Curve(first.calibration.x, first.calibration.y)
        rows = xgb.DMatrix(matrix, missing=np.nan, nthread=threads_for(matrix))
        contributions_of_members = [
            booster.predict(rows, pred_contribs=True)[0, :-1] for booster in boosters
        ]
        mean = np.mean(contributions_of_members, axis=0)
        order = np.argsort(-np.abs(mean), kind="stable")[:LISTED]
        by_horizon[_horizon(seconds)] = {
            "row": row,
            "raw": float(raw[0]),
            "probability": float(curve.apply(raw)[0]),
            "contributions": [
                {
                    "feature": manifest.feature_names[place],
                    "value": None if np.isnan(matrix[0, place]) else float(matrix[0, place]),
                    "contribution": float(mean[place]),
                }
                for place in order
            ],
        }
    return by_horizon


def _members(model: ModelDirectory, seconds: float) -> list[xgb.Booster]:
    return [
        load_booster(raw)
        for raw, booster in zip(model.boosters, model.manifest.boosters, strict=True)
        if booster.horizon_seconds == seconds
    ]


def _horizon(seconds: float) -> str:
    return f"{seconds / SECONDS_PER_MINUTE:g} min"
