"""A trained risk model at work: probabilities of workloads, risk of nodes, and the reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bus.errors import InputError
from features.live.failure_rates import FailureRates, RowRates
from features.live.live_history import LIVE_SETS
from features.live.pod_changes import MICROSECONDS
from schemas.manifest import LiveRates
from schemas.numbers import rounded
from schemas.prediction import ABSTAINS, Contribution, FeatureSource
from schemas.reasons import Reason
from services.inference.adapted_risk import (
    AdaptedRows,
    adapted_hash,
    adapted_rows,
    hazards_of,
    node_grounds,
    node_risk,
)
from services.inference.booster import Matrix
from services.inference.grounds import grounds_by_node
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
    """What a trained model predicts for one cycle."""

    ids: tuple[str, ...]
    ratios: tuple[float, ...]
    features_hash: str
    sources: tuple[FeatureSource, ...]
    contributions: tuple[Contribution, ...] = ()
    grounds: str = ""
    """Risk: a letter for each of `ids`, what speaks for a failure there (`services.inference.grounds`)."""


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

    def predict(self, inputs: RiskInputs, targets: int) -> ModelOutput | Reason:
        """Return the risk of every node, or why there is none; `inputs` must have no problem.

        Args:
            inputs: one cycle.
            targets: nodes explained at most, of those at or above the lowest action threshold.
        """
        rules = self.manifest.live_rates
        if rules is not None:
            return self._adapted(inputs, rules, targets)
        rows = inputs.rows
        whole = inputs.matrix(self._set)
        matrix = self._matrix(whole)
        risks = self._model.probabilities(matrix)
        by_node = dict(
            zip(rows.nodes, node_risks(rows.first_rows, rows.pods, risks).tolist(), strict=True)
        )
        ids = tuple(name for name in inputs.view.nodes.ids if name not in inputs.excepted)
        ratios = tuple(rounded(by_node.get(name, 0.0)) for name in ids)
        grounds = grounds_by_node(rows, whole, self._set, inputs.owners)
        why = self._explain(rows, matrix, risks, dict(zip(ids, ratios, strict=True)), targets)
        return ModelOutput(
            ids,
            ratios,
            inputs.features_hash(self._set),
            inputs.sources(self.columns, self._set),
            why,
            "".join(grounds.get(name, ABSTAINS) for name in ids),
        )

    def _adapted(self, inputs: RiskInputs, rules: LiveRates, targets: int) -> ModelOutput | Reason:
        """Return the risk at the cluster's own rates; why not, where they are not known at this observation."""
        rates = inputs.rates.get(self.manifest.model_id)
        if rates is None or rates.at != inputs.newest.time_us / MICROSECONDS:
            return Reason.MISSING_SIGNAL
        rows, view = inputs.rows, inputs.view
        found = RowRates.of(rates, inputs.newest, rows.places)
        matrix = self._repeating(inputs, found)
        adapted = adapted_rows(rows, rates, rules, self._model.probabilities(matrix), found)
        excepted = inputs.excepted
        ids = tuple(name for name in view.nodes.ids if name not in excepted)
        columns = zip(view.nodes.ids, view.nodes.ready, view.nodes.schedulable, strict=True)
        able = {name: ready and schedulable for name, ready, schedulable in columns}
        risks = node_risk(ids, able, rows, adapted, rates, rules)
        ratios = tuple(rounded(risks[name]) for name in ids)
        grounds = node_grounds(rows, adapted, rates, inputs.owners, found.program)
        by_node = dict(zip(ids, ratios, strict=True))
        return ModelOutput(
            ids,
            ratios,
            adapted_hash(rows, adapted, matrix),
            inputs.sources(self.columns, self._set),
            self._explain_adapted(inputs, adapted, matrix, by_node, targets),
            "".join(grounds.get(name, ABSTAINS) for name in ids),
        )

    def _repeating(self, inputs: RiskInputs, found: RowRates) -> Matrix:
        """Return the features of the rows whose workload has failed."""
        if not found.repeats.any():
            return np.empty((0, len(self.columns)), dtype=np.float32)
        whole: Matrix = self._matrix(inputs.matrix(self._set))[found.repeats]
        return np.ascontiguousarray(whole)

    def expected_again(self, inputs: RiskInputs, rates: FailureRates) -> float:
        """Return the failures a second that the booster expects of workloads that have failed."""
        if inputs.problem is not None:
            return 0.0
        found = RowRates.of(rates, inputs.newest, inputs.rows.places)
        if not found.repeats.any():
            return 0.0
        probabilities = self._model.probabilities(self._repeating(inputs, found))
        pods = inputs.rows.pods[found.repeats].tolist()
        hazards = zip(hazards_of(probabilities), pods, strict=True)
        return math.fsum(hazard * count for hazard, count in hazards) / self.horizon_seconds

    def _explain_adapted(
        self,
        inputs: RiskInputs,
        adapted: AdaptedRows,
        matrix: Matrix,
        by_node: Mapping[str, float],
        targets: int,
    ) -> tuple[Contribution, ...]:
        """Return why each risky node's riskiest row is risky: the booster's terms, or the factor of its program."""
        above, rows = self.manifest.explain_above, inputs.rows
        if above is None or not targets:
            return ()
        risky = [place for place, name in enumerate(rows.nodes) if by_node.get(name, 0.0) >= above]
        risky.sort(key=lambda place: (-by_node[rows.nodes[place]], rows.nodes[place]))
        ends = np.append(rows.first_rows[1:], len(rows.ids))
        terms: list[Contribution] = []
        for place in risky[:targets]:
            first = int(rows.first_rows[place])
            row = first + int(np.argmax(adapted.expected[first : ends[place]]))
            if adapted.repeats[row]:
                number = int(adapted.repeats[:row].sum())
                table = np.ascontiguousarray(matrix[number : number + 1])
                terms += self._terms(rows.ids[row], table[0], self._model.contributions(table)[0])
            factor = float(adapted.factor[row])
            terms.append(
                Contribution(
                    target=rows.ids[row],
                    feature="rate_factor",
                    value=factor,
                    contribution=math.log(factor),
                )
            )
        return tuple(terms)

    def _terms(self, target: str, values: Matrix, parts: Matrix) -> list[Contribution]:
        names = self.manifest.feature_names
        return [
            Contribution(
                target=target,
                feature=names[column],
                value=None if np.isnan(values[column]) else float(values[column]),
                contribution=float(parts[column]),
            )
            for column in weightiest(parts.tolist(), TOP_FEATURES)
        ]

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
        return tuple(
            term
            for place, row in enumerate(chosen)
            for term in self._terms(rows.ids[row], table[place], parts[place])
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
