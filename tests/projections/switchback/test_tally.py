"""The switchback's estimate: what counts, what it adds up to, and how often its interval is right."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from projections.switchback.schedule import CLUSTER, SwitchbackSettings, acts_first
from projections.switchback.tally import (
    ClosedPair,
    SwitchbackEffect,
    SwitchbackTally,
    add_step,
    effect_of,
)

STEP = 10.0
HOUR = 3_600.0


def schedule(**fields: Any) -> SwitchbackSettings:
    """Return a schedule of minutes, of which a third is washed out."""
    return SwitchbackSettings(
        **{"unit": "time", "block_seconds": 60, "wash_out_seconds": 20} | fields
    )


def tally_of(
    drawn: SwitchbackSettings, rates: dict[int, float], *, step: float = STEP, begin: float = 0.0
) -> tuple[SwitchbackTally, list[ClosedPair]]:
    """Return the tally over blocks with these rates of money per hour, and the pairs that were closed."""
    tally, closed = SwitchbackTally(), []
    end_of_all = (max(rates) + 1) * drawn.block_seconds + step
    moment = begin
    while moment < end_of_all:
        money = rates.get(drawn.block_at(moment), 0.0) * step / HOUR
        tally, pair = add_step(tally, moment, moment + step, money, drawn)
        closed += [] if pair is None else [pair]
        moment += step
    return tally, closed


def rates_of(
    drawn: SwitchbackSettings, pairs: int, acting: float, holding: float
) -> dict[int, float]:
    """Return the rate of each block where acting and holding are worth this."""
    return {block: acting if drawn.acts(block) else holding for block in range(2 * pairs)}


def test_the_estimate_is_acting_minus_holding_whichever_came_first() -> None:
    """Without noise every pair says the same, and the interval is that one value."""
    drawn = schedule(seed=5)
    assert len({acts_first(5, pair, CLUSTER) for pair in range(6)}) == 2
    tally, closed = tally_of(drawn, rates_of(drawn, 6, acting=3.0, holding=1.0))
    effect = effect_of(tally)
    assert effect is not None
    assert (effect.per_hour, effect.low, effect.high) == pytest.approx((2.0, 2.0, 2.0))
    assert [pair.number for pair in closed] == list(range(6))
    assert tally.used == 6


def test_the_wash_out_and_steps_across_a_boundary_do_not_count() -> None:
    """Of each block of a minute only the 40 s after the wash-out are scored, in steps that lie within."""
    drawn = schedule()
    rates = {0: 1.0, 1: 1.0}
    _, (whole,) = tally_of(drawn, rates)
    assert (whole.first.seconds, whole.second.seconds) == (40.0, 40.0)
    _, (shifted,) = tally_of(drawn, rates, begin=5.0)  # 25 to 55: one step crosses each end
    assert (shifted.first.seconds, shifted.second.seconds) == (30.0, 30.0)


def test_what_happens_in_the_wash_out_changes_nothing() -> None:
    """The effect of the block before fades there."""
    drawn = schedule()
    tally, pair = SwitchbackTally(), None
    for moment in range(0, 130, 10):
        money = 100.0 if moment % 60 < 20 else 1.0
        tally, pair = add_step(tally, moment, moment + 10.0, money, drawn)
        if pair is not None:
            break
    assert pair is not None
    assert (pair.first.money, pair.second.money) == (4.0, 4.0)


def test_a_pair_of_which_too_little_was_scored_is_left_out() -> None:
    """A stack that starts or stops within a block cannot speak for it."""
    drawn = schedule()
    late, _ = tally_of(drawn, dict.fromkeys(range(4), 1.0), begin=50.0)
    assert (late.used, late.left_out) == (1, 1)
    in_time, _ = tally_of(drawn, dict.fromkeys(range(4), 1.0), begin=40.0)
    assert (in_time.used, in_time.left_out) == (2, 0)


def test_an_outage_leaves_out_its_pairs_and_no_others() -> None:
    """A step over many blocks belongs to none of them."""
    drawn = schedule()
    tally, _ = tally_of(drawn, dict.fromkeys(range(2), 1.0))
    tally, pair = add_step(tally, 130.0, 1_000.0, 50.0, drawn)
    assert (pair, tally.used) == (None, 1)
    moment = 1_080.0
    while moment < 1_210.0:
        tally, pair = add_step(tally, moment, moment + STEP, 1.0, drawn)
        moment += STEP
    assert (tally.used, tally.left_out) == (2, 0)


def test_two_pairs_make_an_interval_one_does_not() -> None:
    """The interval is that of a mean of two: 12.706 standard errors to each side."""
    drawn = schedule(seed=5)
    one, _ = tally_of(drawn, rates_of(drawn, 1, 3.0, 1.0))
    assert effect_of(one) == SwitchbackEffect(pytest.approx(2.0), None, None)  # type: ignore[arg-type]
    assert effect_of(SwitchbackTally()) is None
    rates = rates_of(drawn, 2, 3.0, 1.0) | ({2: 5.0} if drawn.acts(2) else {3: 5.0})
    two, _ = tally_of(drawn, rates)
    effect = effect_of(two)
    assert effect is not None
    assert effect.low is not None
    assert effect.per_hour == pytest.approx(3.0)  # of 2 and 4
    assert effect.per_hour - effect.low == pytest.approx(12.7062, abs=1e-3)


def with_carry_over(
    drawn: SwitchbackSettings, seed: int, pairs: int, effects: dict[str, float]
) -> SwitchbackEffect:
    """Return the estimate of a world whose effects build up and fade with a time constant of 8 s.

    Its level walks by chance and its steps are noisy, so that blocks differ for other reasons, too.
    """
    random, level = Random(seed), 40.0
    reached = dict.fromkeys(drawn.units, 0.0)
    tally = SwitchbackTally()
    for moment in range(0, int(2 * pairs * drawn.block_seconds) + 10, 10):
        level += random.gauss(0.0, 0.3)
        for unit in drawn.units:
            wanted = effects[unit] * drawn.acts(drawn.block_at(moment), unit)
            reached[unit] += (wanted - reached[unit]) * (1.0 - math.exp(-STEP / 8.0))
        rate = level + math.fsum(reached.values()) + random.expovariate(1.0) - 1.0
        tally, _ = add_step(tally, float(moment), moment + STEP, rate * STEP / HOUR, drawn)
    effect = effect_of(tally)
    assert effect is not None
    return effect


@pytest.mark.parametrize(
    "fields",
    [{}, {"unit": "namespace", "namespaces": ("shop", "batch")}],
    ids=["time", "namespace"],
)
def test_intervals_contain_a_known_effect_about_as_often_as_they_say(
    fields: dict[str, Any],
) -> None:
    """Over 200 made-up worlds with carry-over and drift, 92 to 98 % of the 95 % intervals are right."""
    effects = {CLUSTER: 1.5, "shop": -0.5, "batch": 1.0}
    hits, estimates = 0, []
    for seed in range(200):
        drawn = schedule(seed=seed, **fields)
        true = math.fsum(effects[unit] for unit in drawn.units)
        effect = with_carry_over(drawn, seed, 12, effects)
        assert effect.low is not None
        assert effect.high is not None
        hits += effect.low <= true <= effect.high
        estimates.append(effect.per_hour - true)
    assert 0.92 <= hits / 200 <= 0.98
    assert abs(math.fsum(estimates) / 200) < 0.1


def test_without_a_wash_out_carry_over_pulls_the_estimate_towards_nothing() -> None:
    """What the wash-out is for: the same worlds without it miss more than a twentieth of the effect."""
    estimates = [
        with_carry_over(schedule(seed=seed, wash_out_seconds=0), seed, 12, {CLUSTER: 10.0}).per_hour
        for seed in range(60)
    ]
    assert math.fsum(estimates) / 60 < 9.5
