"""How many replicas a band of demand is worth, and what it refuses to say."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.agents.safety.ahead import (
    LEVELS,
    RateBand,
    ReplicaRate,
    Stakes,
    backlog_ratio,
    bands_in_reach,
    chance_above,
    cheapest_number,
)

SURE = ReplicaRate(10.0, 10.0, 10.0)
STAKES = Stakes(outside_objective=3.0, replica=0.05)


def band(horizon_seconds: float, *quantiles: float) -> RateBand:
    """Return a band; one number is a band without width."""
    return RateBand(horizon_seconds, quantiles if len(quantiles) > 1 else quantiles * len(LEVELS))


def normal(middle: float, sigma: float, horizon_seconds: float = 600.0) -> RateBand:
    """Return the band of a normal distribution."""
    z = (-1.6449, -1.2816, 0.0, 1.2816, 1.6449)
    return band(horizon_seconds, *(middle + sigma * each for each in z))


def test_quantiles_are_exceeded_as_often_as_they_say() -> None:
    """At each quantile the chance is what is left above its level; without a width all or nothing."""
    wide = normal(100.0, 20.0)
    for level, rate in zip(LEVELS, wide.quantiles, strict=True):
        assert chance_above(wide, rate) == pytest.approx(1.0 - level, abs=1e-4)
    assert chance_above(wide, 160.0) == pytest.approx(0.00135, rel=0.02)
    assert [chance_above(band(300, 50.0), rate) for rate in (49.9, 50.0, 50.1)] == [1.0, 0.0, 0.0]


@given(
    values=st.lists(st.floats(0.0, 1e6), min_size=5, max_size=5).map(sorted),
    rates=st.lists(st.floats(0.0, 2e6), min_size=2, max_size=9).map(sorted),
)
def test_a_higher_rate_is_never_exceeded_more_often(
    values: list[float], rates: list[float]
) -> None:
    """For any quantiles, equal ones included, the chance is one and falls with the rate."""
    chances = [chance_above(band(300, *values), rate) for rate in rates]
    assert all(0.0 <= chance <= 1.0 for chance in chances)
    assert all(after <= before + 1e-9 for before, after in pairwise(chances))


def test_the_prices_choose_the_quantile() -> None:
    """Dear shortfalls make ready for the high end, cheap ones for less; nothing beyond what they are worth."""
    demand = [normal(100.0, 20.0)]
    dear = cheapest_number(demand, SURE, STAKES, now=10, least=1, most=40)
    cheap = cheapest_number(demand, SURE, Stakes(0.2, 0.05), now=10, least=1, most=40)
    worthless = cheapest_number(demand, SURE, Stakes(0.0, 0.05), now=10, least=2, most=40)
    assert dear is not None
    assert cheap is not None
    assert worthless is not None
    assert (dear.replicas, dear.chance_before) == (14, pytest.approx(0.5))
    assert dear.chance_after == pytest.approx(0.0228, rel=0.05)
    assert worthless.replicas == 2
    assert worthless.replicas < cheap.replicas < dear.replicas
    near = [chance_above(demand[0], 10.0 * n) * 3.0 + 0.05 * n for n in (13, 14, 15)]
    assert near[1] == min(near)


def test_a_rush_that_cannot_be_served_whole_is_served_as_far_as_may_be() -> None:
    """With too few replicas allowed the violation is sure, but what waits is more with fewer of them."""
    rush = cheapest_number([normal(500.0, 20.0)], SURE, STAKES, now=10, least=1, most=20)
    assert rush is not None
    assert (rush.replicas, rush.chance_after) == (20, pytest.approx(1.0))


def test_bounds_hold_and_doubt_of_a_replica_asks_for_more() -> None:
    """Never outside the bounds; who does not know what a replica bears is ready for the case that it bears less."""
    demand = [normal(100.0, 5.0)]
    unsure = cheapest_number(demand, ReplicaRate(6.0, 10.0, 14.0), STAKES, now=8, least=1, most=40)
    sure = cheapest_number(demand, SURE, STAKES, now=8, least=1, most=40)
    capped = cheapest_number(demand, SURE, STAKES, now=8, least=1, most=9)
    assert unsure is not None
    assert sure is not None
    assert capped is not None
    assert (capped.replicas, sure.replicas < unsure.replicas) == (9, True)
    assert (
        cheapest_number(demand, ReplicaRate(0.0, 10.0, 14.0), STAKES, now=8, least=1, most=9)
        is None
    )
    assert cheapest_number([], SURE, STAKES, now=8, least=1, most=9) is None
    assert cheapest_number(demand, SURE, STAKES, now=8, least=9, most=8) is None


@given(
    st.floats(1.0, 900.0),
    st.floats(0.0, 300.0),
    st.floats(0.01, 30.0),
    st.floats(0.001, 5.0),
    st.integers(1, 12),
)
def test_the_number_is_the_cheapest_of_all(
    middle: float, sigma: float, price: float, replica: float, least: int
) -> None:
    """Each number tried by itself costs no less, the smaller of two that cost the same is taken."""
    bands = [normal(middle, sigma), normal(1.4 * middle, sigma, 1800.0)]
    bears, stakes = ReplicaRate(20.0, 25.0, 30.0), Stakes(price, replica)

    def cost(replicas: int) -> float:
        alone = cheapest_number(bands, bears, stakes, now=1, least=replicas, most=replicas)
        assert alone is not None
        backlog = math.fsum(backlog_ratio(one, 25.0 * replicas) for one in bands) / len(bands)
        return price * (alone.chance_after + backlog) + replica * replicas

    number = cheapest_number(bands, bears, stakes, now=1, least=least, most=least + 60)
    assert number is not None
    assert number.replicas == min(range(least, least + 61), key=cost)


def test_only_what_replicas_can_still_change_counts() -> None:
    """From the lead time to the end of the hold; where bands end before the lead time, the furthest one."""
    bands = [band(each, 1.0) for each in (3600, 300, 600, 900, 1800)]

    def reach(lead: float, hold: float) -> list[float]:
        return [each.horizon_seconds for each in bands_in_reach(bands, lead, hold)]

    assert reach(120, 600) == [300, 600]
    assert reach(301, 600) == [600, 900]
    assert reach(1000, 60) == [1800]
    assert reach(7200, 600) == [3600]
    assert bands_in_reach([], 60, 60) == ()


def test_a_foreseen_rise_within_reach_raises_now() -> None:
    """Flat for five minutes and three times as much in ten: the number is that of the rise, and says when it comes."""
    bands = [normal(50.0, 3.0, 300.0), normal(150.0, 10.0, 600.0)]
    number = cheapest_number(bands_in_reach(bands, 90, 900), SURE, STAKES, now=6, least=6, most=60)
    assert number is not None
    assert number.horizon_seconds == 600.0
    assert 16 <= number.replicas <= 19
    assert math.isclose(number.rate, 10.0 * number.replicas)
