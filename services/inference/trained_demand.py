"""A trained demand model at work: the use of a node that is not exceeded, by quantile.

The series' code says what a booster's number is (`Units`: spreads above the node's own mean). Of
several resources the greater share counts: a node is as busy as its scarcest resource.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.live.node_usage import RESOURCES, Usage
from features.series.features import (
    FEATURE_SET,
    FEATURE_SET_VERSION,
    FEATURES,
    TARGET,
    describe_past,
)
from schemas.manifest import ModelBooster
from schemas.numbers import rounded
from schemas.prediction import Contribution, FeatureSource
from schemas.signals import SignalStatus
from schemas.view import ObservationView
from services.inference.booster import Matrix
from services.inference.risk_model import calibrate, chosen_horizon, load_booster, weightiest
from services.inference.scorers import Scorer
from services.inference.trained_risk import ModelOutput
from services.model_directory import FeatureCatalogue, ModelDirectory

OBJECTIVE = "reg:quantileerror"
USUAL_QUANTILE = 0.9
USUAL_HORIZON_SECONDS = 3600.0
TOP_FEATURES = 5
DEMAND_CATALOGUE = {
    FEATURE_SET: FeatureCatalogue(
        FEATURE_SET_VERSION, {feature.name: feature.unit for feature in FEATURES}
    )
}


@dataclass(frozen=True, slots=True)
class _Part:
    """Predictor of one resource."""

    resource: str
    first: ModelBooster
    boosters: tuple[Scorer, ...]


class TrainedDemand:
    """One horizon and quantile of a demand model."""

    def __init__(self, directory: ModelDirectory, horizon_seconds: float | None = None) -> None:
        """Load a model; its quantile nearest to 0.9 is used.

        Raises:
            InputError: it is no demand model, lacks a resource, or a feature does not exist live.
        """
        manifest = directory.manifest
        if manifest.kind != "demand":
            raise InputError(f"{manifest.model_id} kind", manifest.kind, "name a demand model")
        self.manifest = manifest
        if manifest.target != TARGET:
            remedy = f"this code knows {TARGET}; train the model again"
            raise InputError(f"{manifest.model_id} target", manifest.target, remedy)
        places = {feature.name: number for number, feature in enumerate(FEATURES)}
        for name in manifest.feature_names:
            if name not in places:
                raise InputError(f"{manifest.model_id} feature", name, "it does not exist live")
        self._columns = [places[name] for name in manifest.feature_names]
        usual = (
            USUAL_HORIZON_SECONDS if USUAL_HORIZON_SECONDS in manifest.horizons_seconds else None
        )
        self.horizon_seconds = chosen_horizon(manifest.horizons_seconds, horizon_seconds or usual)
        self.quantile = min(
            manifest.quantiles, key=lambda quantile: (abs(quantile - USUAL_QUANTILE), quantile)
        )
        self._parts = tuple(self._part(directory, resource) for resource in RESOURCES)

    def predict(self, view: ObservationView, usage: Usage, targets: int) -> ModelOutput:
        """Return the demand of every followed node that the observation shows.

        Args:
            view: the observation.
            usage: the windows until then.
            targets: nodes explained at most, of those below the highest action threshold.
        """
        shown = frozenset(view.nodes.ids)
        ids = tuple(name for name in usage.cpu.state.ids if name in shown)
        digest = hashlib.sha256("\n".join(ids).encode())
        matrices: dict[str, Matrix] = {}
        limits: dict[str, NDArray[np.float64]] = {}
        for part in self._parts:
            state = usage.of(part.resource)
            place = {name: row for row, name in enumerate(state.ids)}
            rows = [place[name] for name in ids]
            whole, units = describe_past(state.past(1.0))
            matrix = np.ascontiguousarray(whole[rows][:, self._columns])
            digest.update(np.ascontiguousarray(matrix, dtype="<f4").data)
            matrices[part.resource] = matrix
            numbers = self._numbers(part, matrix)
            limits[part.resource] = units.take(np.array(rows, dtype=np.int64)).usage(numbers)
        # A node of which nothing is known of the last two hours is left out: unknown is not idle.
        known_rows = np.flatnonzero(~np.isnan(limits["cpu"] + limits["memory"]))
        limits = {name: column[known_rows] for name, column in limits.items()}
        matrices = {name: matrix[known_rows] for name, matrix in matrices.items()}
        ids = tuple(ids[row] for row in known_rows.tolist())
        ratios = tuple(
            rounded(ratio) for ratio in np.maximum(limits["cpu"], limits["memory"]).tolist()
        )
        why = self._explain(ids, ratios, limits, matrices, targets)
        return ModelOutput(ids, ratios, digest.hexdigest(), self._sources(view), why)

    def _part(self, directory: ModelDirectory, resource: str) -> _Part:
        manifest = directory.manifest
        pairs = [
            (booster, raw)
            for booster, raw in zip(manifest.boosters, directory.boosters, strict=True)
            if (booster.horizon_seconds, booster.quantile) == (self.horizon_seconds, self.quantile)
            and booster.resource in (resource, None)
        ]
        if not pairs:
            raise InputError(f"{manifest.model_id} resource", resource, "no booster predicts it")
        count = len(manifest.features)
        return _Part(
            resource, pairs[0][0], load_booster(pairs, manifest.model_id, OBJECTIVE, count)
        )

    def _numbers(self, part: _Part, matrix: Matrix) -> NDArray[np.float64]:
        """Return the boosters' calibrated mean, in the unit that the series' code defines."""
        raw = np.zeros(len(matrix))
        for booster in part.boosters if len(matrix) else ():
            raw = raw + booster.margins(matrix)
        return calibrate(raw / len(part.boosters), part.first.calibration)

    def _sources(self, view: ObservationView) -> tuple[FeatureSource, ...]:
        signal = view.signal("node_usage")
        return (
            FeatureSource(
                name="node_usage",
                status=SignalStatus.MISSING if signal is None else signal.status,
                age_seconds=None if signal is None else signal.age_seconds,
                features=len(self._columns),
            ),
        )

    def _explain(
        self,
        ids: tuple[str, ...],
        ratios: tuple[float, ...],
        limits: dict[str, NDArray[np.float64]],
        matrices: dict[str, Matrix],
        targets: int,
    ) -> tuple[Contribution, ...]:
        """Return the weightiest features of the least wanted nodes, in units of the booster."""
        below = self.manifest.explain_above
        if below is None or not targets:
            return ()
        idle = [row for row, ratio in enumerate(ratios) if ratio < below]
        idle.sort(key=lambda row: (ratios[row], ids[row]))
        contributions: list[Contribution] = []
        for row in idle[:targets]:
            resource = "cpu" if limits["cpu"][row] >= limits["memory"][row] else "memory"
            part = next(part for part in self._parts if part.resource == resource)
            values = np.ascontiguousarray(matrices[resource][row : row + 1])
            parts = np.zeros(len(self._columns))
            for booster in part.boosters:
                parts = parts + booster.contributions(values)[0, :-1] / len(part.boosters)
            for column in weightiest(parts.tolist(), TOP_FEATURES):
                value = float(values[0, column])
                contributions.append(
                    Contribution(
                        target=ids[row],
                        feature=f"{resource}_{self.manifest.feature_names[column]}",
                        value=None if np.isnan(value) else value,
                        contribution=float(parts[column]),
                    )
                )
        return tuple(contributions)
