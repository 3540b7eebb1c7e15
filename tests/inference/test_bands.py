"""Bands of demand: honest on series of any shape, borrowed while new, simple after drift."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from features.series.band_state import BASES, MINUTES, RULES, BandState, empty_bands
from features.series.bands import forecast_bands, push_minute

DAY = 1_440
Shape = Callable[[int], float]


def flat(minute: int) -> float:
    """Return the same always."""
    del minute
    return 100.0


def daily(minute: int) -> float:
    """Return a wave a day."""
    return 100.0 * (1.0 + 0.6 * math.sin(2.0 * math.pi * minute / DAY))


def rising(minute: int) -> float:
    """Return a steady rise."""
    return 100.0 + 5.0 * minute


class Play:
    """Plays a shape with noise to some series, and keeps what was foreseen."""

    def __init__(self, shape: Shape, series: int = 3, noise: float = 0.03) -> None:
        """Begin with a state that knows nothing."""
        self.shape, self.noise, self.rng = shape, noise, random.Random(7)
        self.names = [f"service/shop/{number}" for number in range(series)]
        self.state = empty_bands(-1)
        self.inside: dict[int, list[bool]] = {minutes: [] for minutes in MINUTES}
        self.errors: dict[int, list[tuple[float, float]]] = {minutes: [] for minutes in MINUTES}
        self._due: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def values(self, minute: int) -> dict[str, float]:
        """Return what is seen in a minute."""
        usual = self.shape(minute)
        return {name: max(0.0, usual * (1 + self.rng.gauss(0, self.noise))) for name in self.names}

    def to(self, end: int) -> Play:
        """Play until a minute; note which value lay in the band that was foreseen for it."""
        for minute in range(self.state.minute + 1, end):
            self.state = push_minute(self.state, minute, self.values(minute))
            now = self.state.values[:, -1].astype(float)
            bands = forecast_bands(self.state).values
            for place, ahead in enumerate(MINUTES):
                foreseen = self._due.pop((minute, ahead), None)
                self._due[minute + ahead, ahead] = (bands[:, place], now)
                if foreseen is not None:
                    band, before = foreseen
                    self.inside[ahead] += ((now >= band[:, 0]) & (now <= band[:, 2])).tolist()
                    self.errors[ahead] += zip(
                        np.abs(now - band[:, 1]).tolist(),
                        np.abs(now - before).tolist(),
                        strict=True,
                    )
        return self

    def skill(self, ahead: int) -> float:
        """Return by which share the middle errs less than the newest minute."""
        own, simple = zip(*self.errors[ahead], strict=True)
        return 1.0 - math.fsum(own) / math.fsum(simple)


def rules_and_bases(state: BandState, place: int = 0) -> set[tuple[str, str]]:
    """Return what speaks for the series at one horizon."""
    bands = forecast_bands(state)
    pairs = zip(bands.rule[:, place].tolist(), bands.basis[:, place].tolist(), strict=True)
    return {(RULES[rule], BASES[basis]) for rule, basis in pairs}


def test_eight_of_ten_values_lie_in_the_band() -> None:
    """Over ten hours, at every horizon, between 72 and 88 in a hundred."""
    play = Play(flat).to(600)

    shares = {ahead: sum(inside) / len(inside) for ahead, inside in play.inside.items()}

    assert all(0.72 <= share <= 0.88 for share in shares.values()), shares


def test_a_steady_rise_is_foreseen_by_its_trend() -> None:
    """Five minutes ahead the trend speaks, from own errors, and errs a third less than the newest minute."""
    play = Play(rising, noise=0.01).to(150)

    assert rules_and_bases(play.state) == {("trend", "own")}
    assert play.skill(5) > 0.33


def test_the_second_day_is_foreseen_from_the_first() -> None:
    """An hour ahead the daily rule speaks once a day is known, errs half as much, and the band holds."""
    play = Play(daily, series=1).to(DAY + 400)

    assert {rule for rule, _ in rules_and_bases(play.state, place=3)} == {"daily"}
    play.errors[60].clear()
    play.inside[60].clear()
    assert play.to(DAY + 900).skill(60) > 0.5
    assert sum(play.inside[60]) / 500 >= 0.75


def test_a_new_series_borrows_the_errors_of_similar_ones() -> None:
    """It says so, and has their band; one without anything like it says that it is a guess."""
    play = Play(flat).to(120)
    values = {**play.values(120), "service/shop/new": 100.0, "service/shop/other": 9_000.0}
    state = push_minute(play.state, 120, values)
    bands = forecast_bands(state)
    basis = dict(zip(state.ids, (BASES[row[0]] for row in bands.basis.tolist()), strict=True))
    spread = dict(
        zip(state.ids, (bands.values[:, 0, 2] - bands.values[:, 0, 0]).tolist(), strict=True)
    )

    assert basis["service/shop/new"] == "similar"
    assert basis["service/shop/other"] == "assumed"
    assert spread["service/shop/new"] == pytest.approx(spread["service/shop/0"], rel=0.5)


def test_after_drift_the_simple_rule_speaks_and_says_so() -> None:
    """A rise that turns into noise: `last_value` by `drift`; half an hour of calm later it is over."""

    def breaks(minute: int) -> float:
        return rising(minute) if minute < 150 else 850.0 * (3.0 if minute // 3 % 2 else 1.0)

    play = Play(breaks, noise=0.01).to(150)
    assert rules_and_bases(play.state) == {("trend", "own")}

    seen: set[tuple[str, str]] = set()
    for minute in range(151, 190):
        seen |= rules_and_bases(play.to(minute).state)
    assert ("last_value", "drift") in seen

    play.shape = flat
    assert ("last_value", "drift") not in rules_and_bases(play.to(400).state)


def test_minutes_without_values_leave_no_band_and_do_no_harm() -> None:
    """A hole of ten minutes, then of a day: no number is made up, and the bands come back."""
    play = Play(flat).to(100)
    for hole in (10, DAY):
        values = {} if hole == 10 else play.values(0)
        state = push_minute(play.state, play.state.minute + hole, values)
        assert bool(np.isnan(forecast_bands(state).values).all()) is (not values)
        play.state = state
    assert not np.isnan(forecast_bands(play.to(play.state.minute + 2).state).values).any()


def test_a_series_that_is_gone_is_forgotten() -> None:
    """After seventy-five minutes without a value its row is dropped, and others keep theirs."""
    play = Play(flat).to(100)
    play.names = play.names[:1]

    state = play.to(200).state

    assert state.ids == ("service/shop/0",)
    assert int(state.scored[0, 0]) == 195


def test_a_minute_twice_is_refused() -> None:
    """Time goes forward."""
    state = push_minute(empty_bands(0), 1, {"service/shop/0": 1.0})
    with pytest.raises(ValueError, match="minute 1 is not after 1"):
        push_minute(state, 1, {})
