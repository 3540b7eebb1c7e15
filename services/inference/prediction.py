"""From what inference knows of a cycle to each prediction: the pure middle of inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from features.live.columns import FeatureColumns, feature_columns, features_hash
from schemas.manifest import ModelManifest
from schemas.model import EventData
from schemas.prediction import (
    Contribution,
    DemandBands,
    DemandTable,
    PredictionDemand,
    PredictionRisk,
    PredictionShadow,
    RiskTable,
)
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.view import ObservationView, OpenCycle
from services.inference.models import Models, Trained
from services.inference.predictor import FeatureContribution, Forecast, Predictor
from services.inference.risk_inputs import RiskInputs
from services.inference.state import DEMAND, RISK, InferenceState
from services.inference.trained_demand import TrainedDemand
from services.inference.trained_risk import ModelOutput, TrainedRisk

NO_FEATURES_HASH = features_hash(FeatureColumns((), {}))


@dataclass(frozen=True, slots=True)
class ExplainLimits:
    """Which targets are explained: those an agent could act upon, the most urgent first."""

    risk_ratio: float
    demand_ratio: float
    targets: int
    shadow_explained: int = 0
    shadow_targets: int = 100


def unpredictable(
    view: ObservationView | None, cycle: int, signals: Sequence[str]
) -> Reason | None:
    """Return why this cycle cannot be predicted; None when it can.

    Stale signals are predicted from: judging age is the agents' task, and they see the same ages.
    """
    if view is None or view.cycle != cycle:
        return Reason.MISSING_SIGNAL
    for name in signals:
        signal = view.signal(name)
        if signal is None or signal.status is SignalStatus.MISSING:
            return Reason.MISSING_SIGNAL
    return None if len(view.nodes) else Reason.NO_NODES


class PredictionBuilder:
    """Builds every prediction of one cycle; shared work is done once."""

    def __init__(
        self,
        models: Models,
        limits: ExplainLimits,
        cycle: OpenCycle,
        state: InferenceState,
        reason: Reason | None,
    ) -> None:
        """Look at one open cycle; `reason` says why it is not predicted at all."""
        self._models = models
        self._limits = limits
        self._cycle = cycle
        self._state = state
        self._reason = reason

    def build(self, output: str) -> EventData:
        """Return one output of the cycle: `risk`, `demand`, or a shadow model's slot."""
        if output == RISK:
            model = self._models.risk or self._models.shadow(self._state.driving)
            return self._formula_risk() if model is None else self._trained_risk(model)
        if output == DEMAND:
            demand = self._formula_demand if self._models.demand is None else self._trained_demand
            return demand().model_copy(update={"bands": self._bands()})
        return self._shadow(int(output), self._models.shadows[int(output) - 1])

    def _trained_risk(self, model: TrainedRisk) -> EventData:
        output = self._model_output(model, self._limits.targets)
        if self._models.keeps_live_risk and isinstance(output, ModelOutput):
            output = self._kept_live(output)
        table = (
            RiskTable(ids=output.ids, risk_ratio=output.ratios)
            if isinstance(output, ModelOutput)
            else RiskTable()
        )
        grounds = output.grounds if isinstance(output, ModelOutput) else ""
        fields = {**self._model_fields(model, output), "model_id": self._models.risk_id(model)}
        return PredictionRisk(**fields, nodes=table, grounds=grounds)

    def _kept_live(self, output: ModelOutput) -> ModelOutput:
        """Return the greater of model and formula; a node's explanation stays where the model says it."""
        if not isinstance(self._formula, _ByFormula):
            return output
        live = dict(zip(self._formula.features.ids, self._formula.forecast.risk_ratio, strict=True))
        model = dict(zip(output.ids, output.ratios, strict=True))
        raised = {name for name, ratio in model.items() if live.get(name, 0.0) > ratio}
        said = (
            one for one in output.contributions if one.target.partition("|")[0] not in raised
        )  # a target is a node, or what runs on it
        ratios = tuple(max(ratio, live.get(name, 0.0)) for name, ratio in model.items())
        return replace(output, ratios=ratios, contributions=tuple(said))

    def _trained_demand(self) -> PredictionDemand:
        model = self._models.demand
        assert model is not None
        output = self._model_output(model, self._limits.targets)
        table = (
            DemandTable(ids=output.ids, demand_ratio=output.ratios)
            if isinstance(output, ModelOutput)
            else DemandTable()
        )
        return PredictionDemand(**self._model_fields(model, output), nodes=table)

    def _bands(self) -> tuple[DemandBands, ...]:
        """Return the bands of demand, in the cycle that ended a minute, or a step where a model makes them."""
        view, demand = self._state.view, self._state.foretold or self._state.demand
        newest = view is not None and view.cycle == self._cycle.cycle
        if self._reason is not None or not newest or demand is None or not demand.is_new:
            return ()
        return demand.bands

    def _shadow(self, slot: int, model: Trained) -> EventData:
        output = self._model_output(model, self._limits.shadow_explained)
        ids, ratios = (output.ids, output.ratios) if isinstance(output, ModelOutput) else ((), ())
        step = max(1, math.ceil(len(ids) / self._limits.shadow_targets))
        listed = {"ids": ids[::step]}
        if isinstance(model, TrainedRisk):
            grounds = output.grounds if isinstance(output, ModelOutput) else ""
            risks = RiskTable(**listed, risk_ratio=ratios[::step])
            table: dict[str, Any] = {"risk_table": risks, "grounds": grounds[::step]}
        else:
            table = {"demand_table": DemandTable(**listed, demand_ratio=ratios[::step])}
        return PredictionShadow(
            **self._model_fields(model, output), slot=slot, nodes=len(ids), **table
        )

    def _model_output(self, model: Trained, targets: int) -> ModelOutput | Reason:
        """Return what a trained model predicts, or why it cannot."""
        view = self._state.view
        if self._reason is not None or view is None or view.cycle != self._cycle.cycle:
            return self._reason or Reason.MISSING_SIGNAL
        if isinstance(model, TrainedRisk):
            problem = self._risk_inputs.problem
            return model.predict(self._risk_inputs, targets) if problem is None else problem
        reason = unpredictable(view, view.cycle, ("node_requests", "pods"))
        if reason is not None or self._state.usage is None:
            return reason or Reason.MISSING_SIGNAL
        return model.predict(view, self._state.usage, targets)

    @cached_property
    def _risk_inputs(self) -> RiskInputs:
        assert self._state.view is not None
        return RiskInputs(self._state.view, self._state.live)

    def _model_fields(self, model: Trained, output: ModelOutput | Reason) -> dict[str, Any]:
        """Return the fields that every prediction of a trained model has."""
        manifest: ModelManifest = model.manifest
        shared = {
            "cycle": self._cycle.cycle,
            "cluster_time_seconds": self._cycle.cluster_time_seconds,
            "model_id": manifest.model_id,
            "horizon_seconds": model.horizon_seconds,
            "calibrated": manifest.calibrated,
            "alarm_ratio": manifest.explain_above,
        }
        if isinstance(model, TrainedDemand):
            shared |= {"quantile": model.quantile, "demand": "peak_use"}
        else:
            shared |= {"failure": "attempt_failed", "contributions_unit": "log_odds"}
        if not isinstance(output, ModelOutput):
            return {
                **shared,
                "status": "skipped",
                "reason": output,
                "features_hash": NO_FEATURES_HASH,
            }
        return {
            **shared,
            "status": "result",
            "features_hash": output.features_hash,
            "feature_sources": output.sources,
            "contributions": output.contributions,
        }

    @cached_property
    def _formula(self) -> _ByFormula | Reason:
        formula, view = self._models.formula, self._state.view
        reason = self._reason or unpredictable(view, self._cycle.cycle, formula.signals)
        if reason is not None or view is None:
            return reason or Reason.MISSING_SIGNAL
        features = feature_columns(view, formula.features, formula.signals)
        return _ByFormula(formula, features, formula.predict(features), features_hash(features))

    def _formula_risk(self) -> EventData:
        prediction, limits = self._formula, self._limits
        fields = self._formula_fields() | {"alarm_ratio": limits.risk_ratio}
        if not isinstance(prediction, _ByFormula):
            return PredictionRisk(**fields, nodes=RiskTable())
        table = RiskTable(ids=prediction.features.ids, risk_ratio=prediction.forecast.risk_ratio)
        return PredictionRisk(
            **fields, nodes=table, contributions=prediction.risky(limits.risk_ratio, limits.targets)
        )

    def _formula_demand(self) -> PredictionDemand:
        prediction, limits = self._formula, self._limits
        fields = self._formula_fields() | {"alarm_ratio": limits.demand_ratio}
        if not isinstance(prediction, _ByFormula):
            return PredictionDemand(**fields, nodes=DemandTable())
        table = DemandTable(
            ids=prediction.features.ids, demand_ratio=prediction.forecast.demand_ratio
        )
        return PredictionDemand(
            **fields,
            quantile=self._models.formula.quantile,
            nodes=table,
            contributions=prediction.idle(limits.demand_ratio, limits.targets),
        )

    def _formula_fields(self) -> dict[str, Any]:
        formula, prediction = self._models.formula, self._formula
        skipped = not isinstance(prediction, _ByFormula)
        return {
            "cycle": self._cycle.cycle,
            "cluster_time_seconds": self._cycle.cluster_time_seconds,
            "model_id": formula.model_id,
            "horizon_seconds": formula.horizon_seconds,
            "calibrated": formula.calibrated,
            "status": "skipped" if skipped else "result",
            "reason": prediction if skipped else None,
            "features_hash": prediction.hash
            if isinstance(prediction, _ByFormula)
            else NO_FEATURES_HASH,
        }


