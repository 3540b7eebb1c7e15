"""Writing a model directory, whole or not at all, and the same bytes for the same model.

The directory is written beside its place as `<name>.partial` and renamed at the end; an
interrupted training leaves the former model as it was. Nothing in it depends on the machine or the
hour.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from bus.errors import InputError
from schemas.config import CODE_VERSION
from schemas.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    Calibration,
    ModelFeature,
    ModelManifest,
    ModelName,
    TrainingData,
    content_version,
)
from schemas.numbers import rounded

PACKAGES = ("numpy", "xgboost", "xgboost-cpu")
SMALLEST_STEP = 1e-6
"""Predictions travel with six decimals; two thresholds must differ by one of them."""
_NAME: TypeAdapter[str] = TypeAdapter(ModelName)


@dataclass(frozen=True)
class BoosterPart:
    """One trained booster, ready to be written."""

    horizon_seconds: float
    raw: bytes
    """`booster.save_raw(raw_format="ubj")`, or what another form stores."""
    quantile: float | None = None
    resource: Literal["cpu", "memory"] | None = None
    calibration: Calibration = field(default_factory=Calibration)
    form: str = "ubj"
    """Ending of its file, by which inference knows how to read it (`services.inference.scorers`)."""


@dataclass(frozen=True)
class ModelParts:
    """Everything about a model but its boosters; see `ModelManifest` for each field."""

    name: str
    kind: Literal["risk", "demand"]
    feature_set: str
    feature_set_version: int
    features: Sequence[tuple[str, str]]
    """(name, unit), in the order of the boosters' columns."""
    data: TrainingData
    card: str
    """The model card, Markdown: data, label, split, metrics, limits."""
    calibrated: bool = False
    target: str = ""
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    budgets: Mapping[str, float] = field(default_factory=dict)
    explain_above: float | None = None
    """None: the lowest threshold of `safety` (risk), the highest of `efficiency` (demand)."""
    metrics: Mapping[str, Any] = field(default_factory=dict)


