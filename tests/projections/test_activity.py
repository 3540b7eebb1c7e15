"""What days of a log hold: the counts of a log whose events are known."""

from __future__ import annotations

import pytest

from projections.activity import Activity
from schemas.actions import ActionKind
from schemas.decision import DecisionPart
from schemas.effect import Effect
from schemas.outcome import (
    ExecutionPhase,
    ForecastScore,
    Mode,
    Operation,
    OutcomeForecast,
    Verb,
    VerificationStatus,
)
from schemas.reasons import Reason
from tests.builders import (
    START_SECONDS,
    make_action,
    make_decision,
    make_execution,
    make_verification,
    stamp_event,
)

DAY = 86_400.0
EFFECT = Effect(
    horizon_seconds=600.0, terms={}, net=0.5, low=0.1, high=0.9, per_hour=3.0, currency="USD"
)
MOVE = make_action("safety", ActionKind.MIGRATE, "rack-1")
EVICTIONS = tuple(
    Operation(verb=Verb.EVICT, resource="pods", namespace="shop", name=name, text=f"evict {name}")
    for name in ("a", "b")
)


def activity_of(*events: object) -> Activity:
    """Return the fold of some events' data."""
    activity = Activity()
    for data in events:
        activity.add(stamp_event(data))  # type: ignore[type-var]
    return activity


def executed(phase: ExecutionPhase, **fields: object) -> object:
    """Return an execution of the move."""
    return make_execution(phase=phase, action=MOVE, decision_id="d", **fields)  # type: ignore[arg-type]


def test_an_action_is_counted_from_decision_to_verification() -> None:
    """Once each, with what was expected, and the objects that it touched by resource."""
    activity = activity_of(
        make_decision(parts=(DecisionPart(action=MOVE, selected=None, score=0.0, effect=EFFECT),)),
        executed(ExecutionPhase.STARTED, operations=EVICTIONS),
        executed(ExecutionPhase.FINISHED, operations=EVICTIONS, succeeded=True, mode=Mode.SHADOW),
        make_verification(decision_id="d", status=VerificationStatus.WORSE),
    )

    ((label, row),) = activity.actions.items()
    assert label.endswith(":migrate")
    assert (row.decided, row.carried_out, row.failed, row.refused) == (1, 1, 0, 0)
    assert (row.verified, row.worse) == (0, 1)
    assert (row.expecting, row.expected_micro, activity.currency) == (1, 500_000, "USD")
    assert activity.touched == {"pods": {"shop/a": 1, "shop/b": 1}}
    assert activity.modes == {"shadow": 1}


def test_a_refusal_says_its_reason_and_touches_nothing() -> None:
    """Its newest words are kept; what was no action is no refusal."""
    activity = activity_of(
        executed(ExecutionPhase.REFUSED, reason=Reason.COOL_DOWN, text="too early"),
        executed(ExecutionPhase.REFUSED, reason=Reason.COOL_DOWN, text="still too early"),
        make_execution(phase=ExecutionPhase.REFUSED, action=make_action(), reason=Reason.NOOP),
    )

    assert {reason: one.total() for reason, one in activity.refusals.items()} == {"cool_down": 2}
    assert activity.examples == {"cool_down": "still too early"}
    assert activity.touched == {}


def test_days_are_those_of_cluster_time() -> None:
    """Each decision and its execution count where they belong."""
    activity = activity_of(
        make_decision(action=MOVE, cycle=1, cluster_time_seconds=START_SECONDS),
        make_decision(action=MOVE, cycle=2, cluster_time_seconds=START_SECONDS + DAY),
        make_decision(action=MOVE, cycle=3, cluster_time_seconds=START_SECONDS + DAY + 60.0),
    )

    assert [day.cycles for _, day in sorted(activity.days.items())] == [1, 2]
    assert activity.last_time == START_SECONDS + DAY + 60.0


def test_risk_is_judged_over_all_targets() -> None:
    """Brier scores are weighted by targets; skill is against the best constant of the whole time."""

    def scored(cycle: int, brier: float, positives: int, hits: int) -> OutcomeForecast:
        risk = ForecastScore(
            targets=10, uncertain=0, positives=positives, brier=brier, hits=hits, misses=0,
            false_alarms=1,
        )  # fmt: skip
        return OutcomeForecast(
            cycle=cycle, cluster_time_seconds=START_SECONDS, observed_cycle=cycle + 1, model_id="m/1",
            horizon_seconds=300.0, risk=risk, demand=None,
        )  # fmt: skip

    (row,) = activity_of(scored(1, 0.1, 5, 5), scored(2, 0.3, 5, 4)).risks.values()

    assert (row.targets, row.failed, row.hits, row.false_alarms) == (20, 10, 9, 2)
    assert row.brier == pytest.approx(0.2)
    assert row.skill == pytest.approx(1.0 - 0.2 / 0.25)
