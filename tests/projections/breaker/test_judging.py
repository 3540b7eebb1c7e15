"""Breakers as a fold: what trips them, what does not, and how they close again."""

from __future__ import annotations

from typing import Any

import pytest

from projections.breaker.judging import BreakerChange, judge
from projections.breaker.settings import BreakerSettings
from projections.breaker.tally import BreakerTally, after_event
from schemas.actions import ActionKind
from schemas.breaker import WHOLE, BreakerCause, BreakerState
from schemas.control import Command
from schemas.model import EventData
from schemas.outcome import (
    ExecutionPhase,
    ForecastScore,
    Mode,
    OutcomeForecast,
    VerificationStatus,
)
from schemas.reasons import Reason
from schemas.score import OutcomeScore, ScoreComponent
from schemas.switchback import OutcomeSwitchback, SwitchbackPair
from tests.builders import (
    START_SECONDS,
    make_action,
    make_control,
    make_decision,
    make_execution,
    make_verification,
    stamp_event,
)
from tests.score_events import make_difference

SETTINGS = BreakerSettings(when="on")
RAISE = make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/web")
SLEEP = make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="sleep")


class Bench:
    """Folds events at moments counted in minutes, and keeps every change."""

    def __init__(self, **settings: Any) -> None:
        """Begin with every breaker closed."""
        self.settings = SETTINGS.model_copy(update=settings)
        self.tally = BreakerTally()
        self.changes: list[BreakerChange] = []
        self.count = 0

    def add(self, data: EventData) -> str:
        """Fold an event; return its id."""
        self.count += 1
        event = stamp_event(data, seq=self.count)
        self.tally = after_event(self.tally, event, self.settings)
        return event.id

    def look(self, minute: float) -> list[BreakerChange]:
        """Judge at an observation; return what changed."""
        self.tally, changes = judge(self.tally, START_SECONDS + 60.0 * minute, self.settings)
        self.changes += changes
        return list(changes)

    def execute(self, minute: float, action: Any = RAISE, **fields: Any) -> str:
        """Fold an execution of its own cycle; return its id."""
        at = {"cluster_time_seconds": START_SECONDS + 60.0 * minute}
        return self.add(make_execution(action, cycle=self.count + 1, **{**at, **fields}))

    def verify(self, minute: float, status: VerificationStatus, action: Any = RAISE) -> None:
        """Fold an execution and its verification."""
        execution = self.execute(minute, action)
        at = START_SECONDS + 60.0 * minute
        self.add(
            make_verification(
                cycle=self.count, execution_id=execution, status=status, cluster_time_seconds=at
            )
        )

    def worth(self, minute: float, changed: float, cost: float = 1.0) -> None:
        """Fold a step that cost so much, and what acting has changed since the start."""
        at = START_SECONDS + 60.0 * minute
        one = ScoreComponent(
            name="cores", unit="h", price=-1.0, step=cost, total=cost, total_money=-cost
        )
        score = OutcomeScore(
            cycle=self.count,
            cluster_time_seconds=at,
            step_seconds=60.0,
            total_seconds=60.0,
            currency="USD",
            components=(one,),
            step_money=-cost,
            total_money=-cost,
            step_money_per_hour=0.0,
            total_money_per_hour=0.0,
        )
        self.add(score)
        self.add(make_difference(self.count, at).model_copy(update={"total_money": changed}))


def states(changes: list[BreakerChange]) -> list[tuple[str, str, str]]:
    """Return unit, new state and cause of changes."""
    return [(change.unit, change.state.value, change.cause.value) for change in changes]


@pytest.mark.parametrize(("loss_per_minute", "minute"), [(0.01, None), (0.03, 21), (0.3, 3)])
def test_the_whole_trips_once_the_budget_is_lost(
    loss_per_minute: float, minute: int | None
) -> None:
    """At a cost of 1 a minute half an hour may lose 0.6: a third of that never trips, more does the faster the
    more it loses; what the loss itself costs does not raise the budget.
    """
    bench = Bench()
    for now in range(120):
        bench.worth(now, -loss_per_minute * now, 1.0 + loss_per_minute)
        bench.look(now)
        if bench.changes:
            break
    assert states(bench.changes) == ([] if minute is None else [("all", "shadow", "harm")])
    assert minute is None or now == minute
    if bench.changes:
        finding = bench.changes[0].finding
        assert finding is not None
        assert finding.limit == pytest.approx(0.6, rel=0.06)
        assert finding.measured > finding.limit


