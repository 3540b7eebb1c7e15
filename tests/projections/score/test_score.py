"""The outcome score: hand-computed examples, and what must hold of any cluster."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.score.money import UNITS, difference_of, priced_components, score_of
from projections.score.prices import ScorePrices
from projections.score.tally import Levels, Tally, score_input_of
from schemas.score import OutcomeScore
from schemas.signals import SignalStatus
from schemas.view import ObservationView, update_view
from schemas.work import WorkCounters
from tests.builders import GIB, make_observation, stamp_event
from tests.projections.score.score_builders import PRICES, make_look, service, tally_of

HOUR = 3_600.0
FEW = settings(max_examples=25)
FREE = ScorePrices(
    **{
        name: 0.0
        for name, field in ScorePrices.model_fields.items()
        if field.annotation is float and not name.startswith("slo_")
    }
    | {"energy_kwh": 0.0, "slo_service_minute": 0.0}
)
"""Nothing earns, nothing costs."""


def amounts(score: OutcomeScore) -> dict[str, float]:
    """Return the totals by component."""
    return {component.name: component.total for component in score.components}


def test_an_hour_of_ten_nodes_costs_its_cores_memory_and_energy() -> None:
    """40 core-hours, 160 GiB-hours and 1 kWh: -(40 x 0.031611 + 160 x 0.004237 + 0.1) = -2.04236 USD."""
    score = score_of(tally_of(make_look(0.0), make_look(HOUR)), PRICES)
    found = amounts(score)
    assert (found["nodes"], found["cores"], found["memory"], found["energy"]) == (10, 40, 160, 1)
    assert score.total_money == pytest.approx(-2.04236)
    assert score.total_money_per_hour == score.step_money_per_hour == score.total_money


def test_served_requests_earn_and_others_cost() -> None:
    """2 million served, half a million failed, a quarter lost, in a minute that violates the SLO.

    A million requests of 0.02 CPU-seconds: 0.2 + 20,000 / 3,600 x 0.04048 = 0.424889 USD.
    """
    before = make_look(0.0, levels=Levels(), services=(service(),))
    after = make_look(
        60.0, levels=Levels(), services=(service(served=2e6, failed=5e5, lost=2.5e5),)
    )
    score = score_of(tally_of(before, after), PRICES)
    assert amounts(score)["slo_services"] == 1.0
    expected = 2 * 0.424889 - 0.5 * 0.2 - 0.25 * 0.4 - 0.05
    assert score.total_money == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("counts", "violated"),
    [
        ({"served": 1_000.0}, 0.0),
        ({"served": 990.0, "failed": 10.0}, 0.0),
        ({"served": 989.0, "failed": 11.0}, 1.0),
        ({"served": 989.0, "lost": 11.0}, 1.0),
        ({"served": 1_000.0, "fast": 989.0}, 1.0),
        ({}, 0.0),
    ],
)
def test_a_service_violates_its_slo_beyond_one_bad_request_in_a_hundred(
    counts: dict[str, float], violated: float
) -> None:
    """Failed, lost and slow requests are bad; without requests nothing is violated."""
    tally = tally_of(
        make_look(0.0, services=(service(),)), make_look(60.0, services=(service(**counts),))
    )
    assert tally.step["slo_services"] == violated


def test_jobs_earn_the_cpu_time_that_came_to_an_end() -> None:
    """Five CPU-hours done earn 5 x 0.04048; a dropped Job costs 0.05, nine lost hours 9 x 0.031611."""
    before = make_look(0.0, levels=Levels())
    done = {"job_cpu_seconds_done": 5 * HOUR, "job_cpu_seconds_lost": 9 * HOUR}
    after = make_look(1.0, levels=Levels(), jobs_completed=4, jobs_dropped=1, **done)
    score = score_of(tally_of(before, after), PRICES)
    assert amounts(score)["job_cpu_lost"] == 9.0
    assert score.total_money == pytest.approx(5 * 0.04048 - 0.05 - 9 * 0.031611)


def test_waiting_costs_by_class_and_held_demand_twice_as_much() -> None:
    """An hour of class gold at factor 10 costs 0.2, one without class 0.02, one held back 0.04."""
    prices = PRICES.model_copy(update={"waiting_class_factors": {"gold": 10.0}})
    before = make_look(0.0, levels=Levels())
    waiting = {"gold": HOUR, "none": HOUR}
    after = make_look(
        1.0, levels=Levels(), waiting_pod_seconds=waiting, held_pod_seconds=HOUR, evictions=3
    )
    score = score_of(tally_of(before, after), prices)
    assert score.total_money == pytest.approx(-(0.2 + 0.02 + 0.04 + 3 * 0.002))


def test_hiding_a_queue_never_pays() -> None:
    """A pod-hour held back or overdue costs at least what a pod-hour of waiting does."""
    assert PRICES.held_pod_hour >= PRICES.waiting_pod_hour + PRICES.overdue_pod_hour
    assert PRICES.job_dropped > 0


def test_levels_that_are_not_shown_go_on() -> None:
    """An API server that does not answer makes no machine free of charge."""
    shown, hidden = make_look(0.0), make_look(HOUR, levels=None)
    score = score_of(tally_of(shown, hidden, make_look(2 * HOUR)), PRICES)
    assert amounts(score)["cores"] == 80.0
    assert score_of(tally_of(shown, hidden), PRICES).missing == ("nodes",)


def test_counters_that_are_not_shown_are_made_up_for_and_new_ones_begin_anew() -> None:
    """A gap of the metrics loses nothing; a Service that was made anew counts from zero."""
    gap = {"services": None, "job_cpu_seconds_done": None}
    looks = (
        make_look(0.0, services=(service(served=5.0),)),
        make_look(1.0, **gap),
        make_look(2.0, services=(service(served=9e6),), job_cpu_seconds_done=HOUR),
        make_look(3.0, services=(service(served=1e6),), job_cpu_seconds_done=HOUR),
    )
    total = tally_of(*looks).total
    assert total["requests_served"] == pytest.approx(10.0 - 5e-6)
    assert total["job_cpu_done"] == 1.0


def test_a_bad_objective_or_factor_is_refused() -> None:
    """Latencies are counted within fixed bounds, and no class earns by waiting."""
    with pytest.raises(ValueError, match=r"slo_latency_seconds: use one of 0\.005"):
        ScorePrices(slo_latency_seconds=0.3)
    with pytest.raises(ValueError, match="waiting_class_factors: give 'gold' 0 or more"):
        ScorePrices(waiting_class_factors={"gold": -1.0})


def test_every_price_moves_the_score_one_way() -> None:
    """Each component's price has a setting, and no component is shown without a price."""
    names = {component.name for component in priced_components(tally_of(make_look(0.0)), PRICES)}
    assert names == set(UNITS)
    assert score_of(tally_of(make_look(0.0), make_look(HOUR)), FREE).total_money == 0.0


