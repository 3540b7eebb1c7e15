"""Inference as a fold: on each observation both predictions.

Older open cycles are superseded.
"""

from __future__ import annotations

from typing import Any

from schemas.envelope import Draft, Event
from schemas.identity import Origin
from schemas.reasons import Reason
from schemas.view import OpenCycle
from services.inference.models import MODELS, load
from services.inference.prediction import ExplainLimits, Pair, predicted, skipped, unpredictable
from services.inference.predictor import Predictor, Registry
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState, evolve


class InferenceFold:
    """The behaviour of the process `inference`; see `bus.follow.Fold`."""

    name = "inference"
    reads: tuple[tuple[str, ...], ...] = (("observation",), ("prediction", "*"))
    state_version = 1
    deadline_seconds: float | None = None
    """Nothing to wait for: an observation is all it needs."""

    def __init__(self, predictor: Predictor, limits: ExplainLimits) -> None:
        """Predict with one model for the whole life of the process."""
        self._predictor = predictor
        self._limits = limits

    @property
    def model_ids(self) -> tuple[str, ...]:
        """Models in use, for the announcement."""
        return (self._predictor.model_id,)

    def initial(self) -> InferenceState:
        """Return the state before any event."""
        return InferenceState()

    def evolve(self, state: InferenceState, event: Event[Any]) -> InferenceState:
        """Return the state after one stored event."""
        return evolve(state, event)

    def open_cycle(self, state: InferenceState) -> int | None:
        """Return the newest cycle without both predictions."""
        cycles = [cycles[-1].cycle for cycles in (state.risk_open, state.demand_open) if cycles]
        return max(cycles, default=None)

    def decide(self, state: InferenceState, *, overdue: bool) -> tuple[Draft, ...]:
        """Return the predictions owed.

        A result for the newest observation, superseded for older open cycles.
        """
        del overdue  # nothing is ever waited for
        newest = self.open_cycle(state)
        risk_owed = {one.cycle for one in state.risk_open}
        demand_owed = {one.cycle for one in state.demand_open}
        cycles = {one.cycle: one for one in (*state.risk_open, *state.demand_open)}
        drafts: list[Draft] = []
        for number in sorted(cycles):
            risk, demand = self._pair(state, cycles[number], superseded=number != newest)
            owed = (
                data for data, due in ((risk, risk_owed), (demand, demand_owed)) if number in due
            )
            drafts.extend(_draft(data, cycles[number]) for data in owed)
        return tuple(drafts)

    def _pair(self, state: InferenceState, cycle: OpenCycle, *, superseded: bool) -> Pair:
        if superseded:
            return skipped(self._predictor, cycle, Reason.SUPERSEDED)
        reason = unpredictable(state.view, cycle.cycle, self._predictor.signals)
        if reason is not None or state.view is None:
            return skipped(self._predictor, cycle, reason or Reason.MISSING_SIGNAL)
        return predicted(self._predictor, cycle, state.view, self._limits)


def _draft(data: Any, cycle: OpenCycle) -> Draft:
    return Draft(data, cycle.cycle, cycle.cluster_time_seconds, (cycle.observation_id,))


def build(
    settings: InferenceSettings, origin: Origin, registry: Registry = MODELS
) -> InferenceFold:
    """Return the fold that the settings describe; the same one live, in re-runs and in simulation.

    Raises:
        ConfigError: the settings name no known model.
    """
    del origin  # events get their origin when they are stamped
    limits = ExplainLimits(
        settings.explain_risk_ratio, settings.explain_demand_ratio, settings.explain_targets
    )
    return InferenceFold(load(settings, registry), limits)
