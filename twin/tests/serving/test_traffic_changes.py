"""Scenarios change who comes: factors, bursts and courses of their own, for as long as they last."""

from __future__ import annotations

from typing import Any

import pytest

from twin.faults import scenario_of
from twin.tests.serving.web import KEY, Web

MODES = ["aggregate", "exact"]
STEADY = "constant requests_per_second=40"


def _play(web: Web, **fault: Any) -> None:
    web.engine.faults.play(scenario_of({"faults": [{"fault": "traffic", **fault}]}, "s"))


def _arrived(web: Web, seconds: float) -> float:
    """Let time pass, and return how many requests came in it, to the moment."""
    web.engine.serving.settle(KEY)
    before = web.account.arrived
    web.run(seconds)
    web.engine.serving.settle(KEY)
    return web.account.arrived - before


@pytest.mark.parametrize("mode", MODES)
def test_a_factor_holds_while_it_lasts(mode: str) -> None:
    """Three times as many requests from the moment at which it begins to that at which it ends."""
    web = Web(STEADY, mode=mode, replicas=4)
    web.run(60)
    _play(web, factor=3, at_seconds=10, duration_seconds=100)
    assert [_arrived(web, seconds) for seconds in (10, 100, 50)] == pytest.approx(
        [400, 12_000, 2_000], rel=0.0 if mode == "aggregate" else 0.1
    )


def test_factors_multiply_and_zero_stops_everybody() -> None:
    """Two at once multiply; with 0 nobody comes, and nothing else changes."""
    web = Web(STEADY, replicas=4)
    web.run(60)
    _play(web, factor=3, duration_seconds=200)
    _play(web, factor=0.5, duration_seconds=100)
    assert _arrived(web, 100) == pytest.approx(6_000)
    assert _arrived(web, 100) == pytest.approx(12_000)
    _play(web, factor=0, duration_seconds=100)
    assert _arrived(web, 100) == 0.0
    assert _arrived(web, 100) == pytest.approx(4_000)


def test_services_that_are_not_named_are_left_alone() -> None:
    """Only the named Services change, by name in `default` or by namespace and name."""
    web = Web(STEADY, replicas=4)
    web.run(60)
    _play(web, factor=9, services=["other", "elsewhere/web"], duration_seconds=100)
    assert _arrived(web, 100) == pytest.approx(4_000)
    _play(web, factor=2, services=["default/web"], duration_seconds=100)
    assert _arrived(web, 100) == pytest.approx(8_000)
    _play(web, factor=2, services=["web"], duration_seconds=100)
    assert _arrived(web, 100) == pytest.approx(8_000)


def test_the_newest_course_counts_from_its_begin() -> None:
    """Recorded rates begin when the fault does, the newest of two is played, and the Service's own comes back."""
    web = Web(STEADY, replicas=4)
    web.run(75)
    _play(web, traffic="constant requests_per_second=1", duration_seconds=500)
    _play(web, traffic="recorded rates=0:100,30:10", duration_seconds=60, factor=2)
    assert _arrived(web, 30) == pytest.approx(6_000)
    assert _arrived(web, 30) == pytest.approx(600)
    assert _arrived(web, 40) == pytest.approx(40)
    web.run(400)
    assert _arrived(web, 100) == pytest.approx(4_000)


def test_bursts_are_drawn_for_each_fault() -> None:
    """The same fault played twice bursts at two moments, each within its period."""
    moments = []
    for number in range(2):
        web = Web(STEADY, replicas=4)
        web.run(60)
        for _ in range(number + 1):
            _play(web, traffic="bursts base=0 burst=100 every_seconds=600 last_seconds=30",
                  duration_seconds=600)  # fmt: skip
        amounts = [_arrived(web, 10) for _ in range(60)]
        assert sum(amounts) == pytest.approx(3_000)
        moments.append([place for place, amount in enumerate(amounts) if amount])
    assert moments[0] != moments[1]


@pytest.mark.parametrize("pieces", [1, 7])
def test_the_change_is_exact_whatever_the_steps_are(pieces: int) -> None:
    """It holds from its own moment on, not from the next look at the clock."""
    web = Web(STEADY, replicas=4)
    web.run(60)
    before = web.account.arrived
    _play(web, factor=3, at_seconds=3.7, duration_seconds=11.1)
    for _ in range(pieces):
        web.run(35.0 / pieces)
    web.run(10)  # the next step of contention closes the interval
    assert web.account.arrived - before == pytest.approx(40 * (45 + 2 * 11.1))
