"""Publish a model's risks as live rows bear them out, by a logistic curve learned from recordings.

    foresail forecast dataset --trace recording --input RUN.fslog --features hazard --anchor hazard --name live
    python -m lab.forecast.risk.recalibrate --dataset DATASET [MORE ...] --model MODEL_FOLDER --out NEW_MODEL_FOLDER

Intercept and slope of the log odds (Cox, 1958; "logistic recalibration") are fitted on the rows of the recordings,
each a dataset of its own, which must not be those that the result is judged by. A slope below 1 says that the model
is too sure. The trees stay; the thresholds of the same budgets are taken anew from the nodes of the recordings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bus.errors import ForesailError, InputError
from lab.forecast.dataset import open_dataset
from lab.forecast.model_writer import (
    BoosterPart,
    ModelParts,
    checked_name,
    thresholds_by_budget,
    write_model,
)
from lab.forecast.risk.boosting import load_booster, mean_probability
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.rows import Rows, read_rows
from lab.forecast.risk.source import DatasetSource
from schemas.manifest import CARD_FILE, MANIFEST_FILE, Calibration, ModelManifest

LEAST_FAILING_JOBS = 20
KNOTS = 65
SMALLEST = 1e-6
STEPS = 50


@dataclass(frozen=True, slots=True)
class Line:
    """Log odds that are published: `intercept + slope * log odds of the model`."""

    intercept: float
    slope: float

    def apply(self, risks: Floats) -> Floats:
        """Return published risks."""
        published: Floats = 1.0 / (1.0 + np.exp(-self.intercept - self.slope * _log_odds(risks)))
        return published

    def calibration(self) -> Calibration:
        """Return the curve with straight lines between knots that lie evenly in log odds."""
        widest = float(_log_odds(np.array([1.0 - SMALLEST]))[0])
        x = 1.0 / (1.0 + np.exp(-np.linspace(-widest, widest, KNOTS)))
        y = self.apply(x)
        return Calibration(kind="isotonic", x=tuple(x.tolist()), y=tuple(y.tolist()))


def _log_odds(risks: Floats) -> Floats:
    clipped = np.clip(risks, SMALLEST, 1.0 - SMALLEST)
    odds: Floats = np.log(clipped / (1.0 - clipped))
    return odds


def fit(risks: Floats, failed: Ints) -> Line:
    """Return the line of greatest likelihood, by Newton steps from the model's own."""
    columns = np.column_stack((np.ones(len(risks)), _log_odds(risks)))
    line = np.array([0.0, 1.0])
    for _ in range(STEPS):
        mean = 1.0 / (1.0 + np.exp(-columns @ line))
        hessian = (columns * (mean * (1.0 - mean))[:, None]).T @ columns
        step = np.linalg.solve(hessian, columns.T @ (failed - mean))
        line += step
        if np.abs(step).max() < 1e-9:
            break
    return Line(float(line[0]), float(line[1]))


