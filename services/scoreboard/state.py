"""State of the scoreboard between two events.

Everything is settled when the observation that settles it is applied; what is then owed waits here,
small, until the log holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from schemas.capacity import PredictionCapacity
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded
from schemas.observation import Observation, ObservedPods
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeReward,
)
from schemas.prediction import (
    Prediction,
    PredictionDemand,
    PredictionRisk,
    PredictionShadow,
)
from schemas.proposal import Proposal, UntouchedDraw
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.switchback import OutcomeSwitchback
from schemas.untouched import UntouchedObservation
from schemas.view import ObservationView, update_view
from services.agent_rewards import RewardInput
from services.scoreboard.bands import ScoredBands
from services.scoreboard.breakers import Breakers
from services.scoreboard.capacity import ScoredCapacity, with_statement
from services.scoreboard.forecast import RunningSums, score_forecast
from services.scoreboard.foresight import ForesightScores
from services.scoreboard.learned import LearnedScores
from services.scoreboard.mismatches import Mismatches
from services.scoreboard.pending import (
    PendingForecast,
    failing,
    note_left,
    note_observation,
    note_touched,
    spacing,
    use_ratios,
    with_prediction,
)
from services.scoreboard.predicted import predict_situation, situation_of
from services.scoreboard.promotion import Promotion
from services.scoreboard.scored_worlds import ScoredWorlds, acted_observed, untouched_observed
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.switched_blocks import SwitchedBlocks, blocks_of
from services.scoreboard.touched import TouchedNodes, left_nodes
from services.scoreboard.unpublished import UnpublishedOutcome, without_published
from services.scoreboard.waiting_decisions import JudgedCycle, PendingDecision, reward_of


class ScoreboardState(DataModel):
    """The newest observation, what waits for later ones, and what is not published yet; oldest first."""

    view: ObservationView | None = None
    """None before the first keyframe."""
    befores: tuple[JudgedCycle, ...] = ()
    decisions: tuple[PendingDecision, ...] = ()
    forecasts: tuple[PendingForecast, ...] = ()
    foreseen: dict[str, Cycle] = {}
    """By slot the newest cycle whose forecast is settled; a prediction of it that comes later still
    is not scored.
    """
    runnings: tuple[RunningSums, ...] = ()
    """What each model's scores add up to."""
    owed: tuple[UnpublishedOutcome, ...] = ()
    sum_total: Rounded = 0.0
    """Sum of the observed totals so far."""
    scored: Count = 0
    """How many decisions that sum covers."""
    worlds: ScoredWorlds = ScoredWorlds()
    """The outcome score, and what acting changed."""
    switched: SwitchedBlocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """The switchback's blocks; None, and not in the checkpoint, as long as there is none."""
    touched: TouchedNodes = TouchedNodes()
    breakers: Breakers | None = Field(default=None, exclude_if=lambda breakers: breakers is None)
    """None, and not in the checkpoint, where breakers are off."""
    promotion: Promotion | None = Field(
        default=None, exclude_if=lambda promotion: promotion is None
    )
    """None, and not in the checkpoint, where the promotion of risk models is off."""
    bands: ScoredBands | None = Field(default=None, exclude_if=lambda bands: bands is None)
    """Bands of minutes; None, and not in the checkpoint, as long as none was published."""
    foresight: ForesightScores | None = Field(
        default=None, exclude_if=lambda scores: scores is None
    )
    """Bands of a trained model's steps, raises that rest on a forecast, and how models of demand stand; None, and not
    in the checkpoint, as long as no band was published.
    """
    learned: LearnedScores | None = Field(default=None, exclude_if=lambda scores: scores is None)
    """Learned policies beside their agents' rules; None, and not in the checkpoint, as long as none chose."""
    capacity: ScoredCapacity | None = Field(default=None, exclude_if=lambda scored: scored is None)
    """What replicas bear; None, and not in the checkpoint, as long as nothing was said of it."""
    mismatches: Mismatches | None = Field(default=None, exclude_if=lambda found: found is None)
    """What does not fit; None, and not in the checkpoint, where nobody looks for it."""