EARNS = (
    "request_served_million",
    "request_cpu_hour",
    "request_cpu_seconds",
    "job_completed",
    "job_cpu_hour_done",
)
COSTS_MORE = (
    *("request_failed_million", "request_lost_million", "job_failed", "job_dropped", "job_cpu_hour_lost"),
    *("waiting_pod_hour", "overdue_pod_hour", "held_pod_hour", "slo_service_minute", "eviction", "restart"),
    *("node_hour", "core_hour", "memory_gib_hour", "energy_kwh"),
)  # fmt: skip


def _eventful() -> Tally:
    """Return an hour in which some of everything happened."""
    counts = dict.fromkeys(COUNTERS, 3)
    requests = service(served=2e6, failed=5e5, lost=2.5e5)
    waiting = {"gold": HOUR, "none": HOUR}
    after = make_look(HOUR, services=(requests,), waiting_pod_seconds=waiting, **counts)
    return tally_of(make_look(0.0, services=(service(),)), after)


@pytest.mark.parametrize("price", [*EARNS, *COSTS_MORE, "waiting_class_factors"])
def test_each_price_moves_the_score_in_its_direction(price: str) -> None:
    """What is worth more raises the score, and what costs more lowers it, each by itself."""
    higher: Any = {"gold": 2.0} if price == "waiting_class_factors" else 7.0
    prices = PRICES.model_copy(update={price: higher})
    moved = score_of(_eventful(), prices).total_money - score_of(_eventful(), PRICES).total_money
    assert moved > 0.0 if price in EARNS else moved < 0.0
    named = {"currency", "slo_latency_seconds", "slo_bad_ratio", "waiting_class_factors"}
    assert {*EARNS, *COSTS_MORE} == set(ScorePrices.model_fields) - named


# ---- what must hold of any cluster

COUNTERS = (
    "jobs_completed",
    "jobs_failed",
    "jobs_dropped",
    "evictions",
    "restarts",
    "overdue_pod_seconds",
    "held_pod_seconds",
    "job_cpu_seconds_done",
    "job_cpu_seconds_lost",
)
COSTS = frozenset(COUNTERS) - {"jobs_completed", "job_cpu_seconds_done"}
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "seconds": st.integers(1, 1_000),
            "nodes": st.integers(0, 50),
            "served": st.integers(0, 10**6),
            "lost": st.integers(0, 10**6),
            **{name: st.integers(0, 1_000) for name in COUNTERS},
        }
    ),
    min_size=1,
    max_size=6,
)


def looks_of(steps: list[dict[str, int]]) -> list[Any]:
    """Return looks whose counters rise by the steps."""
    looks = [make_look(0.0, levels=_levels(3), services=(service(),))]
    for number, step in enumerate(steps, start=1):
        so_far = steps[:number]
        counters = {name: sum(one[name] for one in so_far) for name in COUNTERS}
        requests = {name: float(sum(one[name] for one in so_far)) for name in ("served", "lost")}
        looks.append(
            make_look(
                float(sum(one["seconds"] for one in so_far)),
                levels=_levels(step["nodes"]),
                services=(service(**requests),),
                **counters,
            )
        )
    return looks


