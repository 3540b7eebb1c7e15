"""Breakers' memory of executions, verifications, scores and forecasts: a fold of stored events."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from projections.breaker.settings import BreakerSettings
from schemas.actions import ActionKind
from schemas.agents import agent_manifests
from schemas.breaker import Breaker
from schemas.control import Command, Control
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds, rounded
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.switchback import OutcomeSwitchback

SAYS_NOTHING = frozenset(
    {
        *(Reason.NOOP, Reason.BREAKER, Reason.SWITCHBACK, Reason.KILL_SWITCH, Reason.PAUSED),
        *(Reason.STALE_DECISION, Reason.REPLAYED_LOG, Reason.API_UNREACHABLE, Reason.API_ERROR),
        *(Reason.EARLIER_PART, Reason.UNREADY_NODES, Reason.SETTLING),
    }
)
"""Reasons of refusals that have nothing to do with what was wanted."""
KEPT_MARKS = 200
KEPT_POINTS = 60
KEPT_KINDS = len(ActionKind)


class ActionOutcome(DataModel):
    """Outcome of one action."""

    time_seconds: Seconds
    word: Literal["executed", "refused", "good", "worse"]
    target: str = ""
    direction: str = ""


class WorthPoint(DataModel):
    """Effect of acting, and cost of this world, at one moment."""

    time_seconds: Seconds
    changed_money: Rounded
    """Acted minus untouched since the beginning; below 0: a loss."""
    cost_money: Rounded


class ForecastPoint(DataModel):
    """The score of one forecast of risk."""

    time_seconds: Seconds
    targets: Count
    positives: Count
    brier_sum: Rounded


class BreakerTally(DataModel):
    """Everything that the breakers rest on."""

    standing: tuple[Breaker, ...] = ()
    """Breakers that are not closed, by unit."""
    marks: dict[str, tuple[ActionOutcome, ...]] = {}
    """By kind of action, oldest first."""
    kinds: dict[str, str] = {}
    """Kind of action of the newest executions, by the execution's id, for their verifications."""
    cost_money: Rounded = 0.0
    points: tuple[WorthPoint, ...] = ()
    """Spaced ones within the window, oldest first."""
    newest: WorthPoint | None = None
    currency: str = ""
    pairs: Count = 0
    high_money_per_hour: Rounded | None = None
    """Upper limit of the newest switchback; None once it has been judged."""
    forecasts: tuple[ForecastPoint, ...] = ()
    """Of the newest model alone: what another one was worth says nothing of it."""
    forecast_model: str = Field(default="", exclude_if=lambda model_id: not model_id)
    by_risk: dict[str, Seconds] = {}
    """When a kind was last decided by the forecast of risk."""
    rearm: tuple[str, ...] = ()
    """What the operator wants to act again; empty text: everything."""


def after_event(tally: BreakerTally, event: Event[Any], settings: BreakerSettings) -> BreakerTally:
    """Return the tally after one stored event."""
    match event.data:
        case OutcomeExecution() as execution:
            return _after_execution(tally, execution, event.id)
        case OutcomeVerification() as verification:
            return _after_verification(tally, verification)
        case OutcomeScore() as score:
            cost = math.fsum(max(0.0, -one.step * one.price) for one in score.components)
            return _with(
                tally, cost_money=rounded(tally.cost_money + cost), currency=score.currency
            )
        case OutcomeCounterfactual() as changed:
            return _after_difference(tally, changed, settings)
        case OutcomeSwitchback() as estimate:
            return _with(
                tally, pairs=estimate.pairs, high_money_per_hour=estimate.high_money_per_hour
            )
        case OutcomeForecast(slot=0) as forecast:
            return _after_forecast(tally, forecast, settings)
        case Decision() as decision:
            return _after_decision(tally, decision)
        case Control(command=Command.REARM) as control:
            return _with(tally, rearm=(*tally.rearm, control.value)[-KEPT_KINDS:])
    return tally


def _with(tally: BreakerTally, **update: Any) -> BreakerTally:
    return tally.model_copy(update=update)


