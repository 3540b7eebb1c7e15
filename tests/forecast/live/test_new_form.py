"""A trained model of a new form is its folder and one registration: here a straight line instead of trees."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bus.errors import InputError
from features.live.live_history import FEATURE_SET
from lab.forecast.model_writer import BoosterPart, ModelParts, write_model
from schemas.manifest import TrainingData
from services.inference.booster import Matrix
from services.inference.models import load
from services.inference.risk_model import RiskModel
from services.inference.scorers import SCORERS
from services.inference.settings import InferenceSettings
from services.model_directory import read_model

FEATURE = "job_fails_60m"


class Line:
    """Log-odds that rise with one feature."""

    objective = "binary:logistic"

    def __init__(self, raw: bytes, name: str) -> None:
        self._slopes = np.array(json.loads(raw), dtype=np.float32)
        self.features = len(self._slopes)

    def margins(self, rows: Matrix) -> NDArray[np.float32]:
        return self.contributions(rows)[:, :-1].sum(axis=1)

    def contributions(self, rows: Matrix) -> Matrix:
        parts = np.nan_to_num(rows) * self._slopes
        return np.hstack([parts, np.zeros((len(rows), 1), dtype=np.float32)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a model directory of a straight line."""
    column = FEATURE_SET.names.index(FEATURE)
    slopes = [2.0 if place == column else 0.0 for place in range(len(FEATURE_SET.names))]
    parts = ModelParts(
        name="line",
        kind="risk",
        feature_set=FEATURE_SET.name,
        feature_set_version=FEATURE_SET.version,
        features=[(feature.name, feature.unit) for feature in FEATURE_SET.features],
        data=TrainingData(dataset="fixture"),
        card="# A line\n",
        thresholds={"safety": {"throttle_risk_ratio": 0.5}},
    )
    write_model(
        tmp_path / "line", parts, [BoosterPart(900.0, json.dumps(slopes).encode(), form="line")]
    )
    return tmp_path / "line"


def test_a_registered_form_predicts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference loads it as its model of risk, and its numbers are the line's."""
    monkeypatch.setitem(SCORERS, "line", Line)
    settings = InferenceSettings(model=str(folder), shadow_models=(), demand_bands=False)
    rows = np.zeros((2, len(FEATURE_SET.names)), dtype=np.float32)
    rows[1, FEATURE_SET.names.index(FEATURE)] = 1.0

    models = load(settings)
    risks = RiskModel(read_model(folder)).probabilities(rows)

    assert models.risk is not None
    assert models.ids[-1].startswith("line/")
    assert risks.tolist() == pytest.approx([0.5, 0.880797])


def test_a_form_that_is_not_registered_is_refused(folder: Path) -> None:
    """One line names the file and the forms that can be read."""
    with pytest.raises(InputError, match=r"file = risk-900s\.line: this version reads \.ubj"):
        load(InferenceSettings(model=str(folder), shadow_models=()))
