"""Training a model directory: horizon after horizon, resumed where it was interrupted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab.forecast.model_writer import (
    BoosterPart,
    ModelParts,
    package_versions,
    thresholds_by_budget,
    write_model,
)
from lab.forecast.progress import Progress, in_steps, within
from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.card import card
from lab.forecast.risk.figures import calibration_figures
from lab.forecast.risk.folds import MEAN
from lab.forecast.risk.options import Options, key_of
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import MICROSECONDS, SECONDS_PER_MINUTE, Rows, read_events, read_rows
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.splits import Cut, cut_of, main_segment
from lab.forecast.risk.store import TrainingStore
from lab.forecast.risk.thresholds import BUDGETS, RiskSample, node_sample, risk_sample
from lab.forecast.risk.training import Trained, steps_of, train_horizon
from schemas.manifest import Calibration, ModelManifest, TrainingData

FEWEST_CALIBRATED = 2
"""Knots from which a curve is one."""


@dataclass(frozen=True, slots=True)
class HorizonRun:
    """A trained horizon as a run reports it."""

    minutes: int
    trained: Trained
    cut: Cut
    resumed: bool


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """Result of a training run."""

    manifest: ModelManifest
    runs: tuple[HorizonRun, ...]


def train_model(
    source: DatasetSource,
    folder: Path,
    horizons: Sequence[int],
    options: Options,
    dataset_sha256: str,
    progress: Progress,
) -> TrainedModel:
    """Train every horizon and write the model directory.

    Args:
        source: the dataset.
        folder: the model directory; its name is the model's.
        horizons: minutes, the model's main horizon first.
        options: how to train.
        dataset_sha256: hash of the dataset's manifest.
        progress: told what is being done, and how much is.

    Raises:
        InputError: the dataset has no such horizon, no features or too few failures; the folder
            holds something else.
    """
    store = TrainingStore(folder)
    past: JobCounts | None = None
    runs: list[HorizonRun] = []
    sample: RiskSample | None = None
    for place, minutes in enumerate(horizons):
        part = within(
            progress, f"{minutes} min", place / len(horizons), (place + 1) / len(horizons)
        )
        key = key_of(options, dataset_sha256, minutes, package_versions())
        rows = read_rows(source, minutes)
        cut = cut_for(source, rows, minutes, options)
        trained = store.read(minutes) if store.key(minutes) == key else None
        resumed = trained is not None
        if trained is None:
            past = past or JobCounts(read_events(source))
            trained = train_horizon(
                source, rows, cut, past, source.groups, options,
                in_steps(part, steps_of(options)),
            )  # fmt: skip
            store.write(minutes, trained, key)
        if sample is None:
            part("thresholds", 1.0)
            sample = _sample(source, rows, trained, cut, options)
        runs.append(HorizonRun(minutes, trained, _last_cut(source, cut, options), resumed))
    assert sample is not None
    parts = _parts(source, folder.name, runs, options, dataset_sha256, sample)
    manifest = write_model(folder, parts, [booster for run in runs for booster in _boosters(run)])
    return TrainedModel(manifest, tuple(runs))


def _sample(
    source: DatasetSource, rows: Rows, trained: Trained, cut: Cut, options: Options
) -> RiskSample:
    if options.every_age:
        return node_sample(source, rows, trained, cut)
    return risk_sample(rows, trained.out_of_fold, trained.curve, cut.purge_us)


def _last_cut(source: DatasetSource, cut: Cut, options: Options) -> Cut:
    """Return the cut that a manifest states: after a refit nothing is left to judge by."""
    if not options.refit:
        return cut
    end = max(end for _, end in source.segments.values())
    return replace(cut, end_us=end, cut_us=end)


def cut_for(source: DatasetSource, rows: Rows, minutes: int, options: Options) -> Cut:
    """Return where training on a dataset ends: a share of its largest segment's time."""
    segment = main_segment(rows)
    seconds = minutes * SECONDS_PER_MINUTE
    return cut_of(rows, source.segments[segment], segment, seconds, options.train_share)


def _boosters(run: HorizonRun) -> list[BoosterPart]:
    calibration = _calibration(run.trained.curve)
    return [
        BoosterPart(float(run.minutes * SECONDS_PER_MINUTE), raw, calibration=calibration)
        for raw in run.trained.members.values()
    ]