def with_mark(tally: BreakerTally, kind: str, mark: ActionOutcome) -> BreakerTally:
    """Return the tally with one more mark of a kind."""
    marks = (*tally.marks.get(kind, ()), mark)[-KEPT_MARKS:]
    return _with(tally, marks={**tally.marks, kind: marks})


def within(
    marks: Iterable[ActionOutcome], now_seconds: float, settings: BreakerSettings
) -> tuple[ActionOutcome, ...]:
    """Return the marks of the window that ends now."""
    return tuple(one for one in marks if now_seconds - one.time_seconds < settings.window_seconds)


def _after_execution(
    tally: BreakerTally, execution: OutcomeExecution, event_id: str
) -> BreakerTally:
    kind, now = execution.action.kind, execution.cluster_time_seconds
    if execution.rollback_of or execution.mode is not Mode.ACTIVE or kind is ActionKind.NOOP:
        return tally
    target = execution.action.target.name
    if execution.phase is ExecutionPhase.REFUSED:
        if execution.reason in SAYS_NOTHING:
            return tally
        return with_mark(
            tally, kind, ActionOutcome(time_seconds=now, word="refused", target=target)
        )
    if execution.phase is not ExecutionPhase.FINISHED:
        return tally
    mark = ActionOutcome(
        time_seconds=now, word="executed", target=target, direction=execution.direction
    )
    kinds = dict([*tally.kinds.items(), (event_id, str(kind))][-KEPT_MARKS:])
    return _with(with_mark(tally, kind, mark), kinds=kinds)


def _after_verification(tally: BreakerTally, data: OutcomeVerification) -> BreakerTally:
    kind = tally.kinds.get(data.execution_id)
    if kind is None or data.status is VerificationStatus.UNVERIFIABLE:
        return tally
    kinds = {name: one for name, one in tally.kinds.items() if name != data.execution_id}
    worse = data.status is VerificationStatus.WORSE
    mark = ActionOutcome(time_seconds=data.cluster_time_seconds, word="worse" if worse else "good")
    return _with(with_mark(tally, kind, mark), kinds=kinds)


def _after_difference(
    tally: BreakerTally, data: OutcomeCounterfactual, settings: BreakerSettings
) -> BreakerTally:
    now, window = data.cluster_time_seconds, settings.harm_window_seconds
    newest = WorthPoint(
        time_seconds=now, changed_money=data.total_money, cost_money=tally.cost_money
    )
    points = tuple(point for point in tally.points if now - point.time_seconds <= window)
    if not points or now - points[-1].time_seconds >= window / KEPT_POINTS:
        points = (*points, newest)
    return _with(tally, newest=newest, points=points)


def _after_forecast(
    tally: BreakerTally, data: OutcomeForecast, settings: BreakerSettings
) -> BreakerTally:
    if data.risk is None or data.risk.brier is None:
        return tally
    now, risk = data.cluster_time_seconds, data.risk
    point = ForecastPoint(
        time_seconds=now,
        targets=risk.targets,
        positives=risk.positives,
        brier_sum=rounded((risk.brier or 0.0) * risk.targets),
    )
    same = tally.forecast_model in ("", data.model_id)
    before = tally.forecasts if same else ()
    kept = [one for one in before if now - one.time_seconds < settings.window_seconds]
    return _with(tally, forecasts=(*kept, point)[-KEPT_MARKS:], forecast_model=data.model_id)


def _after_decision(tally: BreakerTally, data: Decision) -> BreakerTally:
    """Note kinds decided by the forecast of risk: by an agent that waits for it and states no expected value."""
    by_risk = dict(tally.by_risk)
    for part in data.parts:
        agent = agent_manifests().get(part.action.agent or "")
        if agent is not None and agent.prediction == "risk" and part.effect is None:
            by_risk[part.action.kind] = data.cluster_time_seconds
    by_risk.pop(ActionKind.NOOP, None)
    return tally if by_risk == tally.by_risk else _with(tally, by_risk=by_risk)