def _levels(nodes: int) -> Levels:
    return Levels(nodes=nodes, cores=4.0 * nodes, memory_gib=16.0 * nodes, watts=100.0 * nodes)


@FEW
@given(STEPS)
def test_money_adds_up_over_time(steps: list[dict[str, int]]) -> None:
    """The total is the sum of the steps, and of the totals of two halves."""
    looks = looks_of(steps)
    whole = score_of(tally_of(*looks), PRICES)
    each = [score_of(tally_of(*pair), PRICES) for pair in itertools.pairwise(looks)]
    assert whole.total_money == pytest.approx(sum(one.step_money for one in each), abs=1e-4)
    middle = len(looks) // 2
    halves = [looks[: middle + 1], looks[middle:]]
    sums = sum(score_of(tally_of(*half), PRICES).total_money for half in halves)
    assert whole.total_money == pytest.approx(sums, abs=1e-4)


@FEW
@given(STEPS, st.sampled_from([*sorted(COSTS), "lost", "nodes"]), st.integers(1, 1_000))
def test_more_of_a_cost_never_raises_the_score(
    steps: list[dict[str, int]], name: str, more: int
) -> None:
    """More work lost, more waiting, more disruption, more machines: never a better score."""
    worse = [{**steps[0], name: steps[0][name] + more}, *steps[1:]]
    scores = [score_of(tally_of(*looks_of(one)), PRICES).total_money for one in (steps, worse)]
    assert scores[1] <= scores[0]


@FEW
@given(STEPS)
def test_a_world_differs_from_itself_by_exactly_nothing(steps: list[dict[str, int]]) -> None:
    """With no action every difference is 0, not nearly 0."""
    tally = tally_of(*looks_of(steps))
    difference = difference_of(tally, tally, PRICES)
    numbers = {component.step for component in difference.components}
    numbers |= {component.total for component in difference.components}
    assert numbers == {0.0}
    assert (difference.total_money, difference.step_money_per_hour) == (0.0, 0.0)


@FEW
@given(STEPS, STEPS)
def test_the_difference_of_two_worlds_is_the_difference_of_their_scores(
    ours: list[dict[str, int]], theirs: list[dict[str, int]]
) -> None:
    """Money of the difference is the one score minus the other."""
    acted, untouched = tally_of(*looks_of(ours)), tally_of(*looks_of(theirs))
    scores = [score_of(tally, PRICES).total_money for tally in (acted, untouched)]
    difference = difference_of(acted, untouched, PRICES).total_money
    assert difference == pytest.approx(scores[0] - scores[1], abs=1e-4)


def test_a_class_that_waits_in_one_world_alone_is_compared_with_nothing() -> None:
    """Nobody of class gold waits in the other world."""
    waiting = make_look(1.0, waiting_pod_seconds={"gold": HOUR})
    acted: Tally = tally_of(make_look(0.0), waiting)
    untouched = tally_of(make_look(0.0), make_look(1.0))
    for ours, theirs, sign in ((acted, untouched, 1.0), (untouched, acted, -1.0)):
        difference = difference_of(ours, theirs, PRICES)
        (gold,) = (one for one in difference.components if one.name == "waiting/gold")
        assert (gold.total, gold.total_money) == (sign, -0.02 * sign)


# ---- what is taken from an observation


def view_of(nodes: Any, **fields: Any) -> ObservationView:
    """Return an observation's view."""
    fields = {"work": WorkCounters(), **fields}
    view = update_view(None, stamp_event(make_observation(nodes, **fields)))
    assert view is not None
    return view


@FEW
@given(st.permutations(range(4)))
def test_names_and_order_of_nodes_do_not_matter(order: list[int]) -> None:
    """Nodes that swap their names are the same cluster."""
    sizes = [
        {"cpu_allocatable_cores": 2.5 + i, "memory_allocatable_bytes": (i + 1) * GIB}
        for i in range(4)
    ]
    plain = score_input_of(view_of({f"n{i}": sizes[i] for i in range(4)}))
    swapped = score_input_of(view_of({f"n{i}": sizes[place] for i, place in enumerate(order)}))
    assert plain is not None
    assert swapped is not None
    assert (
        plain.levels
        == swapped.levels
        == Levels(
            nodes=4.0,
            cores=16.0,
            memory_gib=10.0,
            watts=plain.levels.watts if plain.levels else 0.0,
        )
    )


def test_nodes_that_could_not_be_read_are_no_cluster_of_none() -> None:
    """Without its source the levels are unknown; without counters there is nothing to score."""
    missing = {"node_requests": {"status": SignalStatus.MISSING}}
    look = score_input_of(view_of({}, signals=missing))
    assert look is not None
    assert look.levels is None
    assert score_input_of(view_of({}, work=None)) is None