def _calibration(curve: Curve) -> Calibration:
    if len(curve.x) < FEWEST_CALIBRATED:
        return Calibration()
    return Calibration(kind="isotonic", x=curve.x, y=curve.y)


def _parts(
    source: DatasetSource,
    name: str,
    runs: Sequence[HorizonRun],
    options: Options,
    dataset_sha256: str,
    sample: RiskSample,
) -> ModelParts:
    main = runs[0]
    manifest = source.manifest
    data = TrainingData(
        dataset=str(manifest["name"]),
        dataset_sha256=dataset_sha256,
        trace=str(manifest.get("trace", "")),
        label=label_text(manifest, main.minutes),
        split=split_text(main.cut, options),
        rows=main.trained.rows,
        positives=main.trained.positives,
        prevalence=main.trained.positives / main.trained.rows,
    )
    thresholds = thresholds_by_budget(sample.risks, BUDGETS)
    parts = ModelParts(
        name=name,
        kind="risk",
        feature_set=source.feature_set,
        feature_set_version=int(manifest["features"]["version"]),
        features=source.units,
        data=data,
        card="",
        calibrated=options.every_age
        or all(len(run.trained.curve.x) >= FEWEST_CALIBRATED for run in runs),
        thresholds={"safety": thresholds},
        budgets=BUDGETS,
        metrics={
            "cuts": {str(run.minutes): cut_json(run.cut) for run in runs},
            "illusion": options.illusion,
            "options": options.to_json(),
            "thresholds_of": "nodes" if sample.of_nodes else "rows",
            "folds": {str(run.minutes): fold_figures(run.trained) for run in runs},
        },
    )
    return replace(parts, card=card(parts, runs[0].trained.chosen, options))


def fold_figures(trained: Trained) -> dict[str, Any]:
    """Return what the folds say of the model that was written, as JSON values."""
    predictions = trained.out_of_fold
    scores = predictions.scores[MEAN]
    name = MEAN if len(trained.members) > 1 else next(iter(trained.members))
    figures = {
        "rows": len(scores),
        "positives": int(predictions.label.sum()),
        "average_precision": _mean(one[f"ap_{name}"] for one in trained.table),
        "average_precision_unseen_jobs": _mean(one[f"ap_unseen_{name}"] for one in trained.table),
        **{
            key: value
            for key, value in calibration_figures(
                predictions.label, scores, predictions.weight
            ).items()
            if key in {"brier", "brier_skill", "expected_observed"}
        },
        "chosen": trained.chosen,
    }
    return {
        key: None if isinstance(value, float) and np.isnan(value) else value
        for key, value in figures.items()
    }


def _mean(values: Iterable[float]) -> float:
    """Return the mean over folds; each fold has a model of its own, so their rows do not mix."""
    usable = [value for value in values if not math.isnan(value)]
    return math.fsum(usable) / len(usable) if usable else math.nan


def cut_json(cut: Cut) -> dict[str, int]:
    """Return a cut as JSON values."""
    return {
        "segment": cut.segment,
        "start_us": cut.start_us,
        "end_us": cut.end_us,
        "cut_us": cut.cut_us,
        "purge_us": cut.purge_us,
    }


def label_text(manifest: Any, minutes: int) -> str:
    """Return the label in words."""
    ends = " or ".join(manifest["label"]["failures"])
    places = {"schedule": "a placement", "hazard": "a placement and each 5 minutes of running"}
    where = places.get(manifest["anchor"], "each 5 minutes of running")
    return f"{ends} of the attempt within {minutes * SECONDS_PER_MINUTE} s after {where}"


def split_text(cut: Cut, options: Options) -> str:
    """Return the training rows in words."""
    if options.illusion:
        return "ILLUSION: 60 % of the rows drawn at random"
    if options.refit:
        return (
            f"everything that is labelled; folds inside the first {options.train_share:.0%} of "
            f"segment {cut.segment}"
        )
    until = (cut.cut_us - cut.purge_us) / MICROSECONDS
    return (
        f"segment {cut.segment} up to {until:.0f} s: {options.train_share:.0%} of its time less a "
        f"gap of {cut.purge_us // MICROSECONDS} s"
    )
