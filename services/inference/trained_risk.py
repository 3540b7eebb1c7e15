"""A trained risk model at work: probabilities of workloads, risk of nodes, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bus.errors import InputError
from features.live.live_history import LIVE_SETS
from schemas.numbers import rounded
from schemas.prediction import ABSTAINS, Contribution, FeatureSource
from services.inference.booster import Matrix
from services.inference.explanations import explanations_by_node
from services.inference.risk_inputs import RiskInputs, Rows
from services.inference.risk_model import RiskModel, node_risks, weightiest
from services.model_directory import FeatureCatalogue, ModelDirectory

TOP_FEATURES = 5
"""Features told for each explained target, the weightiest first."""
LIVE_CATALOGUE = {
    name: FeatureCatalogue(
        chosen.version, {feature.name: feature.unit for feature in chosen.features}
    )
    for name, chosen in LIVE_SETS.items()
}


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Prediction of a trained model for one cycle."""

    ids: tuple[str, ...]
    ratios: tuple[float, ...]
    features_hash: str
    sources: tuple[FeatureSource, ...]
    contributions: tuple[Contribution, ...] = ()
    grounds: str = ""
    """Risk: a letter for each of `ids`, what speaks for a failure there (`services.inference.explanations`)."""


class TrainedRisk:
    """One horizon of a risk model on the live feature set."""

    def __init__(self, directory: ModelDirectory, horizon_seconds: float | None = None) -> None:
        """Load a model.

        Raises:
            InputError: it is no risk model, or a feature of it does not exist live.
        """
        manifest = directory.manifest
        if manifest.kind != "risk":
            raise InputError(f"{manifest.model_id} kind", manifest.kind, "name a risk model")
        self.manifest = manifest
        self._set = manifest.feature_set if manifest.feature_set in LIVE_SETS else "live"
        self.columns = live_columns(manifest.model_id, manifest.feature_names, self._set)
        self._whole = self.columns == tuple(range(len(LIVE_SETS[self._set].names)))
        self._model = RiskModel(directory, horizon_seconds)
        self.horizon_seconds = self._model.horizon_seconds

    def predict(self, inputs: RiskInputs, targets: int) -> ModelOutput:
        """Return the risk of every node; `inputs` must have no problem.

        Args:
            inputs: one cycle.
            targets: nodes explained at most, of those at or above the lowest action threshold.
        """
        rows = inputs.rows
        whole = inputs.matrix(self._set)
        matrix = self._matrix(whole)
        risks = self._model.probabilities(matrix)
        by_node = dict(
            zip(rows.nodes, node_risks(rows.first_rows, rows.pods, risks).tolist(), strict=True)
        )
        excepted = {
            row
            for signal in inputs.view.signals
            if signal.name == "pods"
            for row in signal.exceptions
        }
        ids = tuple(name for name in inputs.view.nodes.ids if name not in excepted)
        ratios = tuple(rounded(by_node.get(name, 0.0)) for name in ids)
        grounds = explanations_by_node(rows, whole, self._set, inputs.owners)
        why = self._explain(rows, matrix, risks, dict(zip(ids, ratios, strict=True)), targets)
        return ModelOutput(
            ids,
            ratios,
            inputs.features_hash(self._set),
            inputs.sources(self.columns, self._set),
            why,
            "".join(grounds.get(name, ABSTAINS) for name in ids),
        )

    def _matrix(self, whole: Matrix) -> Matrix:
        return whole if self._whole else np.ascontiguousarray(whole[:, self.columns])

    def _explain(
        self,
        rows: Rows,
        matrix: Matrix,
        risks: np.ndarray[tuple[int], np.dtype[np.float64]],
        by_node: dict[str, float],
        targets: int,
    ) -> tuple[Contribution, ...]:
        """Return the weightiest features of the riskiest workload of each risky node."""
        above = self.manifest.explain_above
        if above is None or not targets:
            return ()
        risky = [place for place, name in enumerate(rows.nodes) if by_node[name] >= above]
        risky.sort(key=lambda place: (-by_node[rows.nodes[place]], rows.nodes[place]))
        ends = np.append(rows.first_rows[1:], len(rows.ids))
        chosen = [
            int(rows.first_rows[place] + np.argmax(risks[rows.first_rows[place] : ends[place]]))
            for place in risky[:targets]
        ]
        if not chosen:
            return ()
        table = np.ascontiguousarray(matrix[chosen])
        parts = self._model.contributions(table)
        names = self.manifest.feature_names
        return tuple(
            Contribution(
                target=rows.ids[row],
                feature=names[column],
                value=None if np.isnan(table[place, column]) else float(table[place, column]),
                contribution=float(parts[place, column]),
            )
            for place, row in enumerate(chosen)
            for column in weightiest(parts[place].tolist(), TOP_FEATURES)
        )


def live_columns(
    model_id: str, names: tuple[str, ...], feature_set: str = "live"
) -> tuple[int, ...]:
    """Return the numbers of a model's features in a set that exists live.

    Raises:
        InputError: naming the first feature that does not exist live.
    """
    places = {name: number for number, name in enumerate(LIVE_SETS[feature_set].names)}
    for name in names:
        if name not in places:
            remedy = "it does not exist live; train the model with --features live"
            raise InputError(f"{model_id} feature", name, remedy)
    return tuple(places[name] for name in names)
