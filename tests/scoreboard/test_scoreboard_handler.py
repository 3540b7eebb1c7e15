"""The scoreboard as a handler: every decision is paid once, every prediction is scored once."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.frames import FullState, apply_frame
from schemas.outcome import ExecutionPhase, Mode, OutcomeForecast, OutcomeReward
from schemas.reasons import Reason
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    cycle_time,
    make_action,
    make_decision,
    make_demand,
    make_execution,
    make_observation,
    make_risk,
    stamp_event,
)

HANDLER = build(ScoreboardSettings(), ORIGIN)
CALM = {"cpu_requested_ratio": 0.2, "memory_requested_ratio": 0.2}
HORIZON = {"horizon_seconds": 20.0}


def observation_event(cycle: int, rows: Any = 1, **fields: Any) -> Event[Any]:
    """Return a stamped observation."""
    return stamp_event(make_observation(rows, cycle=cycle, **fields))


def decision_event(cycle: int, **fields: Any) -> Event[Any]:
    """Return a stamped decision; a noop unless an action is given."""
    return stamp_event(make_decision(cycle=cycle, **fields))


def predictions(cycle: int, risk: dict[str, float], demand: dict[str, float]) -> list[Event[Any]]:
    """Return both predictions of a cycle, 20 seconds ahead."""
    return [
        stamp_event(make_risk(risk, cycle=cycle, **HORIZON)),
        stamp_event(make_demand(demand, cycle=cycle, **HORIZON)),
    ]


def state_after(*events: Event[Any], state: ScoreboardState | None = None) -> ScoreboardState:
    """Return the state after some events."""
    after = HANDLER.initial() if state is None else state
    for event in events:
        after = HANDLER.evolve(after, event)
    return after


def rewards(state: ScoreboardState) -> list[OutcomeReward]:
    """Return the rewards owed."""
    new_events = HANDLER.decide(state, overdue=False)
    return [new_event.data for new_event in new_events if isinstance(new_event.data, OutcomeReward)]


def forecasts(state: ScoreboardState) -> list[OutcomeForecast]:
    """Return the scored predictions owed."""
    new_events = HANDLER.decide(state, overdue=False)
    return [
        new_event.data for new_event in new_events if isinstance(new_event.data, OutcomeForecast)
    ]


def test_a_decision_waits_for_the_next_observation() -> None:
    """Nothing is said of a decision before the observation after it."""
    state = state_after(observation_event(1), decision_event(1))
    assert HANDLER.decide(state, overdue=False) == ()
    (one,) = rewards(state_after(observation_event(2), state=state))
    assert (one.cycle, one.observed_cycle, one.reason) == (1, 2, None)


def test_observed_and_predicted_stand_side_by_side() -> None:
    """A migration at risk 0.9 is paid for what was seen, next to what the model expected.

    Observed: A 1 + 10 - 100 (a task died), B 1 + (500 - 450) / 100, C 1 + 30 / 10.
    Predicted: A 1 + 10, B 1 + (500 - 193.4) / 100 (200 W less 6.6 W), C 1.
    """
    rows: dict[str, Any] = {"node-0": {}, "node-1": {}}
    action = make_action("safety", ActionKind.MIGRATE, "node-0")
    dead = {"default/a": {"alive": False}}
    (one,) = rewards(
        state_after(
            observation_event(1, rows, totals={"energy_watts": 200.0}),
            stamp_event(make_risk({"node-0": 0.9, "node-1": 0.2})),
            decision_event(1, action=action),
            observation_event(
                2, rows, pods=dead, totals={"energy_watts": 450.0, "completed_tasks": 30}
            ),
        )
    )
    assert one.observed is not None
    assert tuple(one.observed.by_agent.values()) == (-89, 1.5, 4)
    assert one.observed.total == pytest.approx(-89 + 0.6 * 1.5 + 0.8 * 4)
    assert (one.predicted.by_agent["safety"], one.predicted.by_agent["admission"]) == (11.0, 1.0)
    assert one.predicted.by_agent["efficiency"] == pytest.approx(1 + 3.066)
    assert (one.action_kind, one.selected_agent) == (ActionKind.MIGRATE, "safety")
    assert (one.scale, one.weights) == (
        "seed-rewards/1",
        {"safety": 1.0, "efficiency": 0.6, "admission": 0.8},
    )


def test_the_causes_are_the_decision_and_both_observations() -> None:
    """A reward names the decision, what it judged and what was seen afterwards."""
    events = [observation_event(1), decision_event(1), observation_event(2)]
    (new_event,) = HANDLER.decide(state_after(*events), overdue=False)
    assert new_event.causes == (events[1].id, events[0].id, events[2].id)
    assert (new_event.cycle, new_event.time_seconds) == (1, events[2].data.cluster_time_seconds)


def test_the_mean_runs_over_observed_totals() -> None:
    """The mean covers every decision observed so far: 2.4 of a noop, then 2.4 - 100."""
    watts = {"energy_watts": 900.0}
    state = state_after(
        observation_event(1),
        decision_event(1),
        observation_event(2, totals=watts),
        decision_event(2),
        observation_event(3, totals=watts, pods={"default/a": {"alive": False}}),
    )
    assert [(reward.mean_total, reward.scored) for reward in rewards(state)] == [
        (2.4, 1),
        (-47.6, 2),
    ]


def test_an_observation_that_comes_too_late_pays_nothing() -> None:
    """Up to three cycles later still counts; from four on the decision is not observed."""
    state = state_after(observation_event(1), decision_event(1))
    (in_time,) = rewards(state_after(observation_event(4), state=state))
    assert (in_time.observed_cycle, in_time.reason) == (4, None)
    (late,) = rewards(state_after(observation_event(5), state=state))
    assert (late.observed, late.observed_cycle, late.scored) == (None, None, 0)
    assert late.reason is Reason.NOT_OBSERVED
    assert late.predicted_parts


def test_a_late_decision_waits_for_an_observation_after_it() -> None:
    """An observation stored before the decision cannot show its effect."""
    state = state_after(observation_event(1), observation_event(2), decision_event(1))
    assert rewards(state) == []
    assert [
        reward.observed_cycle for reward in rewards(state_after(observation_event(3), state=state))
    ] == [3]


def test_a_decision_about_an_unseen_cycle_is_not_scored() -> None:
    """Who joined later does not know what the decision started from."""
    assert rewards(state_after(observation_event(2), decision_event(1), observation_event(3))) == []


def test_a_risk_forecast_is_scored_when_its_horizon_has_passed() -> None:
    """Brier over two nodes, one of which failed midway: (0.2^2 + 0.1^2) / 2."""
    ill = {"node-0": {"unhealthy_pods": 1}, "node-1": {}}
    state = state_after(
        observation_event(1, 2),
        *predictions(1, {"node-0": 0.8, "node-1": 0.1}, {"node-0": 0.5, "node-1": 0.4}),
        observation_event(2, ill),
    )
    assert forecasts(state) == []
    (one,) = forecasts(state_after(observation_event(3, 2), state=state))
    assert one.risk is not None
    assert (one.risk.targets, one.risk.positives, one.risk.brier) == (2, 1, 0.025)
    assert (one.cycle, one.observed_cycle, one.uncertain_targets) == (1, 3, ())


def test_a_prediction_that_comes_after_its_score_is_not_scored_again() -> None:
    """A demand prediction stored after its cycle was scored for risk makes no second score."""
    risk, demand = predictions(1, {"n1": 0.9}, {"n1": 0.5})
    later = [observation_event(cycle) for cycle in range(2, 7)]
    settled = state_after(observation_event(1), risk, *later)
    assert [forecast.cycle for forecast in forecasts(settled)] == [1]

    late = state_after(demand, *(observation_event(cycle) for cycle in range(7, 12)), state=settled)

    assert [forecast.cycle for forecast in forecasts(late)] == [1]


def test_a_long_horizon_does_not_reopen_what_a_shorter_one_settled() -> None:
    """An older forecast that closes later leaves the newest settled cycle as it was."""
    far = stamp_event(make_risk({"node-0": 0.9}, cycle=1, horizon_seconds=30.0))
    near = stamp_event(make_demand({"node-0": 0.5}, cycle=2, horizon_seconds=10.0))
    settled = state_after(
        observation_event(1),
        far,
        observation_event(2),
        near,
        observation_event(3),
        observation_event(4),
    )
    assert sorted(forecast.cycle for forecast in forecasts(settled)) == [1, 2]

    late = stamp_event(make_risk({"node-0": 0.9}, cycle=2, horizon_seconds=10.0))

    assert state_after(late, state=settled).forecasts == ()


def test_what_failed_before_the_prediction_is_no_outcome() -> None:
    """The observation that was predicted from does not count as the outcome."""
    state = state_after(
        observation_event(1, {"node-0": {"ready": False}}), *predictions(1, {"node-0": 0.9}, {})
    )
    (one,) = forecasts(state_after(observation_event(2), observation_event(3), state=state))
    assert one.risk is not None
    assert (one.risk.positives, one.risk.brier) == (0, 0.81)


def test_a_demand_forecast_is_scored_at_the_horizons_end() -> None:
    """Errors are observed minus predicted: 0.18 - 0.2 and 0.45 - 0.4 at the third observation."""
    (one,) = forecasts(
        state_after(
            observation_event(1, 2),
            *predictions(1, {}, {"node-0": 0.2, "node-1": 0.4}),
            observation_event(2, 2),
            observation_event(3, {"node-0": CALM, "node-1": {}}),
        )
    )
    assert one.demand is not None
    assert (one.demand.mean_error_ratio, one.demand.mean_absolute_error_ratio) == (0.015, 0.035)


@pytest.mark.parametrize(
    ("fields", "uncertain"),
    [
        ({}, ("node-0",)),
        ({"phase": ExecutionPhase.REFUSED}, ()),
        ({"mode": Mode.SHADOW}, ()),
        ({"cluster_time_seconds": 1.0}, ()),
    ],
)
def test_what_was_acted_upon_is_left_out(
    fields: dict[str, Any], uncertain: tuple[str, ...]
) -> None:
    """A node that an execution really changed in the window is uncertain; others are scored."""
    action = make_action("safety", ActionKind.THROTTLE, "node-0")
    (one,) = forecasts(
        state_after(
            observation_event(1, 2),
            *predictions(1, {"node-0": 0.9, "node-1": 0.1}, {"node-0": 0.5}),
            stamp_event(make_execution(action, **fields)),
            observation_event(3, 2),
        )
    )
    assert one.risk is not None
    assert one.demand is not None
    assert one.uncertain_targets == uncertain
    assert (one.risk.targets, one.risk.uncertain) == (2 - len(uncertain), len(uncertain))
    assert one.risk.brier == (0.01 if uncertain else 0.41)
    assert one.demand.targets == 1 - len(uncertain)


@pytest.mark.parametrize(
    ("seconds_before", "uncertain"), [(5.0, ("node-0",)), (20.0, ("node-0",)), (21.0, ())]
)
def test_what_was_acted_upon_a_horizon_ago_is_still_left_out(
    seconds_before: float, uncertain: tuple[str, ...]
) -> None:
    """What was done is at work in the whole window of a prediction that was made up to one horizon, 20 s, later."""
    action = make_action("safety", ActionKind.THROTTLE, "node-0")
    made_seconds = cycle_time(3)
    earlier = predictions(1, {"node-0": 0.9}, {})
    (one,) = [
        outcome
        for outcome in forecasts(
            state_after(
                observation_event(1, 2),
                *earlier,
                observation_event(2, 2),
                stamp_event(
                    make_execution(action, cluster_time_seconds=made_seconds - seconds_before)
                ),
                observation_event(3, 2),
                *predictions(3, {"node-0": 0.9, "node-1": 0.1}, {"node-0": 0.5}),
                observation_event(5, 2),
            )
        )
        if outcome.cycle == 3
    ]
    assert one.uncertain_targets == uncertain


def test_a_node_that_has_gone_is_left_out() -> None:
    """Nobody knows how a removed node would have done."""
    state = state_after(
        observation_event(1, 2), *predictions(1, {"node-0": 0.1, "node-1": 0.3}, {})
    )
    (one,) = forecasts(state_after(observation_event(3, 1), state=state))
    assert one.uncertain_targets == ("node-1",)


def test_a_skipped_prediction_is_said_to_be_skipped() -> None:
    """Its outcome holds the reason and no score."""
    skipped: dict[str, Any] = {"status": "skipped", "reason": Reason.STALE_SIGNAL, **HORIZON}
    (one,) = forecasts(
        state_after(
            observation_event(1),
            stamp_event(make_risk({}, **skipped)),
            stamp_event(make_demand({}, **skipped)),
            observation_event(3),
        )
    )
    assert (one.risk, one.demand, one.reason) == (None, None, Reason.PREDICTION_SKIPPED)


def test_a_large_cluster_is_sampled() -> None:
    """At most as many nodes as set are kept, evenly spaced over the sorted names."""
    small = build(ScoreboardSettings(forecast_targets=2), ORIGIN)
    state = small.initial()
    ratios = {f"node-{number}": 0.1 for number in range(5)}
    for event in [observation_event(1, 5), *predictions(1, ratios, ratios)]:
        state = small.evolve(state, event)
    (pending,) = state.forecasts
    assert pending.risk is not None
    assert pending.risk.ids == ("node-0", "node-3")


def chain() -> list[Event[Any]]:
    """Return five cycles with everything in them; observations are a keyframe and deltas."""
    events: list[Event[Any]] = []
    full: FullState | None = None
    action = make_action("efficiency", ActionKind.DVFS, "node-1", clock_scale_ratio=0.65)
    for cycle in range(1, 6):
        rows = {"node-0": {}, "node-1": {"cpu_requested_ratio": 0.1 * cycle}}
        data = make_observation(rows, cycle=cycle, previous=full)
        full = apply_frame(full, data)
        events += [stamp_event(data), *predictions(cycle, {"node-0": 0.3}, {"node-1": 0.2})]
        events.append(decision_event(cycle, action=action))
        events.append(stamp_event(make_execution(action, cycle=cycle)))
    return events


def test_what_the_log_holds_is_not_said_again() -> None:
    """After its own outcomes the handler is silent, and owes each of them exactly once."""
    state, said = HANDLER.initial(), []
    for event in chain():
        state = HANDLER.evolve(state, event)
        for new_event in HANDLER.decide(state, overdue=False):
            said.append((new_event.data.TYPE, new_event.cycle))
            state = HANDLER.evolve(state, stamp_event(new_event.data, cycle=new_event.cycle))
        assert HANDLER.decide(state, overdue=False) == ()
        assert HANDLER.open_cycle(state) is None
    assert sorted(said) == [
        *((OutcomeForecast.TYPE, cycle) for cycle in (1, 2, 3)),
        *((OutcomeReward.TYPE, cycle) for cycle in (1, 2, 3, 4)),
    ]


def test_the_state_survives_json_at_every_step() -> None:
    """A checkpoint of any state restores that state."""
    state = HANDLER.initial()
    for event in chain():
        state = HANDLER.evolve(state, event)
        assert ScoreboardState.model_validate(state.model_dump(mode="json")) == state


def test_what_waits_is_bounded() -> None:
    """However many cycles wait, no more than set are kept."""
    small = build(ScoreboardSettings(keep_cycles=3), ORIGIN)
    state = small.initial()
    for cycle in range(1, 20):
        state = small.evolve(state, observation_event(cycle))
        for event in predictions(cycle, {"node-0": 0.1}, {"node-0": 0.1}):
            state = small.evolve(state, event)
        if cycle % 2:
            state = small.evolve(state, decision_event(cycle))
    waiting = (state.befores, state.decisions, state.forecasts)
    assert all(len(rows) <= 3 for rows in waiting)
    assert len(state.owed) <= 6