def test_a_loss_after_a_gain_counts_for_itself() -> None:
    """What was won an hour ago is no licence to lose it again."""
    bench = Bench()
    for now in range(60):
        bench.worth(now, 0.1 * now)
        bench.look(now)
    assert bench.changes == []
    for now in range(60, 100):
        bench.worth(now, 6.0 - 0.1 * (now - 59))
        bench.look(now)
    assert states(bench.changes)[0] == ("all", "shadow", "harm")


def test_a_switchback_below_zero_trips_the_whole() -> None:
    """With six pairs, not with five, and only where the whole interval is below 0."""
    pair = SwitchbackPair(first_block=0, first_money_per_hour=0, second_money_per_hour=0, first_seconds=1,
                          second_seconds=1, acting_first=(), counts=True)  # fmt: skip
    for pairs, high, trips in ((5, -1.0, 0), (6, 0.5, 0), (6, -0.5, 1)):
        bench = Bench()
        bench.add(OutcomeSwitchback(
            cycle=1, cluster_time_seconds=START_SECONDS, unit="time", seed=1, block_seconds=60, wash_out_seconds=0,
            currency="USD", pair=pair, pairs=pairs, pairs_left_out=0, executions=1, held=1, effect_money_per_hour=-1,
            low_money_per_hour=-2, high_money_per_hour=high, confidence_ratio=0.95,
        ))  # fmt: skip
        assert len(bench.look(1)) == trips


def test_a_kind_trips_when_too_many_of_its_executions_made_it_worse() -> None:
    """Six of twenty do, five do not, nor six of thirty; other kinds go on."""
    for worse, good, trips in ((5, 5, False), (6, 24, False), (6, 14, True)):
        bench = Bench()
        for number in range(worse + good):
            status = VerificationStatus.WORSE if number < worse else VerificationStatus.VERIFIED
            bench.verify(number, status)
            bench.verify(number, VerificationStatus.VERIFIED, SLEEP)
        expected = [("replicate", "shadow", "worse")] if trips else []
        assert states(bench.look(30)) == expected


def test_marks_older_than_the_window_do_not_count() -> None:
    """What made it worse more than an hour ago says nothing of now."""
    bench = Bench()
    for number in range(6):
        bench.verify(number, VerificationStatus.WORSE)
    assert bench.look(66) == []


@pytest.mark.parametrize(
    ("reason", "trips"),
    [(Reason.CAP_SURGE_PODS, 1), (Reason.BREAKER, 0), (Reason.KILL_SWITCH, 0)],
)
def test_a_kind_that_is_hardly_ever_executed_trips(reason: Reason, trips: int) -> None:
    """Forty refusals and no execution are enough, unless they have nothing to do with what was wanted."""
    bench = Bench()
    for number in range(39):
        bench.execute(number, phase=ExecutionPhase.REFUSED, reason=reason)
    assert bench.look(39) == []
    bench.execute(40, phase=ExecutionPhase.REFUSED, reason=reason)
    assert len(bench.look(40)) == trips


def test_what_is_executed_now_and_then_does_not_trip_by_refusals() -> None:
    """Fifty refusals beside ten executions are a share of 83 %, below the limit of 90 %."""
    bench = Bench()
    for number in range(60):
        refused = {"phase": ExecutionPhase.REFUSED, "reason": Reason.COOL_DOWN}
        bench.execute(number, **(refused if number % 6 else {}))
    assert bench.look(59.5) == []


def test_turning_one_target_to_and_fro_trips_its_kind() -> None:
    """Five turns in an hour do; as many actions on several targets, or four turns, do not."""
    for turns, targets, trips in ((4, 1, 0), (5, 1, 1), (8, 8, 0)):
        bench = Bench()
        for number in range(turns + 1):
            action = make_action(kind=ActionKind.POWER_STATE, target=f"n{number % targets}")
            bench.execute(number, action, direction="on" if number % 2 else "off")
        assert len(bench.look(20)) == trips


@pytest.mark.parametrize(("steady", "trips"), [(4, 1), (5, 0)])
def test_one_target_of_many_that_is_turned_to_and_fro_does_not_stop_the_others(
    steady: int, trips: int
) -> None:
    """A fifth of the targets does: one beside four that went one way, but not beside five."""
    bench = Bench()
    for number in range(6):
        action = make_action(kind=ActionKind.POWER_STATE, target="n0")
        bench.execute(number, action, direction="on" if number % 2 else "off")
    for number in range(steady):
        action = make_action(kind=ActionKind.POWER_STATE, target=f"n{number + 1}")
        bench.execute(10 + number, action, direction="off")
    assert len(bench.look(20)) == trips


