"""Live scores of predictions: alarms, lead time, pinball, what a model was worth so far."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.envelope import Event
from schemas.outcome import OutcomeForecast
from schemas.prediction import DemandTable, PredictionShadow, RiskTable
from schemas.tables import table_of
from services.scoreboard.pending import spacing
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    cycle_time,
    make_demand,
    make_observation,
    make_risk,
    stamp_event,
)

HANDLER = build(ScoreboardSettings(), ORIGIN)
AHEAD: dict[str, Any] = {"horizon_seconds": 20.0}


def observation_event(cycle: int, rows: Any = 2, **fields: Any) -> Event[Any]:
    """Return a stamped observation."""
    return stamp_event(make_observation(rows, cycle=cycle, **fields))


def state_after(*events: Event[Any], state: ScoreboardState | None = None) -> ScoreboardState:
    """Return the state after some events; what was owed is said at once."""
    after = HANDLER.initial() if state is None else state
    for event in events:
        after = HANDLER.evolve(after, event)
    return after


def scores(state: ScoreboardState) -> list[OutcomeForecast]:
    """Return the scored predictions owed."""
    new_events = HANDLER.decide(state, overdue=False)
    return [
        new_event.data for new_event in new_events if isinstance(new_event.data, OutcomeForecast)
    ]


def shadow(cycle: int, ratios: dict[str, float], **fields: Any) -> Event[Any]:
    """Return the prediction of a shadow model."""
    rows = {name: {"risk_ratio": value} for name, value in ratios.items()}
    given: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "status": "result",
        "model_id": "tiny/000000000000",
        "features_hash": "0" * 64,
        "calibrated": True,
        "slot": 1,
        "nodes": len(ratios),
        "risk_table": table_of(RiskTable, rows),
        "failure": "attempt_failed",
        "alarm_ratio": 0.5,
        **AHEAD,
    }
    return stamp_event(PredictionShadow(**{**given, **fields}))


def test_alarms_are_hits_misses_and_false_alarms_with_a_lead_time() -> None:
    """A hit's lead is the time from the prediction to the first failure seen."""
    risks = {"node-0": 0.9, "node-1": 0.1, "node-2": 0.9, "node-3": 0.1}
    sick = {name: {"unhealthy_pods": 1} for name in ("node-0", "node-1")}
    calm: dict[str, Any] = {name: {} for name in ("node-2", "node-3")}
    risk = stamp_event(make_risk(risks, alarm_ratio=0.5, **AHEAD))

    state = state_after(
        observation_event(1, 4),
        risk,
        observation_event(2, {**sick, **calm}),
        observation_event(3, 4),
    )
    score = scores(state)[0].risk

    assert score is not None
    assert (score.hits, score.misses, score.false_alarms) == (1, 1, 1)
    assert score.lead_seconds == 10.0


def test_a_risk_at_the_threshold_is_an_alarm() -> None:
    """Where the action begins, the alarm begins: at the threshold itself, not above it."""
    risk = stamp_event(make_risk({"node-0": 0.5, "node-1": 0.499999}, alarm_ratio=0.5, **AHEAD))

    score = scores(state_after(observation_event(1), risk, observation_event(3)))[0].risk

    assert score is not None
    assert score.false_alarms == 1


def test_the_running_lead_is_the_mean_over_hits() -> None:
    """Nodes without a hit have no lead and do not shorten it."""
    sick: dict[str, Any] = {"node-0": {"unhealthy_pods": 1}, "node-1": {}}
    state = state_after(observation_event(1))
    for cycle in (1, 3):
        risk = make_risk({"node-0": 0.9, "node-1": 0.1}, cycle=cycle, alarm_ratio=0.5, **AHEAD)
        state = state_after(
            stamp_event(risk),
            observation_event(cycle + 1, sick),
            observation_event(cycle + 2, 2),
            state=state,
        )

    score = scores(state)[-1].risk
    assert score is not None
    assert score.running is not None
    assert (score.running.hits, score.running.targets) == (2, 4)
    assert score.running.lead_seconds == 10.0


def test_without_a_threshold_there_is_no_alarm() -> None:
    """A prediction that names no action threshold is scored by Brier alone."""
    state = state_after(
        observation_event(1), stamp_event(make_risk({"node-0": 0.9}, **AHEAD)), observation_event(3)
    )
    score = scores(state)[0].risk

    assert score is not None
    assert (score.hits, score.brier) == (None, 0.81)


