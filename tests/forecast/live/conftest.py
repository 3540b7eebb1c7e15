"""Model directories of one split each, and the snapshots that models of attempts read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from features.live.live_history import FEATURE_SET
from lab.forecast.model_writer import BoosterPart, ModelParts, write_model
from schemas.manifest import TrainingData
from tests.forecast.live.one_split import one_split

FEATURE, SPLIT = "job_fails_60m", 0.5
SAFETY = {"replicate_risk_ratio": 0.9, "migrate_risk_ratio": 0.5, "throttle_risk_ratio": 0.1}

MakeModel = Callable[..., Path]


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """Return a maker of model directories on the live feature set."""

    def made(
        name: str = "tiny",
        split: float = SPLIT,
        *,
        feature: str = FEATURE,
        horizon_seconds: float = 900.0,
        changes: Mapping[str, Any] | None = None,
        raw: bytes | None = None,
    ) -> Path:
        features = [(feature.name, feature.unit) for feature in FEATURE_SET.features]
        column = FEATURE_SET.names.index(feature)
        parts: dict[str, Any] = {
            "name": name,
            "kind": "risk",
            "feature_set": FEATURE_SET.name,
            "feature_set_version": FEATURE_SET.version,
            "features": features,
            "data": TrainingData(dataset="fixture"),
            "card": "# One split\n",
            "calibrated": True,
            "thresholds": {"safety": SAFETY},
            **(changes or {}),
        }
        booster = one_split(len(parts["features"]), column, split) if raw is None else raw
        folder = tmp_path / name
        write_model(folder, ModelParts(**parts), [BoosterPart(horizon_seconds, booster)])
        return folder

    return made
