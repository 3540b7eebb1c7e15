"""The scoreboard as a handler: each decision is paid once, each prediction is scored once."""

from __future__ import annotations

from typing import Any

from schemas.envelope import Event, NewEvent
from schemas.identity import Origin
from schemas.learned import LearnedChoice
from schemas.prediction import PredictionDemand
from services.scoreboard.breakers import breakers_after
from services.scoreboard.foresight import ForesightScores
from services.scoreboard.learned import LearnedScores
from services.scoreboard.mismatches import Mismatches
from services.scoreboard.promotion import promotion_after
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState, evolve
from services.scoreboard.unpublished import UnpublishedOutcome


class ScoreboardHandler:
    """The behaviour of the process `scoreboard`; see `bus.follow.Handler`."""

    name = "scoreboard"
    reads: tuple[tuple[str, ...], ...] = (
        ("observation",),
        ("proposal", "*"),
        ("learned", "*"),
        ("prediction", "*"),
        ("prediction", "shadow", "*"),
        ("decision",),
        ("outcome", "*"),
        ("untouched", "observation"),
        ("control",),
        ("snapshot", "workloads"),
        ("stimulus",),
        ("run", "stage", "*"),
    )
    state_version = 3
    deadline_seconds: float | None = None
    """Nothing to wait for: it speaks when an observation has settled something."""

    def __init__(self, settings: ScoreboardSettings) -> None:
        """Score on one scale for the whole life of the process."""
        self._settings = settings

    def initial(self) -> ScoreboardState:
        """Return the state before any event."""
        return ScoreboardState()

    def evolve(self, state: ScoreboardState, event: Event[Any]) -> ScoreboardState:
        """Return the state after one stored event."""
        settled, settings = evolve(state, event, self._settings), self._settings
        settled = _with_foresight(settled, event, settings)
        if settled.learned is not None or isinstance(event.data, LearnedChoice):
            learned = (settled.learned or LearnedScores()).after(event, settled.view, settings)
            settled = settled.model_copy(update={"learned": learned})
        if settings.promotion.enabled:
            promotion = promotion_after(settled.promotion, event, settled.view, settings.promotion)
            settled = settled.model_copy(update={"promotion": promotion})
        if settings.breaker.enabled:
            breakers = breakers_after(state.breakers, event, settled.view, settings.breaker)
            settled = settled.model_copy(update={"breakers": breakers})
        if settings.mismatch.enabled:
            before = settled.mismatches or Mismatches()
            after = before.after(event, settled.view, settings.mismatch)
            if after is not before:
                settled = settled.model_copy(update={"mismatches": after})
        return settled

    def open_cycle(self, state: ScoreboardState) -> int | None:
        """Return the newest cycle with an outcome to publish."""
        cycles = [outcome.cycle for outcome in state.owed]
        cycles += [outcome.cycle for outcome in state.worlds.owed]
        if state.breakers is not None:
            cycles += [owed.change.cycle for owed in state.breakers.owed]
        if state.promotion is not None:
            cycles += [owed.judgement.cycle for owed in state.promotion.owed]
        if state.foresight is not None:
            cycles += [owed.judgement.cycle for owed in state.foresight.owed]
        if state.learned is not None:
            cycles += [owed.outcome.cycle for owed in state.learned.owed]
        if state.switched is not None:
            cycles += [owed.estimate.cycle for owed in state.switched.owed]
        if state.mismatches is not None:
            cycles += [owed.change.cycle for owed in state.mismatches.owed]
        return max(cycles, default=None)

    def decide(self, state: ScoreboardState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the outcomes to publish, in the order in which they were settled."""
        del overdue  # nothing is ever waited for
        estimates = () if state.switched is None else state.switched.new_events()
        changes = () if state.breakers is None else state.breakers.new_events()
        judgements = () if state.promotion is None else state.promotion.new_events()
        return (
            *(_draft(outcome) for outcome in state.owed),
            *state.worlds.new_events(),
            *estimates,
            *changes,
            *judgements,
            *(() if state.foresight is None else state.foresight.new_events()),
            *(() if state.mismatches is None else state.mismatches.new_events()),
            *(() if state.learned is None else state.learned.new_events()),
        )


def _with_foresight(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    """Return the state, in which the event has been folded, with what it says of forecasts of demand."""
    before = state.foresight
    if before is None and not (isinstance(event.data, PredictionDemand) and event.data.bands):
        return state
    after, owed = (before or ForesightScores()).after(event, state.view, settings)
    if after is before:
        return state
    return state.model_copy(update={"foresight": after, "owed": (*state.owed, *owed)})


def _draft(owed: UnpublishedOutcome) -> NewEvent:
    data = owed.reward or owed.forecast
    assert data is not None
    return NewEvent(data, owed.cycle, owed.cluster_time_seconds, owed.causes)


def build(settings: ScoreboardSettings, origin: Origin) -> ScoreboardHandler:
    """Return the handler that the settings describe.

    The same one live, in re-runs and in simulation.
    """
    del origin  # events get their origin when they are stamped
    return ScoreboardHandler(settings)
