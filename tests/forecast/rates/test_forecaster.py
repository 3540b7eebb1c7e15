"""Live forecasts: the backtest's numbers, a state that survives a restart, a reason where the model is silent."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bus.errors import InputError
from features.demand.features import COLUMNS
from features.demand.past import QUANTILES, Past, origin_times, origins_of
from services.inference.demand_forecaster import DemandForecaster
from services.inference.foretelling import Foretold, decode_foretold, encode_foretold
from services.inference.speakers import forecast_all, speak
from tests.forecast.rates.made import daily

START = 864_000


class Shifted:
    """A model that says the base is a little low, and less so for far horizons."""

    model_id = "shifted/000000000000"

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the same spread for every row, around a number that depends on its features."""
        middle = np.nan_to_num(rows[:, COLUMNS.index("mean_15m_scales")]) * 0.1
        return middle[:, None].astype(np.float64) + np.array([-2.0, -1.5, 0.1, 1.6, 2.2])


def history(days: float, step: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values of one made series."""
    values = daily(days, step, 120.0, 5)
    return START + np.arange(len(values)) * step, values


@pytest.mark.parametrize("model", [None, Shifted()])
@pytest.mark.parametrize("step", [300, 600, 3600])
def test_live_says_what_the_backtest_says(model: Any, step: int) -> None:
    """Origin by origin, with what came observed in between, the bands are those of the whole walk."""
    times, values = history(1.5 if step < 3600 else 6, step)
    origins = origins_of(START, step, origin_times(START, int(times[-1]), step))
    whole, _, _ = forecast_all([speak(model, Past(values, step), origins)])
    live = DemandForecaster(model, step)
    for place, origin in enumerate(origins.origin_s.tolist()):
        known = times <= origin
        live.observe("a", times[known], values[known])
        said = live.forecast("a", times[known], values[known], origin)
        assert said is not None
        np.testing.assert_allclose(said.quantiles, whole[0, place], rtol=2e-5, atol=1e-4)


def zeros() -> str:
    """Return packed bytes that are no arrays."""
    return base64.b64encode(zlib.compress(bytes(100))).decode()


def through_json(live: DemandForecaster) -> DemandForecaster:
    """Return what its JSON makes."""
    return DemandForecaster.from_json(Shifted(), json.loads(json.dumps(live.as_json())))


def through_arrays(live: DemandForecaster) -> DemandForecaster:
    """Return what its arrays make."""
    return DemandForecaster.from_arrays(Shifted(), live.as_arrays())


@pytest.mark.parametrize("restart", [through_json, through_arrays])
def test_a_restart_changes_nothing(
    restart: Callable[[DemandForecaster], DemandForecaster],
) -> None:
    """A state that was stored says the same from then on, and has the same outcomes to await."""
    times, values = history(3)
    live = DemandForecaster(Shifted(), 300)
    for count in (800, 803):
        live.forecast("a", times[:count], values[:count], int(times[count - 1]))
    live.observe("a", times[:803], values[:803])
    again = restart(live)
    assert again.as_json() == live.as_json()
    for forecaster in (live, again):
        forecaster.observe("a", times[:806], values[:806])
    assert live.as_json() == again.as_json()
    first, second = (
        one.forecast("a", times[:806], values[:806], int(times[805])) for one in (live, again)
    )
    assert first is not None
    assert second is not None
    assert np.array_equal(first.quantiles, second.quantiles)
    # What was foretold a quarter of an hour ago came: only the later horizons are still awaited.
    waiting = live.as_json()["issued"]["a"]
    assert waiting[1]["awaited"] == [False, False, False, True, True]


def test_what_came_moves_the_bands() -> None:
    """When every outcome lies above the band, its upper end rises."""
    times, values = history(3)
    live = DemandForecaster(Shifted(), 300)
    before = live.forecast("a", times[:800], values[:800], int(times[799]))
    live.observe("a", times[:812], values[:812] * 50)
    after = live.forecast("a", times[:800], values[:800], int(times[799]))
    assert before is not None
    assert after is not None
    assert (after.quantiles[:, -1] > before.quantiles[:, -1]).all()


def test_a_silent_model_says_why_and_a_rule_speaks() -> None:
    """Too little history and an old reading each have their reason, and no version is named; later the model speaks."""
    times, values = history(2)
    live = DemandForecaster(Shifted(), 300)
    short = live.forecast("a", times[:10], values[:10], int(times[9]))
    assert short is not None
    assert "history too short: 10 of 36" in short.reason
    assert "shifted" not in short.models
    assert short.version == ""
    long = live.forecast("a", times, values, int(times[-1]))
    assert long is not None
    assert (long.reason, set(long.models), long.version) == ("", {"shifted"}, "000000000000")
    stale = live.forecast("a", times, values, int(times[-1]) + 7200)
    assert stale is not None
    assert stale.reason == "newest reading 120 min old"
    assert long.quantiles.shape == (5, len(QUANTILES))


def test_nothing_known_is_no_forecast_and_a_torn_grid_is_refused() -> None:
    """Without a known value there are no bands; a time between two steps is one line."""
    times, values = history(1)
    live = DemandForecaster(None, 300)
    assert live.forecast("a", times, np.full(len(times), np.nan), int(times[-1])) is None
    torn = np.where(np.arange(len(times)) == 9, times + 7, times)
    with pytest.raises(InputError, match=r"t_s = 866707: give whole steps of 300 s"):
        live.forecast("a", torn, values, int(times[-1]))


def test_the_state_of_200_series_fits_a_checkpoint() -> None:
    """With all forecasts that can be awaited it takes four fifths of a message."""
    times, values = history(1.0)
    names = [f"service/{number}" for number in range(200)]
    live = DemandForecaster(Shifted(), 300)
    random = np.random.Generator(np.random.PCG64(3))
    table = values * random.uniform(0.5, 2.0, (len(names), 1))
    for end in range(275, 289):
        live.observe_many(names, times[end - 1 : end], table[:, end - 1 : end])
        live.forecast_many(names, times[:end], table[:, :end], int(times[end - 1]))
    foretold = Foretold(0, live, (), is_new=False)
    assert len(json.dumps(encode_foretold(foretold))) < 0.8 * 1024**2


def test_no_state_is_restored_of_other_text() -> None:
    """Text that is no state is refused as such."""
    for stored in ({"step": 1}, {"step": 1, "packed": "eJw="}, {"step": 1, "packed": zeros()}):
        with pytest.raises(ValueError, match="nothing foretold"):
            decode_foretold(stored)
