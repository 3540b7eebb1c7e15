"""Draws are functions: of the seed, the concern, the entity and the ordinal, and of nothing else."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from twin.chance import Chance, Draws, key_of

COUNT = 20_000
BITS = 11155598529553952114


@pytest.fixture
def draws() -> Draws:
    """The draws of one concern."""
    return Chance(1).draws("start latency")


def test_draws_are_the_same_on_every_machine(draws: Draws) -> None:
    """Literal values hold the hashing fixed, so that a seed means the same everywhere."""
    assert draws.bits("pod-1", 2) == BITS
    assert draws.uniform("pod-1", 2) == (BITS >> 11) / 2**53


def test_arrays_give_what_single_calls_give(draws: Draws) -> None:
    """Over entities and over ordinals, element by element."""
    keys = [key_of("n", number) for number in range(50)]
    ordinals = np.arange(50, dtype=np.uint64)

    assert draws.uniforms_of(np.array(keys, np.uint64), 9).tolist() == [
        draws.uniform(key, 9) for key in keys
    ]
    assert draws.uniforms("n-1", ordinals).tolist() == [
        draws.uniform("n-1", number) for number in range(50)
    ]


def test_each_part_of_the_place_counts(draws: Draws) -> None:
    """Another seed, concern, entity or ordinal is another draw; asking again is not."""
    places = [
        draws.bits("a"),
        draws.bits("b"),
        draws.bits("a", 1),
        draws.bits("a", 2**40),
        Chance(2).draws("start latency").bits("a"),
        Chance(1).draws("stop latency").bits("a"),
    ]

    assert len(set(places)) == len(places)
    assert draws.bits("a") == places[0]


def test_distributions_have_their_moments(draws: Draws) -> None:
    """Mean and spread of each form are those of its distribution, along entities and ordinals."""
    for at in (lambda number: (str(number), 0), lambda number: ("a", number)):
        uniform = [draws.uniform(*at(number)) for number in range(COUNT)]
        waits = [draws.exponential(5.0, *at(number)) for number in range(COUNT)]
        logs = [math.log(draws.lognormal(2.0, 0.5, *at(number))) for number in range(COUNT)]
        assert 0.0 <= min(uniform) < max(uniform) < 1.0
        assert statistics.mean(uniform) == pytest.approx(0.5, abs=0.01)
        assert statistics.stdev(uniform) == pytest.approx(math.sqrt(1 / 12), abs=0.005)
        assert statistics.mean(waits) == pytest.approx(5.0, rel=0.03)
        assert statistics.stdev(waits) == pytest.approx(5.0, rel=0.05)
        assert statistics.mean(logs) == pytest.approx(math.log(2.0), abs=0.015)
        assert statistics.stdev(logs) == pytest.approx(0.5, rel=0.03)


def test_neighbours_are_independent(draws: Draws) -> None:
    """Draws of one entity one after the other, and of two entities at once, do not correlate."""
    ordinals = np.arange(COUNT, dtype=np.uint64)
    one, two = draws.uniforms("a", ordinals), draws.uniforms("b", ordinals)

    assert abs(float(np.corrcoef(one[1:], one[:-1])[0, 1])) < 0.03
    assert abs(float(np.corrcoef(one, two)[0, 1])) < 0.03


def test_nothing_takes_no_time(draws: Draws) -> None:
    """A median of 0 switches a latency off."""
    assert draws.lognormal(0.0, 0.5, "a") == 0.0
