"""Machines fail as often and as long as the studies say, alone, together, and after signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.health import HealthConfig
from twin.engine import Engine
from twin.health.places import rack_of
from twin.workloads.arrival import NodeShape

GIB = 2**30
DAY = 86_400.0
CALM = HealthConfig(
    weather="rough",
    rough_share_factor=1.0,
    node_mttf_days=math.inf,
    slow_per_node_year=0.0,
    flapping_ratio=0.0,
    foreseen_ratio=0.0,
    rack_mttf_years=math.inf,
    zone_failures_per_year=0.0,
)
"""Rough weather in which nothing happens yet."""
Failures = list[tuple[float, str, float]]
"""(when, node, seconds)"""
Live = Callable[..., tuple[Engine, Failures]]


@pytest.fixture
def live() -> Live:
    """Let empty nodes live: live(count, days, labels=..., **settings), giving what failed."""

    def lived(
        count: int,
        days: float,
        labels: Callable[[int], dict[str, str]] | None = None,
        **settings: Any,
    ) -> tuple[Engine, Failures]:
        config = TwinConfig(
            scrape_seconds=300.0, event_ttl_seconds=1e9, health=replace(CALM, **settings)
        )
        engine = Engine(config, seed=3)
        label = labels or (lambda _: {})
        engine.add_nodes(
            [NodeShape(f"n{i:04d}", 4_000, 8 * GIB, 0, label(i)) for i in range(count)]
        )
        failures: Failures = []
        fail = engine.lifecycle.fail

        def counted(name: str, seconds: float) -> None:
            failures.append((engine.now - engine.config.start_time, name, seconds))
            fail(name, seconds)

        engine.lifecycle.fail = counted  # type: ignore[method-assign]
        engine.advance(engine.now + days * DAY)
        return engine, failures

    return lived


def complaints(engine: Engine) -> set[str]:
    """Return the nodes whose kernel has complained."""
    return {
        str(event["involvedObject"]["name"])
        for event in engine.store.list("events")
        if event["reason"] == "TaskHung"
    }


def within(count: int, expected: float) -> bool:
    """True when a count is what a Poisson process of that mean gives, up to four deviations."""
    return abs(count - expected) <= 4.0 * math.sqrt(expected)


def test_nodes_fail_as_often_as_measured(live: Live) -> None:
    """4.3 months between failures of a node, a hundred times as often in rough weather."""
    _, failures = live(400, 2.0, node_mttf_days=129.0)
    expected = 400 * 2.0 / 129.0 * HealthConfig().rough_rate_factor

    assert within(len(failures), expected)
    assert len({name for _, name, _ in failures}) > 200


def test_few_outages_are_long(live: Live) -> None:
    """About a tenth of the outages lasts longer than a quarter of an hour."""
    _, failures = live(400, 2.0, node_mttf_days=129.0)
    long = sum(seconds > 900.0 for _, _, seconds in failures)

    assert within(long, 0.1 * len(failures))


@pytest.mark.parametrize("share", [0.0, 0.26, 1.0])
def test_part_of_the_failures_is_foreseeable(live: Live, share: float) -> None:
    """That share of the nodes that fail was slow until then; the others fail out of the blue."""
    engine, failures = live(300, 1.0, node_mttf_days=129.0, foreseen_ratio=share)
    spells = complaints(engine)
    foreseen = sum(name in spells for _, name, _ in failures)

    assert len(failures) > 100
    assert within(foreseen, share * len(failures)) if share else foreseen == 0
    assert share < 1.0 or foreseen == len(failures)


def test_a_machine_that_shows_signs_is_slow(live: Live) -> None:
    """Its speed is below one until it fails or recovers, and whole again afterwards."""
    engine, failures = live(40, 0.5, slow_per_node_year=20.0, slow_dies_ratio=0.0)
    assert engine.impairments.speed_ratio
    assert all(0.2 <= ratio <= 0.8 for ratio in engine.impairments.speed_ratio.values())
    assert failures == []
    calm, _ = live(40, 0.5)
    assert calm.impairments.speed_ratio == {}


def test_a_rack_fails_as_a_whole(live: Live) -> None:
    """All nodes of one rack within two minutes, and nobody else at that time."""
    _, failures = live(120, 3.0, rack_mttf_years=0.5, rack_nodes=40)
    assert failures
    first = failures[0][0]
    burst = [name for when, name, _ in failures if when - first < 120.0]

    assert len({rack_of(name, {}, 40) for name in burst}) == 1
    assert len(set(burst)) == 40


def test_racks_are_named_or_counted() -> None:
    """A label decides; without one the number in the name does; a node without both is alone."""
    assert rack_of("n-0079", {}, 40) == rack_of("n-0040", {}, 40) != rack_of("n-0039", {}, 40)
    assert rack_of("n-0079", {"topology.kubernetes.io/rack": "r"}, 40) == "r"
    assert rack_of("spare", {}, 40) == ""


def test_part_of_a_zone_loses_power(live: Live) -> None:
    """About 42 % of the nodes of one zone are away for six hours, the other zone works."""
    zones = ("a", "b")
    _, failures = live(
        200,
        3.0,
        lambda i: {"topology.kubernetes.io/zone": zones[i % 2]},
        zone_failures_per_year=1.5,
    )
    assert failures
    first = failures[0][0]
    burst = {name for when, name, _ in failures if when - first < 120.0}

    assert len({int(name[1:]) % 2 for name in burst}) == 1
    assert 25 <= len(burst) <= 60
    assert all(seconds == 21_600.0 for _, _, seconds in failures)


def test_a_flapping_node_fails_again_and_again(live: Live) -> None:
    """Each failure of a flapping node is followed by four more, with minutes in between."""
    _, failures = live(30, 1.0, node_mttf_days=600.0, flapping_ratio=1.0)
    name = failures[0][1]
    times = [when for when, other, _ in failures if other == name][:5]

    assert len(times) == 5
    assert all(150.0 <= later - sooner <= 301.0 for sooner, later in pairwise(times))


def test_mild_weather_is_rare_and_off_is_nothing(live: Live) -> None:
    """The rates hold as they are in mild weather; without weather nothing fails in a month."""
    _, mild = live(300, 20.0, weather="mild", node_mttf_days=129.0)
    assert within(len(mild), 300 * 20.0 / 129.0)
    engine, off = live(300, 30.0, weather="off", node_mttf_days=0.01)
    assert off == []
    assert engine.sky.rate_factor == 0.0