def evolve(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    """Return the state after one stored event."""
    match event.data:
        case Observation():
            return _apply_observation(state, event, settings)
        case PredictionRisk() | PredictionDemand() | PredictionShadow():
            return _forecast(state, event, settings)
        case PredictionCapacity():
            capacity = with_statement(state.capacity, event.data, event.id)
            return state.model_copy(update={"capacity": capacity})
        case Decision():
            return _apply_decision(state, event, settings)
        case OutcomeExecution():
            return _apply_execution(state, event.data, settings)
        case Proposal(untouched=UntouchedDraw() as draw) if settings.promotion.enabled:
            return _apply_draw(state, draw, event.data.cluster_time_seconds)
        case OutcomeReward() | OutcomeForecast():
            return state.model_copy(update={"owed": without_published(state.owed, event.data)})
        case UntouchedObservation():
            return _with_worlds(state, untouched_observed(state.worlds, event, settings.score))
        case OutcomeScore() | OutcomeCounterfactual():
            return _with_worlds(state, state.worlds.without(event.data))
        case OutcomeSwitchback() if state.switched is not None:
            return state.model_copy(update={"switched": state.switched.without(event.data)})
    return state


def _with_worlds(state: ScoreboardState, worlds: ScoredWorlds) -> ScoreboardState:
    return state.model_copy(update={"worlds": worlds})


def _apply_observation(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    view = update_view(state.view, event)
    if view is None:
        return state.model_copy(update={"view": None})
    situation = situation_of(view)
    before = JudgedCycle(cycle=view.cycle, observation_id=view.id, situation=situation)
    older = tuple(earlier for earlier in state.befores if earlier.cycle < view.cycle)
    keep = settings.keep_cycles
    worlds = acted_observed(state.worlds, view, settings.score)
    switched = _switched(state, worlds, settings)
    changes = {
        "view": view,
        "befores": (*older, before)[-keep:],
        "worlds": worlds,
        "switched": switched,
    }
    noted = state.model_copy(update=changes)
    pods = None if state.view is None else state.view.pods
    foreseen = _foreseen(_bands_scored(noted, view), view, pods, settings)
    return _settle(foreseen, view, situation, settings)


def _bands_scored(state: ScoreboardState, view: ObservationView) -> ScoreboardState:
    """Score the bands of demand whose minute is over, and what replicas were said to bear."""
    for name in ("bands", "capacity"):
        scored: ScoredBands | ScoredCapacity | None = getattr(state, name)
        if scored is not None:
            after, owed = scored.with_view(view)
            state = state.model_copy(update={name: after, "owed": (*state.owed, *owed)})
    return state


def _switched(
    state: ScoreboardState, worlds: ScoredWorlds, settings: ScoreboardSettings
) -> SwitchedBlocks | None:
    """Return the switchback's blocks after the step that these worlds were scored for, if there was one."""
    if not settings.switchback.enabled:
        return state.switched
    switched = blocks_of(state.switched, settings.switchback)
    before, tally = state.worlds.tally, worlds.tally
    if before is None or tally is None or before.look.cycle == tally.look.cycle:
        return switched
    owed = worlds.owed[-1]
    assert owed.score is not None
    return switched.after_score(owed.score, owed.causes)


def _foreseen(
    state: ScoreboardState,
    view: ObservationView,
    before: ObservedPods | None,
    settings: ScoreboardSettings,
) -> ScoreboardState:
    """Score the forecasts whose window this observation closes."""
    if not state.forecasts:
        return state
    failures, time_seconds = failing(view.nodes, before, view.pods), view.cluster_time_seconds
    peaks = any(forecast.demand_of == "peak_use" for forecast in state.forecasts)
    use = use_ratios(view.nodes) if peaks else {}
    forecasts = [
        note_observation(forecast, time_seconds, failures, use) for forecast in state.forecasts
    ]
    if before is None:
        forecasts = [one.model_copy(update={"unseen": True}) for one in forecasts]
    owed, runnings, foreseen = list(state.owed), state.runnings, dict(state.foreseen)
    promotion = (state.promotion or Promotion()) if settings.promotion.enabled else None
    for forecast in forecasts:
        if forecast.end_seconds > time_seconds:
            continue
        outcome, runnings = score_forecast(forecast, view, runnings)
        promotion = (
            None if promotion is None else promotion.after_forecast(forecast, settings.promotion)
        )
        causes = (*forecast.causes, view.id)
        owed.append(
            UnpublishedOutcome(
                cycle=forecast.cycle,
                cluster_time_seconds=time_seconds,
                causes=causes,
                forecast=outcome,
            )
        )
        slot = str(forecast.slot)
        foreseen[slot] = max(forecast.cycle, foreseen.get(slot, 0))
    return state.model_copy(
        update={
            "forecasts": tuple(
                forecast for forecast in forecasts if forecast.end_seconds > time_seconds
            ),
            "owed": tuple(owed),
            "foreseen": foreseen,
            "runnings": runnings,
            "promotion": promotion,
        }
    )


def _settle(
    state: ScoreboardState,
    view: ObservationView,
    situation: RewardInput,
    settings: ScoreboardSettings,
) -> ScoreboardState:
    """Pay the decisions whose effect this observation is the first to show."""
    settle, late = settings.settle_cycles, settings.late_cycles
    for decision in state.decisions:
        age = view.cycle - decision.cycle
        if age >= settle:
            shown = situation if age <= settle + late else None
            state = _settle_reward(state, decision, view, shown, settings)
    waiting = tuple(
        decision for decision in state.decisions if view.cycle - decision.cycle < settle
    )
    return state.model_copy(
        update={"decisions": waiting, "owed": state.owed[-2 * settings.keep_cycles :]}
    )


def _settle_reward(
    state: ScoreboardState,
    pending: PendingDecision,
    view: ObservationView,
    situation: RewardInput | None,
    settings: ScoreboardSettings,
) -> ScoreboardState:
    sums = state.sum_total, state.scored
    reward, total = reward_of(pending, view, situation, settings.reward_weights, sums)
    owed = UnpublishedOutcome(
        cycle=pending.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        causes=(pending.decision_id, pending.observation_id, view.id),
        reward=reward,
    )
    return state.model_copy(
        update={"owed": (*state.owed, owed), "sum_total": total, "scored": reward.scored}
    )


def _forecast(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    data: Prediction = event.data
    if isinstance(data, PredictionDemand) and data.bands and data.bands[0].is_of_a_minute:
        bands = (state.bands or ScoredBands()).with_prediction(data, event.id)
        state = state.model_copy(update={"bands": bands})
    if isinstance(data, PredictionRisk):
        highest = max(data.nodes.risk_ratio, default=None)
        befores = tuple(
            earlier.model_copy(update={"max_risk_ratio": highest})
            if earlier.cycle == data.cycle
            else earlier
            for earlier in state.befores
        )
        state = state.model_copy(update={"befores": befores})
    slot = data.slot if isinstance(data, PredictionShadow) else 0
    if data.cycle <= state.foreseen.get(str(slot), 0) or _left_out(state, data, slot, settings):
        return state
    new = with_prediction(state.forecasts, data, event.id, settings.forecast_targets)
    touched, new = state.touched.after_prediction(new, settings.mark_horizons)
    others = (forecast for forecast in state.forecasts if forecast.place != new.place)
    ordered = sorted((*others, new), key=lambda other: other.place)
    kept = tuple(ordered)[-settings.keep_cycles :]
    return state.model_copy(update={"forecasts": kept, "touched": touched})


def _left_out(
    state: ScoreboardState, data: Prediction, slot: int, settings: ScoreboardSettings
) -> bool:
    """Say whether a prediction is not scored: a skipped shadow's, and those between every n-th."""
    if slot and data.status == "skipped":
        return True
    if state.view is None:
        return False
    interval = state.view.interval_seconds
    step = spacing(data.horizon_seconds, interval, settings.forecast_cycles)
    return data.cycle % step != 0


def _apply_decision(
    state: ScoreboardState, event: Event[Any], settings: ScoreboardSettings
) -> ScoreboardState:
    """Let a decision wait for its observation.

    One about a cycle that was not seen stays without a reward: nobody knows what it started from.
    """
    data: Decision = event.data
    before = next((earlier for earlier in state.befores if earlier.cycle == data.cycle), None)
    if before is None:
        return state
    judged = state.view is not None and state.view.cycle == data.cycle
    nodes = state.view.nodes if judged and state.view is not None else None
    pending = PendingDecision(
        cycle=data.cycle,
        decision_id=event.id,
        observation_id=before.observation_id,
        action=data.action,
        selected_agent=data.action.agent,
        max_risk_ratio=before.max_risk_ratio,
        predicted=predict_situation(before.situation, nodes, data.action),
    )
    return state.model_copy(
        update={
            "befores": _without(state.befores, data.cycle),
            "decisions": (*state.decisions, pending)[-settings.keep_cycles :],
        }
    )


def _without(befores: Sequence[JudgedCycle], cycle: int) -> tuple[JudgedCycle, ...]:
    return tuple(earlier for earlier in befores if earlier.cycle != cycle)


def _apply_execution(
    state: ScoreboardState, data: OutcomeExecution, settings: ScoreboardSettings
) -> ScoreboardState:
    """Note which nodes were really changed: a refusal or a dry run changes nothing."""
    if settings.switchback.enabled:
        switched = blocks_of(state.switched, settings.switchback).after_execution(data)
        state = state.model_copy(update={"switched": switched})
    if data.phase is ExecutionPhase.REFUSED or data.mode is not Mode.ACTIVE:
        return state
    nodes = [operation.name for operation in data.operations if operation.resource == "nodes"]
    if data.action.target.kind == "node":
        nodes.append(data.action.target.name)
    now = data.cluster_time_seconds
    forecasts = tuple(note_touched(forecast, now, nodes) for forecast in state.forecasts)
    touched = state.touched.with_nodes(now, nodes)
    return state.model_copy(update={"forecasts": forecasts, "touched": touched})


def _apply_draw(state: ScoreboardState, draw: UntouchedDraw, now_seconds: float) -> ScoreboardState:
    """Note which nodes an agent wanted to change and left untouched on purpose."""
    left = dict.fromkeys(left_nodes(draw), draw.ratio)
    forecasts = tuple(note_left(one, now_seconds, left) for one in state.forecasts)
    touched = state.touched.with_left(now_seconds, draw)
    return state.model_copy(update={"forecasts": forecasts, "touched": touched})