def write_model(folder: Path, parts: ModelParts, boosters: Sequence[BoosterPart]) -> ModelManifest:
    """Write a model directory, replacing one that is there; return its manifest.

    Raises:
        InputError: `folder` is there and is no model directory.
        pydantic.ValidationError: the parts make no manifest.
    """
    if folder.exists() and not (folder / MANIFEST_FILE).is_file():
        raise InputError("model folder", folder.name, "it exists and holds no model; name another")
    names = _files(boosters)
    manifest = _manifest(parts, boosters, names)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, booster in zip(names, boosters, strict=True):
        (partial / name).write_bytes(booster.raw)
    (partial / CARD_FILE).write_text(parts.card, encoding="utf-8")
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"
    (partial / MANIFEST_FILE).write_text(text, encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    return manifest


def thresholds_by_budget(
    numbers: NDArray[np.floating[Any]], budgets: Mapping[str, float]
) -> dict[str, float]:
    """Return for each field the number that the stated share of `numbers` reaches.

    Thresholds of smaller budgets come out strictly greater than those of larger ones, as the
    agents demand, even where the numbers are tied.

    Args:
        numbers: predictions, any shape; for a threshold per node those of nodes.
        budgets: share (0 to 1) by field.

    Raises:
        InputError: a budget is not between 0 and 1, or two are equal.
    """
    if len(set(budgets.values())) != len(budgets):
        raise InputError("budgets", dict(budgets), "give each field a share of its own")
    for name, share in budgets.items():
        if not 0 < share < 1:
            raise InputError(f"budget of {name}", share, "give a share between 0 and 1")
    ordered = np.sort(np.asarray(numbers, dtype=np.float64).ravel())[::-1]
    names = sorted(budgets, key=lambda name: -budgets[name])
    rising: list[float] = []
    for name in names:
        value = float(ordered[_place(budgets[name], len(ordered))]) if len(ordered) else 1.0
        rising.append(max(value, rising[-1] + SMALLEST_STEP) if rising else value)
    greatest = [1.0 - SMALLEST_STEP * below for below in reversed(range(len(names)))]
    thresholds = {
        name: rounded(min(value, bound))
        for name, value, bound in zip(names, rising, greatest, strict=True)
    }
    return {name: thresholds[name] for name in budgets}


def _place(share: float, rows: int) -> int:
    return min(rows - 1, max(0, math.ceil(share * rows) - 1))


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that shape a model."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _manifest(
    parts: ModelParts, boosters: Sequence[BoosterPart], files: Sequence[str]
) -> ModelManifest:
    above = _explain_above(parts) if parts.explain_above is None else parts.explain_above
    content: dict[str, Any] = {
        "format": ModelManifest.FORMAT,
        "name": parts.name,
        "version": "0" * 12,
        "model_id": f"{parts.name}/{'0' * 12}",
        "kind": parts.kind,
        "horizons_seconds": tuple(sorted({booster.horizon_seconds for booster in boosters})),
        "quantiles": tuple(
            sorted({booster.quantile for booster in boosters if booster.quantile is not None})
        ),
        "boosters": [_entry(*pair) for pair in zip(boosters, files, strict=True)],
        "calibrated": parts.calibrated,
        "feature_set": parts.feature_set,
        "feature_set_version": parts.feature_set_version,
        "features": tuple(ModelFeature(name=name, unit=unit) for name, unit in parts.features),
        "target": parts.target,
        "thresholds": {agent: dict(fields) for agent, fields in parts.thresholds.items()},
        "budgets": dict(parts.budgets),
        "explain_above": above,
        "data": parts.data,
        "metrics": dict(parts.metrics),
        "code_version": CODE_VERSION,
        "packages": package_versions(),
    }
    draft = ModelManifest.model_validate(content)
    digits = content_version(draft.model_dump(mode="json"))
    return draft.model_copy(update={"version": digits, "model_id": f"{parts.name}/{digits}"})


def checked_name(name: str) -> str:
    """Return a name for a model.

    Raises:
        InputError: it could not be part of a subject.
    """
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        remedy = "use lower case, digits and -, 41 at most, a letter or digit first"
        raise InputError("--name", name, remedy) from error


def _explain_above(parts: ModelParts) -> float | None:
    """Return the lowest action threshold of a risk model, the highest of a demand model."""
    agent, choose = ("safety", min) if parts.kind == "risk" else ("efficiency", max)
    fields = parts.thresholds.get(agent, {})
    suffix = f"_{parts.kind}_ratio"
    return choose((value for name, value in fields.items() if name.endswith(suffix)), default=None)


def _entry(booster_part: BoosterPart, file: str) -> dict[str, Any]:
    return {
        "horizon_seconds": booster_part.horizon_seconds,
        "quantile": booster_part.quantile,
        "resource": booster_part.resource,
        "file": file,
        "sha256": hashlib.sha256(booster_part.raw).hexdigest(),
        "calibration": booster_part.calibration,
    }


def _files(boosters: Sequence[BoosterPart]) -> list[str]:
    """Return a file name each: `risk-900s.ubj`, `demand-3600s-p90-cpu.ubj`; members of one mean are
    numbered from the second on.
    """
    stems = [_stem(booster) for booster in boosters]
    before = [stems[:place].count(stem) for place, stem in enumerate(stems)]
    return [
        f"{stem}-{count + 1}.{booster.form}" if count else f"{stem}.{booster.form}"
        for booster, stem, count in zip(boosters, stems, before, strict=True)
    ]


def _stem(booster_part: BoosterPart) -> str:
    kind = "risk" if booster_part.quantile is None else "demand"
    quantile = "" if booster_part.quantile is None else f"-p{booster_part.quantile * 100:g}"
    resource = "" if booster_part.resource is None else f"-{booster_part.resource}"
    return f"{kind}-{booster_part.horizon_seconds:g}s{quantile}{resource}"
