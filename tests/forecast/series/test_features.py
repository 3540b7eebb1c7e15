"""The feature matrix: causal, the same in any batch, and the same live as in training."""

from __future__ import annotations

import math

import numpy as np
import pytest

from features.series.features import FEATURES, SeriesPast, feature_matrix, scale_of
from features.series.windows import (
    OpenWindow,
    add_use,
    align_series,
    empty_state,
    past_of_series,
    push_window,
    step_at,
)

NAMES = [feature.name for feature in FEATURES]


def usage(windows: int, seed: int = 0, missing: float = 0.05) -> np.ndarray:
    """Return a series with a daily wave, noise, jumps and missing windows."""
    random = np.random.Generator(np.random.PCG64(seed))
    wave = 1.0 + 0.4 * np.sin(np.arange(windows) * 2 * math.pi / 288)
    jumps = np.repeat(random.gamma(4.0, 0.3, size=windows // 40 + 1), 40)[:windows]
    values = wave * jumps * random.gamma(30.0, 1 / 30, size=windows)
    values[random.random(windows) < missing] = math.nan
    return values


def column(past: SeriesPast, name: str) -> np.ndarray:
    """Return one feature of every row."""
    return feature_matrix(past)[:, NAMES.index(name)]


def same(left: np.ndarray, right: np.ndarray) -> bool:
    """Return whether two matrices agree bit for bit, missing values included."""
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()


def test_deleting_the_future_changes_no_feature() -> None:
    """A row is the same whether the series goes on or ends at its origin."""
    values = usage(2400)
    for origin in (24, 300, 1111, 2399):
        whole = past_of_series(values, 7, [origin])
        cut = past_of_series(values[:origin], 7, [origin])
        changed = np.concatenate([values[:origin], np.full(2400 - origin, 1e6)])
        other = past_of_series(changed, 7, [origin])
        assert same(feature_matrix(whole), feature_matrix(cut))
        assert same(feature_matrix(whole), feature_matrix(other))


def test_live_pushes_give_the_features_of_training() -> None:
    """Pushing window by window leaves the past that training cuts out of the whole series."""
    series = [usage(700, seed) for seed in range(3)]
    state = empty_state(1000, ["a", "b", "c"])
    for window in range(700):
        state = push_window(state, np.array([values[window] for values in series]), 1000 + window)
    live = feature_matrix(state.past(capacity=5.0))
    for row, values in enumerate(series):
        assert same(live[row : row + 1], feature_matrix(past_of_series(values, 1000, [700], 5.0)))


def test_a_row_does_not_depend_on_its_batch() -> None:
    """One series at a time or all together: equal bits."""
    values = usage(3000)
    origins = np.arange(24, 3000, 37)
    together = feature_matrix(past_of_series(values, 0, origins))
    for row, origin in enumerate(origins):
        assert same(together[row : row + 1], feature_matrix(past_of_series(values, 0, [origin])))


def test_known_values_of_a_small_case() -> None:
    """Features of 24 windows at 2, then one hour at 4, are what a hand calculates."""
    values = np.array([2.0] * 300 + [4.0] * 12)
    past = past_of_series(values, 0, [312], 8.0)
    assert scale_of(past)[0] == pytest.approx(3.0)
    hand = {
        "lag_1": 4 / 3,
        "lag_12": 4 / 3,
        "mean_2h": 1.0,
        "sd_2h": 1 / 3,
        "max_2h": 4 / 3,
        "n_sigma": 8 / 3,
        "mean_24h": (276 * 2 + 12 * 4) / 288 / 3,
        "known_24h": 1.0,
        "hour_peak_p50_24h": 2 / 3,
        "hours_known_7d": 26 / 168,
        "yesterday_peak_1h": 2 / 3,
        "yesterday_growth": 1.0,
        "slope_1h": 0.0,
        "jump_up_2h": 2 / 3,
        "jump_down_2h": 0.0,
        "capacity": 8 / 3,
        "day_sin": math.sin(2 * math.pi * 24 / 288),
    }
    for name, expected in hand.items():
        assert column(past, name)[0] == pytest.approx(expected, abs=1e-6), name


def test_sizes_are_relative_to_the_series() -> None:
    """A series a thousand times larger has the same features."""
    values = usage(800, missing=0.0)
    small = feature_matrix(past_of_series(values, 0, [800]))
    large = feature_matrix(past_of_series(values * 1024.0, 0, [800]))
    assert same(small, large)


def test_nothing_known_gives_missing_features_and_no_warning() -> None:
    """A series without any window has NaN features, and an idle one finite ones."""
    assert np.isnan(column(past_of_series(np.full(30, math.nan), 0, [30]), "max_24h")).all()
    assert np.isfinite(column(past_of_series(np.zeros(30), 0, [30]), "max_24h")).all()


def test_series_come_and_go() -> None:
    """A new series knows nothing, a kept one loses nothing, and a skipped window is missing."""
    state = push_window(empty_state(0, ["a", "b"]), np.array([1.0, 2.0]), 0)
    state = push_window(align_series(state, ["b", "c"]), np.array([3.0, 4.0]), 2)
    assert state.ids == ("b", "c")
    assert state.recent[0, -3:].tolist()[::2] == [2.0, 3.0]
    assert math.isnan(state.recent[0, -2])
    assert np.isnan(state.recent[1, :-1]).all()
    with pytest.raises(ValueError, match="pushed before"):
        push_window(state, np.zeros(2), 1)


def test_what_is_seen_within_a_window_is_averaged() -> None:
    """Samples of one window become its mean when a later window begins, in any cutting."""
    state, window = empty_state(step_at(600.0)), OpenWindow(step_at(600.0), {}, {})
    for time, value in ((600.0, 1.0), (700.0, 3.0), (899.0, 5.0), (900.0, 8.0)):
        state, window = add_use(state, window, time, {"n": value})
    assert state.recent[0, -1] == 3.0
    assert state.next_step == 3
    assert window.totals == {"n": 8.0}


def test_a_long_silence_empties_the_state() -> None:
    """After more than what is kept nothing of before is known."""
    state = push_window(empty_state(0, ["a"]), np.array([1.0]), 0)
    state = push_window(state, np.array([2.0]), 1_000_000)
    assert np.isnan(state.recent[0, :-1]).all()
    assert state.next_step == 1_000_001
