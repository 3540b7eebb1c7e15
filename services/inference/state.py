"""What inference knows between two events."""

from __future__ import annotations

from typing import Any

from schemas.envelope import Event
from schemas.model import Part
from schemas.observation import Observation
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.view import ObservationView, OpenCycle, closed, opened, view_of


class InferenceState(Part):
    """The newest observation, and what is owed."""

    view: ObservationView | None = None
    """None before the first keyframe."""
    risk_open: tuple[OpenCycle, ...] = ()
    """Cycles without a risk prediction in the log, oldest first."""
    demand_open: tuple[OpenCycle, ...] = ()
    """The same for demand; a crash can leave one of the two."""


def evolve(state: InferenceState, event: Event[Any]) -> InferenceState:
    """Return the state after one stored event."""
    data = event.data
    if isinstance(data, Observation):
        return InferenceState.model_construct(
            view=view_of(state.view, event),
            risk_open=opened(state.risk_open, event),
            demand_open=opened(state.demand_open, event),
        )
    if isinstance(data, PredictionRisk):
        return state.model_copy(update={"risk_open": closed(state.risk_open, data.cycle)})
    if isinstance(data, PredictionDemand):
        return state.model_copy(update={"demand_open": closed(state.demand_open, data.cycle)})
    return state
