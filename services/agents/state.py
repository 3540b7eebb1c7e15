"""State of an agent between two events."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.envelope import Event
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.proposal import Proposal
from schemas.reasons import Reason
from schemas.view import ObservationView, OpenCycle, add_open_cycle, remove_open_cycle, update_view
from services.agents.foreseen import Foreseen, at_observation, foreseen_after
from services.agents.memory import Memory, remember_proposal, remember_view
from services.agents.policy import NodePrediction
from services.agents.value_settings import ValueSettings


class AgentState(DataModel):
    """The newest observation and prediction, and what is not published yet."""

    view: ObservationView | None = None
    """None before the first keyframe."""
    prediction: NodePrediction | None = None
    """The newest prediction, of whatever cycle."""
    memory: Memory | None = None
    """What a policy by expected value remembers; None under other profiles."""
    foreseen: Foreseen | None = Field(default=None, exclude_if=lambda foreseen: foreseen is None)
    """What inference foresees; None, and not in the checkpoint, where the profile asks for none."""
    open: tuple[OpenCycle, ...] = ()
    """Cycles without this agent's proposal in the log, oldest first."""


def evolve(state: AgentState, event: Event[Any]) -> AgentState:
    """Return the state after one stored event; the handler reads no other agent's proposals."""
    data = event.data
    if isinstance(data, Observation):
        return AgentState.model_construct(
            view=update_view(state.view, event),
            prediction=state.prediction,
            memory=state.memory,
            foreseen=state.foreseen,
            open=add_open_cycle(state.open, event),
        )
    if isinstance(data, PredictionRisk | PredictionDemand):
        return state.model_copy(update={"prediction": _kept_prediction(event)})
    if isinstance(data, Proposal):
        return _close_cycle(state, data.cycle)
    return state


def remember(state: AgentState, event: Event[Any], settings: ValueSettings) -> AgentState:
    """Return the state, already folded, with the event in its memory, too."""
    memory = state.memory or Memory()
    if (
        settings.forecast
        and (foreseen := foreseen_after(state.foreseen, event)) is not state.foreseen
    ):
        return state.model_copy(update={"foreseen": foreseen, "prediction": None})
    if isinstance(event.data, Observation) and state.view is not None:
        memory = remember_view(memory, state.view, settings)
        state = state.model_copy(update={"foreseen": at_observation(state.foreseen)})
    elif isinstance(event.data, Proposal):
        sizes = None if state.foreseen is None else state.foreseen.sizes
        memory = remember_proposal(memory, event.data, state.view, sizes)
    else:
        return state
    return state.model_copy(update={"memory": memory})


def _close_cycle(state: AgentState, cycle: int) -> AgentState:
    """Close a cycle and forget its prediction: nobody asks again, and checkpoints stay small."""
    newer_prediction = (
        state.prediction if state.prediction and state.prediction.cycle > cycle else None
    )
    return state.model_copy(
        update={"open": remove_open_cycle(state.open, cycle), "prediction": newer_prediction}
    )


def _kept_prediction(event: Event[Any]) -> NodePrediction:
    data = event.data
    ratios = data.nodes.risk_ratio if isinstance(data, PredictionRisk) else data.nodes.demand_ratio
    skipped = data.status == "skipped"
    return NodePrediction(
        id=event.id,
        cycle=data.cycle,
        model_id=data.model_id,
        reason=(data.reason or Reason.MISSING_SIGNAL) if skipped else None,
        ids=data.nodes.ids,
        ratios=ratios,
    )
