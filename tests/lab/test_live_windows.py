"""Skill of a model over several runs, from what their logs say."""

from __future__ import annotations

import numpy as np
import pytest

from lab.forecast.live_windows import Scored, lines, main, skill


def run_of(risk: list[float], failed: list[float], nodes: int = 2) -> Scored:
    """Return a run whose nodes take turns; the first half is its first hour."""
    count = len(risk)
    return Scored(
        np.arange(count) % nodes,
        np.arange(count) // max(1, count // 2),
        np.array(risk),
        np.array(failed),
        np.array([one < 0.1 for one in risk]),
    )


def test_the_constant_is_each_runs_own_rate() -> None:
    """Telling runs apart is no skill: a constant right in each run has none, over both runs, too."""
    quiet = run_of([0.1] * 10, [1.0] + [0.0] * 9)
    busy = run_of([0.5] * 10, [1.0, 0.0] * 5)
    assert skill([quiet, busy])[0] == pytest.approx(0.0)


def test_who_tells_nodes_apart_has_skill_and_an_interval_over_nodes() -> None:
    """Errors add up over nodes; the interval holds the figure."""
    failed = [1.0, 0.0, 0.0, 0.0] * 10
    middle, low, high = skill([run_of([0.9 * one + 0.02 for one in failed], failed, nodes=8)])
    assert middle > 0.9
    assert low <= middle <= high


def test_the_table_has_runs_all_hours_and_grounds() -> None:
    """Each line states how many failures were expected and seen."""
    told = list(lines([("a", run_of([0.05, 0.5, 0.05, 0.5], [0.0, 1.0, 0.0, 0.0]))]))
    titles = [line.split(" | ")[0].strip("| ") for line in told]
    assert titles == ["a", "all runs", "hour 1", "hour 2", "with a ground", "abstaining"]
    assert told[0].startswith("| a | 4 | 1 | 1.10 | ")
    assert told[3].startswith("| hour 2 | 2 | 0 | - | ")


def test_without_a_run_it_says_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 2."""
    assert main(["age-risk"]) == 2
    assert "recording" in capsys.readouterr().err
