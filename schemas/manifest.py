"""The manifest of a trained model: what it is, what it reads, and what it may be used for.

A model is a directory; its `manifest.json` is this. Whoever predicts (inference), whoever acts by
the model's thresholds (the agents) and whoever writes it (the laboratory) read one form, so that a
number means the same to all three. Nothing here depends on the machine or the hour: equal training
gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from schemas.model import DataModel
from schemas.numbers import JsonObject, json_values

MANIFEST_FILE = "manifest.json"
CARD_FILE = "card.md"
VERSION_DIGITS = 12

ModelName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]
"""Lower case, digits and `-`: it becomes part of a subject."""


def _require_finite(value: float) -> float:
    json_values({"": value})
    return value


Number = Annotated[float, AfterValidator(_require_finite)]
"""A finite float, not rounded: small probabilities need every digit."""


class ModelFeature(DataModel):
    """One input column of a model."""

    name: str
    unit: str


class Calibration(DataModel):
    """How a booster's raw output becomes the number that is published."""

    kind: Literal["none", "isotonic", "factor"] = "none"
    x: tuple[Number, ...] = ()
    """isotonic: raw outputs at the knots, strictly rising; straight lines in between."""
    y: tuple[Number, ...] = ()
    """isotonic: published numbers at the knots."""
    factor: Number = 1.0
    """factor: published = raw * factor."""

    @model_validator(mode="after")
    def _knots_fit(self) -> Self:
        if len(self.x) != len(self.y) or (self.kind == "isotonic") is not bool(self.x):
            raise ValueError("isotonic calibration needs as many x as y, any other none")
        if any(left >= right for left, right in pairwise(self.x)):
            raise ValueError("the knots' x must rise")
        return self


class ModelBooster(DataModel):
    """One booster of a model: what it predicts, and the file that holds it.

    Boosters that share horizon, quantile and resource are one mean: their raw outputs are averaged,
    and the calibration of the first is applied to the mean.
    """

    horizon_seconds: Number = Field(gt=0)
    quantile: Number | None = None
    """The quantile predicted; None for a probability."""
    resource: Literal["cpu", "memory"] | None = None
    """Demand: the resource it was trained for; None: any."""
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    calibration: Calibration = Calibration()


class TrainingData(DataModel):
    """Training data of a model."""

    dataset: str
    dataset_sha256: str = ""
    trace: str = ""
    label: str = ""
    """The label in words, e.g. `FAIL within 900 s of SCHEDULE`."""
    split: str = ""
    rows: int = 0
    positives: int = 0
    prevalence: Number = 0.0


class ModelManifest(DataModel):
    """`manifest.json` of a model directory."""

    FORMAT: ClassVar[int] = 1

    format: int = FORMAT
    name: ModelName
    version: str = Field(pattern=rf"^[0-9a-f]{{{VERSION_DIGITS}}}$")
    """First digits of the SHA-256 of everything else in here; the boosters' hashes are part of it.
    """
    model_id: str
    """`<name>/<version>`."""
    kind: Literal["risk", "demand"]
    horizons_seconds: tuple[Number, ...] = Field(min_length=1)
    quantiles: tuple[Number, ...] = ()
    boosters: tuple[ModelBooster, ...] = Field(min_length=1)
    calibrated: bool = False
    """True when the published numbers were checked at the true base rate."""
    feature_set: str
    feature_set_version: int
    features: tuple[ModelFeature, ...] = Field(min_length=1)
    """In the order in which the boosters read them."""
    target: str = ""
    """What the boosters' number stands for, by the name that the features' code gives it; demand
    only.
    """
    thresholds: dict[str, dict[str, Number]] = {}
    """By agent and field, e.g. `safety`, `migrate_risk_ratio`."""
    budgets: dict[str, Number] = {}
    """By field of the thresholds: the share of nodes that may cross it in a cycle."""
    explain_above: Number | None = None
    """Number from which a target is explained: the lowest action threshold (demand: below it)."""
    data: TrainingData
    metrics: JsonObject = {}
    code_version: str = ""
    packages: dict[str, str] = {}

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.model_id != f"{self.name}/{self.version}":
            raise ValueError(f"model_id must be {self.name}/{self.version}")
        if len({feature.name for feature in self.features}) != len(self.features):
            raise ValueError("a feature is named twice")
        if len({booster.file for booster in self.boosters}) != len(self.boosters):
            raise ValueError("two boosters share a file")
        return self

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the input columns, in order."""
        return tuple(feature.name for feature in self.features)


def content_version(content: dict[str, object]) -> str:
    """Return the version that a manifest's content has; `version` and `model_id` do not count.

    Args:
        content: the manifest as decoded JSON.
    """
    counted = {key: value for key, value in content.items() if key not in {"version", "model_id"}}
    text = json.dumps(counted, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:VERSION_DIGITS]
