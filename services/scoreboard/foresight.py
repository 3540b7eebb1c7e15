"""Foresight of the state: actions that rest on forecasts are followed, and what came of each is owed."""

from __future__ import annotations

from typing import Any

from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.prediction import PredictionDemand
from schemas.proposal import Proposal
from services.scoreboard.raises_ahead import RaisesAhead
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState


def foresight_after(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    """Return the state, in which the event has been folded, with what it says of acting on forecasts."""
    prices, view = settings.score, state.view
    raises = state.raises or RaisesAhead()
    match event.data:
        case PredictionDemand(bands=bands) if bands:
            after = raises.with_bands(event)
        case Proposal():
            after = raises.with_proposal(event.data, view, prices)
        case OutcomeExecution():
            after = raises.with_execution(event, view, prices)
        case Observation() if view is not None:
            after, over = raises.with_view(view, prices)
            owed = tuple(after.outcome(one, score, view) for one, score in over)
            state = state.model_copy(update={"owed": (*state.owed, *owed)}) if owed else state
        case _:
            return state
    return state if after is raises else state.model_copy(update={"raises": after})
