"""The long run of the benchmarks, cut short: it starts, follows, compares, and ends."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmarks.twin_long_run import KINDS, Measurements, run


@pytest.mark.nats
@pytest.mark.twin
@pytest.mark.slow
async def test_a_watching_client_ends_with_what_the_twin_has(tmp_path: Path) -> None:
    """After a while at speed 100 with the pipeline attached, an informer holds the twin's state."""
    options = argparse.Namespace(hours=0.1, speed=100.0, cycle=30.0, nodes=20, seed=1)
    seen = await run(tmp_path, options)
    assert seen.hours >= 0.1
    assert set(seen.watched) == set(KINDS)
    for kind, (_count, _events, lists, wrong) in seen.watched.items():
        assert wrong == 0, kind
        assert lists == 1, kind
    assert seen.watched["nodes"][0] == 20
    assert seen.watched["pods"][1] > 0
    assert "twin" in seen.memory


def test_growth_compares_the_last_quarter_with_the_second() -> None:
    """What a process held in the last quarter is divided by what it held in the second."""
    measurements = Measurements(memory={"twin": [900, 900, 100, 100, 500, 500, 110, 110]})
    assert measurements.growth("twin") == pytest.approx(1.1)