def test_a_failed_attempt_is_seen_in_the_pods_and_not_in_the_health() -> None:
    """A model of attempts is held against pods that failed since, not against pods that start."""
    pods = {"default/a": {"node": "node-0", "phase": "Running", "restarts": 1}}
    again = {"default/a": {"node": "node-0", "phase": "Running", "restarts": 2}}
    starting = {"node-0": {}, "node-1": {"unhealthy_pods": 1}}
    told = shadow(1, {"node-0": 0.9, "node-1": 0.1})

    state = state_after(
        observation_event(1, pods=pods), told, observation_event(3, starting, pods=again)
    )
    (one,) = scores(state)

    assert (one.slot, one.model_id) == (1, "tiny/000000000000")
    assert one.risk is not None
    assert (one.risk.positives, one.risk.hits, one.risk.brier) == (1, 1, 0.01)


def test_a_shadow_is_scored_beside_the_active_models() -> None:
    """Both scores of one cycle come, each once, and saying one does not silence the other."""
    risk = stamp_event(make_risk({"node-0": 0.5}, **AHEAD))
    state = state_after(
        observation_event(1), risk, shadow(1, {"node-0": 0.2}), observation_event(3)
    )
    both = scores(state)
    assert [one.slot for one in both] == [0, 1]

    after = state_after(stamp_event(both[0]), state=state)

    assert [score.slot for score in scores(after)] == [1]


def test_a_skipped_shadow_is_not_scored() -> None:
    """A shadow that could not speak is no event on its own."""
    nothing = {"status": "skipped", "risk_table": RiskTable(), "nodes": 0}

    assert (
        scores(state_after(observation_event(1), shadow(1, {}, **nothing), observation_event(3)))
        == []
    )


def test_running_scores_add_up_over_cycles_and_begin_anew_with_another_model() -> None:
    """The running Brier is the mean over every certain target so far of this model."""
    state = state_after(
        observation_event(1),
        stamp_event(make_risk({"node-0": 0.5}, **AHEAD)),
        observation_event(3),
        stamp_event(make_risk({"node-0": 0.1}, cycle=3, **AHEAD)),
        observation_event(5),
        stamp_event(make_risk({"node-0": 0.1}, cycle=5, model_id="other/1", **AHEAD)),
        observation_event(7),
    )
    running = [score.risk.running for score in scores(state) if score.risk is not None]

    assert [(one.targets, one.brier) for one in running if one] == [
        (1, 0.25),
        (2, 0.13),
        (1, 0.01),
    ]


def test_a_quantile_is_scored_by_pinball_loss_of_the_peak() -> None:
    """p90 of the greatest use within the horizon: too low costs nine times too high."""
    table = {"node-0": 0.5, "node-1": 0.9}
    told = stamp_event(make_demand(table, quantile=0.9, demand="peak_use", **AHEAD))
    peak = {"node-0": {"cpu_used_ratio": 0.7, "memory_used_ratio": 0.1}, "node-1": {}}

    score = scores(
        state_after(observation_event(1), told, observation_event(2, peak), observation_event(3))
    )[0].demand

    assert score is not None
    assert score.pinball_ratio == pytest.approx((0.9 * 0.2 + 0.1 * 0.4) / 2)
    assert score.targets == 2


def test_horizons_of_their_own_are_scored_each_at_its_end() -> None:
    """Risk and demand of one cycle that look differently far are two outcomes."""
    risk = stamp_event(make_risk({"node-0": 0.5}, **AHEAD))
    demand = stamp_event(make_demand({"node-0": 0.5}, horizon_seconds=40.0))

    first = state_after(observation_event(1), risk, demand, observation_event(3))
    assert [(score.part, score.demand) for score in scores(first)] == [("", None)]
    second = state_after(
        *(stamp_event(score) for score in scores(first)), observation_event(5), state=first
    )

    assert [(score.part, score.risk) for score in scores(second)] == [("demand", None)]


def test_a_far_horizon_is_scored_on_every_nth_cycle() -> None:
    """At most the stated number of predictions waits, however far a model looks."""
    assert spacing(60.0, 5.0, 25) == 1
    assert spacing(900.0, 5.0, 25) == 8
    small = build(ScoreboardSettings(forecast_cycles=2), ORIGIN)
    state = small.initial()
    for cycle in range(1, 12):
        state = small.evolve(state, observation_event(cycle))
        told = stamp_event(make_risk({"node-0": 0.5}, cycle=cycle, horizon_seconds=60.0))
        state = small.evolve(state, told)

    assert {forecast.cycle % 3 for forecast in state.forecasts} == {0}
    assert len(state.forecasts) <= 2


def test_a_demand_shadow_is_scored_as_demand() -> None:
    """The table says which kind it is."""
    rows = {"node-0": {"demand_ratio": 0.4}}
    table = {"risk_table": None, "demand_table": table_of(DemandTable, rows), "quantile": 0.9}
    told = shadow(1, {"node-0": 0.0}, **table, demand="peak_use", failure="unhealthy")

    (one,) = scores(state_after(observation_event(1), told, observation_event(3)))

    assert one.risk is None
    assert one.demand is not None
    assert one.demand.targets == 1
