"""Many series at once say, to the bit, what each says alone when it is walked through from its beginning."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from features.demand import together
from features.demand.features import walked
from features.demand.follow import Follower
from features.demand.past import Past, origins_of
from lab.forecast.rates.table import RateTable
from services.inference.demand_forecaster import (
    WARM_DAYS,
    DemandBands,
    DemandForecaster,
    oldest_counted,
)
from services.inference.rate_model import RateModel
from services.inference.speakers import Numbers, bands_of, forecast_all, speak
from tests.forecast.pack import pack_file
from tests.forecast.rates.made import daily
from tests.forecast.rates.test_forecaster import START, Shifted

PACK = ("crane_metrics_1min", "worldcup98_1min", "clarknet_1min", "nab_rates_5min")


def made(days: float, step: int) -> dict[str, np.ndarray]:
    """Return series of one length: a wave, and what can be wrong with one."""
    wave = daily(days, step, 120.0, 5)
    length, hour = len(wave), 3600 // step
    random = np.random.Generator(np.random.PCG64(11))
    series = {
        "wave": wave,
        "rare": daily(days, step, 0.3, 6),
        "zero": np.zeros(length),
        "huge": wave * 1e12,
        "unknown": np.full(length, np.nan),
        "torn": np.where(random.random(length) < 0.3, np.nan, wave),
        "hole": wave.copy(),
        "silent lately": wave.copy(),
        "short": wave.copy(),
        "first known now": wave.copy(),
        "younger": wave.copy(),
    }
    series["hole"][length // 3 : length // 2] = np.nan
    series["silent lately"][-4 * hour :] = np.nan
    series["short"][: -3 * hour] = np.nan
    series["first known now"][:-2] = np.nan
    series["younger"][: length // 2] = np.nan
    return series


def walk(
    model: Numbers | None, name: str, times: np.ndarray, values: np.ndarray, step: int, days: int
) -> Any:
    """Return what is said of the last `days` before the newest time: one walk from the first known step on."""
    origin = int(times[-1])
    counted = np.flatnonzero((times >= oldest_counted(name, origin, step)) & ~np.isnan(values))
    if not len(counted):
        return None
    start, stride = int(times[counted[0]]), max(900, step)
    places = np.arange(start + (origin - start) % stride, origin + 1, stride)
    origins = origins_of(start, step, places)
    since = max(0, len(origins) - 1 - days * origins.day)
    return speak(model, Past(values[counted[0] :], step), origins, since)


def assert_each_as_alone(
    model: Numbers | None,
    live: DemandForecaster,
    said: list[DemandBands | None],
    series: dict[str, np.ndarray],
    times: np.ndarray,
    step: int,
) -> None:
    """Compare what was said of all with walks through each, from the calibration that `live` had."""
    followers = live.as_json()["followers"]
    for (name, values), bands in zip(series.items(), said, strict=True):
        alone = walk(model, name, times, values, step, 0)
        if alone is None:
            assert bands is None, name
            continue
        follower = Follower.from_json(followers[name])
        silent = np.array([bool(alone.silent[0])])
        expected, _ = bands_of(follower, alone.bands, alone.scale, alone.edges, silent)
        assert bands is not None
        assert bands.quantiles.tobytes() == expected[0].tobytes(), name
        assert bands.reason == alone.silent[0], name


def step_through(model: Numbers | None, series: dict[str, np.ndarray], step: int) -> None:
    """Go through the last steps with a restart, a filled hole, a jump and a question asked twice."""
    length = len(series["hole"])
    times = START + np.arange(length) * step
    live = DemandForecaster(model, step)
    ends = [length - back for back in (11, 10, 9, 8, 7, 6, 6, 3, 2, 1, 0)]
    for turn, end in enumerate(ends):
        if turn == 5:
            live = DemandForecaster.from_json(model, json.loads(json.dumps(live.as_json())))
        if turn == 8:
            series["hole"][length // 3 : length // 2] = 77.0
        seen = {name: values[:end] for name, values in series.items()}
        table, now = np.stack(list(seen.values())), times[:end]
        live.observe_many(list(seen), now[-1:], table[:, -1:])
        said = live.forecast_many(list(seen), now, table, int(now[-1]))
        assert_each_as_alone(model, live, said, seen, now, step)
        if turn % 3 == 0:
            late = live.late(list(seen), int(now[-1]) + step)
            some = np.array([seen[name] for name in late]).reshape(len(late), end)
            live.prepare(late, now, some, int(now[-1]) + step)
            assert live.late(late, int(now[-1]) + step) == []
        assert said[list(seen).index("wave")] is not None


@pytest.mark.parametrize(
    ("step", "days"), [(300, 1.02), (300, 4.0), (300, 15.2), (600, 3.0), (3600, 16.0)]
)
def test_all_at_once_say_what_each_says_alone(step: int, days: float) -> None:
    """With holes, zeros, new and short series, after a restart, a fill, and a jump, to the bit."""
    step_through(Shifted(), made(days, step), step)


def test_warmed_together_is_warmed_alone() -> None:
    """Calibration of series that are met together is that of each one's own walk through its last days."""
    series, step = made(4.5, 300), 300
    times = START + np.arange(len(series["wave"])) * step
    live = DemandForecaster(Shifted(), step)
    live.forecast_many(list(series), times, np.stack(list(series.values())), int(times[-1]))
    followers = live.as_json()["followers"]
    assert set(followers) == set(series) - {"unknown"}
    for name, follower in followers.items():
        alone = walk(Shifted(), name, times, series[name], step, WARM_DAYS)
        assert follower == forecast_all([alone])[2].as_json(), name


def test_real_rates_by_the_shipped_model() -> None:
    """Series of the pack in steps of five minutes, beside the made ones, by the model that is shipped."""
    length = 6 * 288
    series = {name: values[:length] for name, values in made(6, 300).items()}
    for file in PACK:
        table = RateTable(pack_file(f"traffic/{file}.parquet"))
        times = 300 // table.step_seconds
        for number, one in zip(range(2), table, strict=False):
            values = one.values[: length * times].reshape(-1, times).mean(axis=1)
            series[f"{file} {number}"] = np.resize(values, length)
    step_through(RateModel(), series, 300)


def test_series_told_in_turns_are_walked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference tells many series a part at a time: none of them costs the others what was carried along."""
    step, names = 3600, [f"series {place}" for place in range(60)]
    times = START + np.arange(5 * 24) * step
    table = np.stack([daily(5.0, step, 100.0, place) for place in range(60)])
    live = DemandForecaster(Shifted(), step)
    through: list[int] = []

    def counted(past: Past, origins: Any) -> Any:
        through.append(len(origins))
        return walked(past, origins)

    monkeypatch.setattr(together, "walked", counted)
    counts = []
    for end in range(len(times) - 3, len(times)):
        for begin in range(0, 60, 20):
            turn = slice(begin, begin + 20)
            live.forecast_many(names[turn], times[:end], table[turn, :end], int(times[end - 1]))
        counts.append(len(through))

    assert counts[0] == 60
    assert counts[2] == counts[1]
