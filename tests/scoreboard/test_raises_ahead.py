"""What came of raises that rest on a forecast: the lead, whether foresight was right, and its value."""

from __future__ import annotations

import pytest

from schemas.foresight_score import AheadScore, AheadTotals, ahead_text, ahead_totals_text
from schemas.outcome import Mode
from services.scoreboard.raise_ahead import SEEN_LOOKS
from services.scoreboard.state import ScoreboardState
from tests.scoreboard.foresight_world import (
    BEGIN_SECONDS,
    LEAD_SECONDS,
    LOOK_SECONDS,
    MODEL,
    PRICES,
    ForesightWorld,
)

REPLICA_HOUR = PRICES.core_hour + PRICES.memory_gib_hour


def raised(*, ready_after: float, rate: float = 60.0, until: float = 1_500.0) -> ForesightWorld:
    """Play a raise from four to seven replicas, ready so many seconds later, and a rate from 300 s later on."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7)
    elapsed = 0.0
    while elapsed < until:
        if elapsed >= ready_after:
            world.ready = 7
        world.see(rate if elapsed >= 300.0 else 36.0, LOOK_SECONDS)
        elapsed += LOOK_SECONDS
    return world


def scored(world: ForesightWorld) -> tuple[AheadScore, AheadTotals]:
    """Return what was said of the only raise."""
    (data,) = world.of_part("action")
    assert (data.model_id, data.decision_part, data.key()) == (MODEL, 0, "action-0")
    assert isinstance(data.action, AheadScore)
    assert isinstance(data.actions_so_far, AheadTotals)
    return data.action, data.actions_so_far


def test_replicas_that_were_ready_before_the_rise_have_a_lead_and_a_value() -> None:
    """Ready after two minutes, five before the rate passed what four bear: a lead of three, and minutes spared."""
    score, so_far = scored(raised(ready_after=120.0))

    assert score.right
    assert score.rise_seconds == BEGIN_SECONDS + 300.0 + 300.0
    assert score.lead_seconds == pytest.approx(180.0 - LOOK_SECONDS, abs=LOOK_SECONDS)
    reacted = LEAD_SECONDS + SEEN_LOOKS * LOOK_SECONDS
    assert (
        score.spared_seconds == reacted // 60.0 * 60.0
    )  # whole minutes until reacting would have had an effect
    assert score.extra_replica_seconds == 3 * (300.0 + score.spared_seconds)
    spared = PRICES.slo_service_minute * score.spared_seconds / 60.0
    extra = REPLICA_HOUR * score.extra_replica_seconds / 3_600.0
    assert score.value == pytest.approx(spared - extra, abs=1e-5)
    assert (so_far.actions, so_far.right, so_far.in_time) == (1, 1, 1)
    assert so_far.value == score.value


def test_replicas_that_came_late_have_a_lead_below_zero() -> None:
    """Ready two minutes after the rise: requests failed until then, so less is spared."""
    early, _ = scored(raised(ready_after=120.0))
    late, so_far = scored(raised(ready_after=420.0))

    assert late.lead_seconds is not None
    assert late.lead_seconds == pytest.approx(-120.0, abs=LOOK_SECONDS)
    assert late.right
    assert so_far.in_time == 0
    assert late.spared_seconds < early.spared_seconds
    assert "after the rise" in ahead_text(late)


def test_a_rise_that_did_not_come_has_no_lead_and_costs_the_replicas() -> None:
    """Until the end of the time that the effect was expected in: a quarter of an hour of three replicas."""
    score, so_far = scored(raised(ready_after=120.0, rate=36.0))

    assert (score.right, score.rise_seconds, score.lead_seconds) == (False, None, None)
    assert score.spared_seconds == 0.0
    assert score.value == pytest.approx(-3 * REPLICA_HOUR * 0.25, abs=1e-5)
    assert (so_far.actions, so_far.right) == (1, 0)
    assert "the rise did not come" in ahead_text(score)
    assert "right in 0 of 1 actions" in ahead_totals_text(MODEL, so_far)


def test_what_would_have_been_wanted_anyway_is_not_its_merit() -> None:
    """Where six of seven would have been wanted without it only a rate above what six bear is spared by it."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7, without=6)
    world.ready = 7
    world.see(58.0, 1_000.0)
    score, _ = scored(world)

    assert (score.replicas_without, score.right) == (6, True)
    assert score.spared_seconds == 0.0
    assert score.value == pytest.approx(
        -REPLICA_HOUR * score.extra_replica_seconds / 3_600.0, abs=1e-5
    )


def test_what_few_replicas_bore_is_not_spared_by_those_that_never_came() -> None:
    """Four bore what they were not taken to bear, and no further one was ready: nothing is spared, and it is late."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7, replica_rate=8.0)
    world.see(39.0, 1_500.0)
    score, _ = scored(world)

    assert score.right is False  # no more than a quarter of the way up
    assert score.spared_seconds == 0.0
    assert score.ready_seconds is None


def test_a_gap_makes_an_action_count_for_nothing() -> None:
    """Five minutes without the Service: nobody knows whether the rise came, so it is neither right nor wrong."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7)
    world.see(36.0, 300.0, counted=False)
    world.see(36.0, 900.0)
    score, so_far = scored(world)

    assert score.right is None
    assert (so_far.actions, so_far.unseen, so_far.value) == (0, 1, 0.0)


def test_what_was_spared_counts_once() -> None:
    """Of two raises in a row the second alone spares what the first one's replicas do not bear either."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7)
    world.see(36.0, LOOK_SECONDS)
    world.raise_ahead(9)
    world.ready = 9
    world.see(36.0, 225.0)  # until a minute ends
    world.see(80.0, 900.0)
    first, second = (data.action for data in world.of_part("action"))

    assert (first.replicas_without, second.replicas_without) == (4, 7)
    assert first.spared_seconds == 0.0
    assert second.spared_seconds > 0.0


def test_a_raise_in_shadow_mode_is_none() -> None:
    """What the executor only pretends to do is not followed."""
    world = ForesightWorld()
    world.see(36.0, 300.0)
    world.foresee(60.0)
    world.raise_ahead(7, mode=Mode.SHADOW)
    world.see(60.0, 1_500.0)

    assert world.of_part("action") == []


def test_a_restart_goes_on() -> None:
    """State as text and back at every look: the same score."""
    plain, again = ForesightWorld(), ForesightWorld()
    for world in (plain, again):
        world.see(36.0, 300.0)
        world.foresee(60.0)
        world.raise_ahead(7)
        world.ready = 7
        for _ in range(80):
            world.see(60.0, LOOK_SECONDS)
            if world is again:
                stored = world.state.model_dump_json()
                world.state = ScoreboardState.model_validate_json(stored)

    assert scored(plain) == scored(again)