def nodes_of(rows: Rows, risks: Floats) -> Floats:
    """Return the risk of each machine at each moment: 1 - prod(1 - p) over what runs there."""
    order = np.lexsort((rows.time_us, rows.machine, rows.segment))
    key = np.column_stack(
        (rows.segment[order], rows.machine[order], rows.time_us[order] // 300_000_000)
    )
    first = np.flatnonzero(np.append(True, (key[1:] != key[:-1]).any(axis=1)))
    survives = np.multiply.reduceat(1.0 - risks[order], first)
    nodes: Floats = 1.0 - survives
    return nodes


@dataclass(frozen=True, slots=True)
class LiveRows:
    """Rows of one recording, and what the model says of them."""

    rows: Rows
    risks: Floats

    @property
    def failing_jobs(self) -> int:
        """Jobs with a row that was followed by a failure."""
        return len(np.unique(self.rows.job[self.rows.label == 1]))


def read_live(dataset: Path, manifest: ModelManifest, raws: Sequence[bytes]) -> LiveRows:
    """Return the rows of a dataset with the model's own risks.

    Raises:
        InputError: there is no such dataset, or it has other features.
    """
    source = DatasetSource(open_dataset(dataset))
    if source.feature_set != manifest.feature_set:
        remedy = f"build the dataset with --features {manifest.feature_set}"
        raise InputError("--dataset", source.feature_set, remedy)
    rows = read_rows(source, round(manifest.horizons_seconds[0] / 60))
    boosters = [load_booster(raw) for raw in raws]
    parts = [mean_probability(boosters, matrix) for matrix in source.features_at(rows.position)]
    return LiveRows(rows, np.concatenate(parts))


def skill(risks: Floats, failed: Ints) -> float:
    """Return the Brier skill of rows against the best constant in hindsight."""
    rate = float(failed.mean())
    return 1.0 - float(((risks - failed) ** 2).mean()) / (rate * (1.0 - rate))


def recalibrated(model: Path, datasets: Sequence[Path], out: Path) -> ModelManifest:
    """Write the model with its new curve; return its manifest.

    Raises:
        InputError: the folder holds no model of risk, a dataset has other features, or too few jobs failed.
    """
    try:
        manifest = ModelManifest.model_validate_json((model / MANIFEST_FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError("--model", model.name, "give a folder that holds a model") from error
    raws = [(model / booster.file).read_bytes() for booster in manifest.boosters]
    live = [read_live(dataset, manifest, raws) for dataset in datasets]
    failing = sum(one.failing_jobs for one in live)
    if failing < LEAST_FAILING_JOBS:
        raise InputError("--dataset", f"{failing} failing jobs", f"at least {LEAST_FAILING_JOBS}")
    risks = np.concatenate([one.risks for one in live])
    labels = np.concatenate([one.rows.label for one in live]).astype(np.int64)
    line = fit(risks, labels)
    numbers = np.concatenate([nodes_of(one.rows, line.apply(one.risks)) for one in live])
    thresholds = {"safety": thresholds_by_budget(numbers, manifest.budgets)}
    text = (
        f"log odds of {manifest.model_id} x {line.slope:.3f} {line.intercept:+.3f}, fitted on "
        f"{len(risks):,} live rows, {failing} failing jobs; their Brier skill is "
        f"{skill(risks, labels):+.4f} before and {skill(line.apply(risks), labels):+.4f} after"
    )
    card = (model / CARD_FILE).read_text(encoding="utf-8") + f"\n## Recalibrated\n\n{text}.\n"
    parts = ModelParts(
        name=checked_name(out.name), kind="risk", feature_set=manifest.feature_set,
        feature_set_version=manifest.feature_set_version, target=manifest.target, data=manifest.data, card=card,
        features=[(feature.name, feature.unit) for feature in manifest.features], calibrated=True,
        thresholds=thresholds, budgets=manifest.budgets, metrics={**manifest.metrics, "recalibrated": text},
    )  # fmt: skip
    members = [
        BoosterPart(booster.horizon_seconds, raw, calibration=line.calibration())
        for booster, raw in zip(manifest.boosters, raws, strict=True)
    ]
    return write_model(out, parts, members)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the model and say how; returns the exit code (2: bad input)."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.forecast.risk.recalibrate", description=__doc__
    )
    parser.add_argument("--dataset", type=Path, nargs="+", required=True, help="datasets' folders")
    parser.add_argument("--model", type=Path, required=True, help="a model's folder")
    parser.add_argument("--out", type=Path, required=True, help="the new model's folder")
    options = parser.parse_args(arguments)
    try:
        manifest = recalibrated(options.model, options.dataset, options.out)
    except ForesailError as error:
        print(f"lab.forecast.risk.recalibrate: {error}", file=sys.stderr)
        return 2
    print(f"{manifest.model_id}: {manifest.metrics['recalibrated']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
