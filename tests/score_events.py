"""Built events of the outcome score, of what acting changed, and of how models did."""

from __future__ import annotations

from typing import Any

from projections.promotion.text import evidence_text
from projections.score.money import UNITS
from schemas.breaker import Breaker, BreakerCause, BreakerState, OutcomeBreaker
from schemas.foresight import DemandModelEvidence, DemotionCause, OutcomeForesight, shadows_text
from schemas.mismatch import Mismatch, MismatchKind, OutcomeMismatch
from schemas.promotion import ModelEvidence, ModelState, OutcomeModels, PromotionCause, driving_text
from schemas.score import ComponentDifference, OutcomeCounterfactual
from tests.builders import START_SECONDS, cycle_time

PRICES = {
    "jobs_completed": 0.1,
    "requests_served": 0.2,
    "waiting/none": -0.02,
    "energy": -0.1,
    "evictions": -0.002,
}


def make_difference(
    cycle: int, at_seconds: float | None = None, **totals: float
) -> OutcomeCounterfactual:
    """Return what acting has changed up to a cycle: totals by component (`waiting` is that of no class).

    A tenth of every total came in the newest cycle.
    """
    named = {"waiting/none" if name == "waiting" else name: total for name, total in totals.items()}
    components = tuple(
        ComponentDifference(
            name=name,
            unit=UNITS.get(name, "pod-hours"),
            step=total / 10.0,
            total=total,
            total_money=PRICES[name] * total,
        )
        for name, total in named.items()
    )
    money = sum(component.total_money for component in components)
    at = cycle_time(cycle) if at_seconds is None else at_seconds
    hours = max(15.0, at - START_SECONDS) / 3_600.0
    return OutcomeCounterfactual(
        cycle=cycle,
        cluster_time_seconds=at,
        step_seconds=15.0,
        total_seconds=3_600.0 * hours,
        currency="USD",
        components=components,
        step_money=money / 10.0,
        total_money=money,
        step_money_per_hour=money / 10.0 * 240.0,
        total_money_per_hour=money / hours,
    )


def make_breaker(unit: str = "replicate", **fields: Any) -> Breaker:
    """Return a breaker that has tripped for harm in cycle 1, for half an hour."""
    default: dict[str, Any] = {
        "unit": unit,
        "state": BreakerState.SHADOW,
        "cause": BreakerCause.WORSE,
        "since_seconds": cycle_time(1),
        "until_seconds": cycle_time(1) + 1_800.0,
        "trips": 1,
        "spacing_seconds": 300.0,
    }
    return Breaker(**{**default, **fields})


def make_breaker_change(breaker: Breaker | None = None, *, cycle: int = 1) -> OutcomeBreaker:
    """Return the event of a breaker that has tripped, and is the only one that is not closed."""
    tripped = breaker or make_breaker()
    return OutcomeBreaker(
        cycle=cycle,
        cluster_time_seconds=cycle_time(cycle),
        unit=tripped.unit,
        before=BreakerState.CLOSED,
        state=tripped.state,
        cause=tripped.cause,
        measured=0.5,
        limit=0.3,
        measured_unit="share",
        executions=14,
        text=f"{tripped.unit} goes to shadow, made for a test",
        standing=(tripped,),
    )


def make_judged_model(**fields: Any) -> ModelEvidence:
    """Return how a shadow stands that has shown skill and is made the driver."""
    default: dict[str, Any] = {
        "slot": 1, "model_id": "age-risk/000000000000", "state": ModelState.ACTIVE,
        "cause": PromotionCause.SHOWN, "since_seconds": START_SECONDS, "targets": 2_400, "positives": 60,
        "expected": 54.0, "observed": 60.0, "brier": 0.02, "constant_brier": 0.024, "skill": 0.17,
        "skill_low": 0.04, "skill_high": 0.3, "alarms": 120, "hits": 30, "lift": 10.0, "lift_low": 4.0,
        "lift_high": 16.0, "text": "",
    }  # fmt: skip
    one = ModelEvidence(**{**default, **fields})
    return one.model_copy(update={"text": evidence_text(one)})


def make_judgement(*, cycle: int = 1, **fields: Any) -> OutcomeModels:
    """Return the judgement that lets a shadow drive."""
    model = make_judged_model()
    default: dict[str, Any] = {
        "cycle": cycle, "cluster_time_seconds": cycle_time(cycle), "window_seconds": 21_600.0,
        "confidence_ratio": 0.95, "driving": model.model_id, "before": "", "models": (model,),
        "text": driving_text("", model.model_id),
    }  # fmt: skip
    return OutcomeModels(**{**default, **fields})


def make_foresight(*, cycle: int = 1, **fields: Any) -> OutcomeForesight:
    """Return a judgement of one model of demand, which drives."""
    evidence = DemandModelEvidence(
        model_id="rates-ahead/1", state=ModelState.ACTIVE, cause=DemotionCause.HOLDS, since_seconds=0.0, actions=9,
        right=7, median_lead_seconds=90.0, value=1.2, value_low=0.4, value_high=2.0, currency="USD", targets=600,
        blocks=10, inside_ratio=0.8, inside_outermost_ratio=0.9, loss_to_last_value=0.7, text="drives",
    )  # fmt: skip
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "window_seconds": 21_600.0,
        "confidence_ratio": 0.95,
        "models": (evidence,),
        "text": shadows_text((), ()),
    }
    return OutcomeForesight(**{**default, **fields})


def make_mismatch(*, cycle: int = 1) -> OutcomeMismatch:
    """Return the event of a stimulus that has not moved the queue."""
    standing = Mismatch(
        kind=MismatchKind.STIMULUS_WITHOUT_EFFECT,
        about="admission-queue",
        since_cycle=cycle,
        since_seconds=cycle_time(cycle),
        measured=0,
        limit=0,
        unit="pods",
        text="stimulus admission-queue is on for 5 cycles, but the queue is flat at 0",
        remedy="see whether its pods exist",
    )
    return OutcomeMismatch(
        cycle=cycle,
        cluster_time_seconds=cycle_time(cycle),
        number=1,
        kind=standing.kind,
        state="begun",
        text=standing.text,
        standing=(standing,),
    )