@pytest.mark.parametrize(("brier", "trips"), [(0.3, 1), (0.05, 0)])
def test_kinds_decided_by_a_forecast_worse_than_a_constant_trip(brier: float, trips: int) -> None:
    """At a tenth of failures a constant has a Brier score of 0.09; what is decided by value is not concerned."""
    bench = Bench()
    migrate = make_action(kind=ActionKind.MIGRATE, target="n1", agent="safety")
    bench.add(make_decision(migrate, cycle=1))
    for cycle in range(25):
        risk = ForecastScore(targets=10, uncertain=0, positives=1, brier=brier)
        bench.add(OutcomeForecast(
            cycle=cycle, cluster_time_seconds=START_SECONDS + 60.0, observed_cycle=cycle, model_id="m",
            horizon_seconds=300.0, risk=risk, demand=None,
        ))  # fmt: skip
    assert states(bench.look(2)) == [("migrate", "shadow", "skill")] * trips


def tripped(bench: Bench, minute: float) -> None:
    """Let the breaker of `replicate` trip."""
    for number in range(6):
        bench.verify(minute - 1 + number / 6, VerificationStatus.WORSE)
    assert states(bench.look(minute))[-1] == ("replicate", "shadow", "worse")


def test_it_is_tried_again_and_closes_after_a_probation_without_harm() -> None:
    """Half an hour in shadow, half an hour on probation, and only if something was executed in it."""
    bench = Bench()
    tripped(bench, 1)
    assert bench.look(30.9) == []
    assert states(bench.look(31)) == [("replicate", "probation", "waited")]
    assert bench.look(61) == [], "nothing was tried yet"
    bench.verify(62, VerificationStatus.VERIFIED)
    assert states(bench.look(62)) == [("replicate", "closed", "recovered")]
    assert bench.tally.standing == ()


def test_half_as_much_trips_it_on_probation_and_for_twice_as_long() -> None:
    """Three that made it worse are enough there; each trip doubles the hold, at most to its bound."""
    bench, minute, holds = Bench(), 1.0, []
    tripped(bench, minute)
    for _ in range(4):
        holds.append(bench.tally.standing[0].until_seconds - bench.tally.standing[0].since_seconds)
        minute += holds[-1] / 60.0
        bench.look(minute)
        for _ in range(3):
            bench.verify(minute, VerificationStatus.WORSE)
        assert states(bench.look(minute + 1))[-1] == ("replicate", "shadow", "worse")
        minute += 1
    assert holds == [1_800.0, 3_600.0, 7_200.0, 14_400.0]
    assert bench.tally.standing[0].until_seconds - START_SECONDS == 60.0 * minute + 14_400.0


@pytest.mark.parametrize(("said", "left"), [("", 0), ("replicate", 0), ("migrate", 1)])
def test_the_operator_closes_a_breaker(said: str, left: int) -> None:
    """By its unit, or all at once; what tripped it is forgotten, so that it does not trip again at once."""
    bench = Bench()
    tripped(bench, 1)
    bench.add(make_control(Command.REARM, value=said))
    changes = bench.look(2)
    assert len(bench.tally.standing) == left
    assert [change.cause for change in changes] == [BreakerCause.RESET] * (1 - left)
    assert bench.look(3) == []


def test_dry_runs_and_rollbacks_do_not_count() -> None:
    """In shadow mode nothing is done, so nothing can have done harm."""
    bench = Bench()
    for number in range(50):
        refused = {"phase": ExecutionPhase.REFUSED, "reason": Reason.COOL_DOWN}
        bench.execute(number, mode=Mode.SHADOW, **refused)
        bench.execute(number, rollback_of="x", **refused)
    assert bench.look(50) == []
    assert bench.tally.marks == {}


def test_the_newest_change_holds_all_that_stand() -> None:
    """One event is enough to know every breaker; they stand by unit."""
    bench = Bench()
    tripped(bench, 1)
    bench.worth(1, 0.0)
    bench.worth(3, -5.0)
    (change,) = bench.look(3)
    assert [one.unit for one in change.standing] == [WHOLE, "replicate"]
    assert {one.state for one in change.standing} == {BreakerState.SHADOW}