@dataclass(frozen=True, slots=True)
class _ByFormula:
    """The formula's prediction of one cycle."""

    formula: Predictor
    features: FeatureColumns
    forecast: Forecast
    hash: str

    def risky(self, above: float, targets: int) -> tuple[Contribution, ...]:
        """Return the terms of the riskiest nodes."""
        ids, risk = self.features.ids, self.forecast.risk_ratio
        rows = [row for row in range(len(ids)) if risk[row] >= above]
        rows.sort(key=lambda row: (-risk[row], ids[row]))
        return self._terms(
            {row: self.formula.explain(self.features, row).risk for row in rows[:targets]}
        )

    def idle(self, below: float, targets: int) -> tuple[Contribution, ...]:
        """Return the terms of the least wanted nodes."""
        ids, demand = self.features.ids, self.forecast.demand_ratio
        rows = [row for row in range(len(ids)) if demand[row] < below]
        rows.sort(key=lambda row: (demand[row], ids[row]))
        return self._terms(
            {row: self.formula.explain(self.features, row).demand for row in rows[:targets]}
        )

    def _terms(self, terms: dict[int, tuple[FeatureContribution, ...]]) -> tuple[Contribution, ...]:
        return tuple(
            Contribution(
                target=self.features.ids[row],
                feature=term.feature,
                value=term.value,
                contribution=term.contribution,
            )
            for row, row_terms in terms.items()
            for term in row_terms
        )
