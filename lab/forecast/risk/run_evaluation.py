"""Evaluating a model directory on a dataset: every horizon, one report, three forms."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.forecast.builds import write_text
from lab.forecast.progress import Progress, within
from lab.forecast.risk.bootstrap import RESAMPLES
from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.evaluation import Subject, evaluate_horizon
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.plots import write_plots
from lab.forecast.risk.report import markdown
from lab.forecast.risk.report_types import HorizonReport, RiskReport
from lab.forecast.risk.rows import SECONDS_PER_MINUTE, read_events, read_rows
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.splits import Cut
from lab.forecast.risk.store import TrainingStore
from schemas.manifest import ModelManifest
from services.model_directory import ModelDirectory, read_model


def evaluate_model(
    source: DatasetSource,
    folder: Path,
    dataset_sha256: str,
    horizons: tuple[int, ...],
    splits: frozenset[str],
    progress: Progress,
) -> RiskReport:
    """Return the report of a model on a dataset, as JSON values.

    Args:
        source: the dataset.
        folder: the model directory.
        dataset_sha256: hash of the dataset's manifest.
        horizons: minutes to report; empty: all of the model's.
        splits: names of splits to report; empty: all there are.
        progress: told what is being done, and how much is.

    Raises:
        InputError: the model is no risk model, was trained on other features, or lacks a horizon.
    """
    model = read_model(folder)
    manifest = model.manifest
    check_model(manifest, source)
    same = manifest.data.dataset_sha256 == dataset_sha256
    past = JobCounts(read_events(source))
    store = TrainingStore(folder)
    reports: list[HorizonReport] = []
    chosen = _horizons_to_report(manifest, horizons)
    for place, minutes in enumerate(chosen):
        part = within(progress, f"{minutes} min", place / len(chosen), (place + 1) / len(chosen))
        part("reading rows", 0.0)
        subject = _subject(model, store, minutes, same)
        figures = evaluate_horizon(
            source, read_rows(source, minutes), past, subject,
            _scoring_progress(part), splits,
        )  # fmt: skip
        reports.append(
            HorizonReport(
                minutes=minutes,
                splits=figures["splits"],
                rolling=figures["rolling"],
                folds=figures["folds"],
                features=figures["features"],
                checks=figures["checks"],
            )
        )
    return {
        "format": 1,
        "model_id": manifest.model_id,
        "illusion": bool(manifest.metrics.get("illusion")),
        "dataset": str(source.manifest["name"]),
        "same_dataset": same,
        "label": manifest.data.label,
        "split": manifest.data.split,
        "train_rows": manifest.data.rows,
        "train_positives": manifest.data.positives,
        "resamples": RESAMPLES,
        "horizons": reports,
    }


def _scoring_progress(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, rows: progress(f"scored {done:,} of {rows:,} rows", done / max(1, rows))


def check_model(manifest: ModelManifest, source: DatasetSource) -> None:
    """Refuse a model that cannot be judged on a dataset.

    Raises:
        InputError: it is no risk model, or was trained on other features.
    """
    if manifest.kind != "risk":
        raise InputError("--model", manifest.model_id, "it is a demand model; name a risk model")
    if manifest.feature_names != source.feature_names:
        known = f"{manifest.feature_set} version {manifest.feature_set_version}"
        raise InputError(
            "--dataset",
            str(source.manifest["name"]),
            f"build it with the model's features: {known}",
        )


def _horizons_to_report(manifest: ModelManifest, horizons: tuple[int, ...]) -> list[int]:
    known = [int(one // SECONDS_PER_MINUTE) for one in manifest.horizons_seconds]
    for minutes in horizons:
        if minutes not in known:
            names = ", ".join(f"{one}m" for one in known)
            raise InputError("--horizon", f"{minutes}m", f"the model has: {names}")
    return [one for one in known if not horizons or one in horizons]


def _subject(model: ModelDirectory, store: TrainingStore, minutes: int, same: bool) -> Subject:
    manifest = model.manifest
    seconds = float(minutes * SECONDS_PER_MINUTE)
    places = [
        place
        for place, booster in enumerate(manifest.boosters)
        if booster.horizon_seconds == seconds
    ]
    calibration = manifest.boosters[places[0]].calibration
    members = tuple(model.boosters[place] for place in places)
    trained = store.read(minutes)
    if trained is not None and tuple(trained.members.values()) != members:
        trained = None
    cuts = manifest.metrics.get("cuts", {})
    if str(minutes) not in cuts:
        raise InputError("--model", manifest.model_id, "its manifest names no cut; train it anew")
    return Subject(
        members=members,
        curve=Curve(calibration.x, calibration.y),
        cut=Cut(**{key: int(value) for key, value in cuts[str(minutes)].items()}),
        is_illusion=bool(manifest.metrics.get("illusion")),
        prior=manifest.data.prevalence if trained is None else trained.positives / trained.rows,
        seed=int(manifest.metrics.get("options", {}).get("seed", 0)),
        trained=trained,
        same_dataset=same,
    )


def write_report(report: RiskReport, file: Path, *, plots: bool = True) -> list[Path]:
    """Write `file` (Markdown), the same figures as `.json` beside it, and plots; return the files."""
    written = [file, file.with_suffix(".json")]
    file.parent.mkdir(parents=True, exist_ok=True)
    if plots:
        folder = file.with_name(f"{file.stem}-plots")
        for horizon in report["horizons"]:
            horizon["plot_folder"] = folder.name
            horizon["plots"] = write_plots(folder, horizon["minutes"], horizon)
            written += [folder / name for name in horizon["plots"]]
    write_text(file, markdown(report))
    write_text(written[1], json.dumps(_without_nan(report), indent=1) + "\n")
    return written


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return value
