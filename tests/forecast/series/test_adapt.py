"""Online calibration: by hand, and in the long run."""

from __future__ import annotations

import numpy as np
import pytest

from features.series.adapt import (
    Shares,
    Tracking,
    excess,
    learn_shares,
    widen_limits,
)

TARGET = 0.05


def test_one_step_by_hand() -> None:
    """Two of twenty limits violated at a target of 5 %: the group widens by rate x spread x 0.05."""
    tracking = Tracking(TARGET, spread=0.5, group_rate=0.2, own_rate=0.1)
    over = np.arange(20) < 2
    shares = learn_shares(tracking, Shares(0.0, np.zeros(21)), np.arange(20), over)
    assert shares.group == pytest.approx(0.2 * 0.5 * (0.10 - 0.05))
    assert shares.own[0] == pytest.approx(0.1 * 0.5 * 0.95)
    assert shares.own[2] == pytest.approx(-0.1 * 0.5 * 0.05)
    assert shares.own[20] == 0.0


def test_few_series_move_the_group_less() -> None:
    """One ripe limit moves the group a tenth as far as ten with the same rate of violations."""
    tracking = Tracking(TARGET, spread=1.0)
    start = Shares(0.0, np.zeros(10))
    one = learn_shares(tracking, start, np.array([0]), np.array([True]))
    ten = learn_shares(tracking, start, np.arange(10), np.ones(10, dtype=bool))
    assert ten.group == pytest.approx(10 * one.group)
    assert learn_shares(tracking, start, np.empty(0, np.int64), np.empty(0, bool)) is start


def test_long_horizons_are_followed_in_smaller_steps() -> None:
    """Three hours move at a third of the pace of one hour; shorter horizons no faster."""
    hour = Tracking(TARGET, 1.0)
    assert hour.for_horizon(36).group_rate == pytest.approx(hour.group_rate / 3)
    assert hour.for_horizon(36).own_rate == pytest.approx(hour.own_rate / 3)
    assert hour.for_horizon(12) == hour.for_horizon(3) == hour


def test_a_limit_widened_by_its_excess_holds_just_so() -> None:
    """`excess` is the share by which `widened` reaches the peak, for idle series too."""
    peaks, limits = np.array([3.0, 0.5, 2.0]), np.array([2.0, 1.0, 0.0])
    scale = np.array([1.0, 1.0, 4.0])
    actual = widen_limits(limits, scale, excess(peaks, limits, scale))
    assert actual[0] == pytest.approx(3.0)
    assert actual[1] == pytest.approx(0.5)
    assert actual[2] == pytest.approx(2.0)
    assert widen_limits(limits, scale, -5.0).min() == 0.0


def drifting(steps: int, series: int, seed: int) -> np.ndarray:
    """Return (steps, series) peaks whose spread triples half-way and then shrinks to a third."""
    random = np.random.Generator(np.random.PCG64(seed))
    spread = np.where(np.arange(steps) < steps / 3, 0.2, 0.6)
    spread = np.where(np.arange(steps) > 2 * steps / 3, 0.07, spread)
    return np.exp(random.normal(size=(steps, series)) * spread[:, None])


@pytest.mark.parametrize("series", [1, 12])
def test_the_target_is_kept_while_the_series_drift(series: int) -> None:
    """Violations stay within a point of 5 % on a drifting series; the fixed limit is far off."""
    peaks, horizon = drifting(6000, series, 4), 3
    fixed = float(np.quantile(peaks[:1000], 1 - TARGET))
    tracking = Tracking(TARGET, spread=0.3)
    shares, limits = Shares(0.0, np.zeros(series)), np.empty_like(peaks)
    for step in range(len(peaks)):
        if step >= horizon:
            over = peaks[step - horizon] > limits[step - horizon]
            shares = learn_shares(tracking, shares, np.arange(series), over)
        limits[step] = widen_limits(
            np.full(series, fixed), np.ones(series), shares.group + shares.own
        )
    tested = slice(1000, None)
    followed = float((peaks[tested] > limits[tested]).mean())
    unchanged = float((peaks[tested] > fixed).mean())
    assert abs(followed - TARGET) < 0.01
    assert abs(unchanged - TARGET) > 0.02
