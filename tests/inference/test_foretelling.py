"""Bands of demand by the trained model of rates, from the history that inference follows."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bus.errors import ConfigError
from features.workload_history.grid import DAY_STEPS, STEP_SECONDS
from schemas.history import FilledSeries, HistoryFilled
from schemas.prediction import PredictionDemand
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN, stamp_event
from tests.inference.test_workloads import BEGIN_SECONDS, CYCLE_SECONDS, SERIES, observed

DAYS = 8
FIRST_STEP = int(BEGIN_SECONDS // STEP_SECONDS)


def rate_at(seconds: float) -> float:
    """Return the requests a second of a Service that sleeps at night and wakes within an hour each morning."""
    hour = seconds / 3_600.0 % 24.0
    return 20.0 + 80.0 / (1.0 + math.exp(-6.0 * (hour - 8.0))) * (hour < 20.0)


def filled(days: int = DAYS) -> HistoryFilled:
    """Return the days before the first cycle."""
    steps = days * DAY_STEPS
    start = (FIRST_STEP - steps) * STEP_SECONDS
    noise = np.random.default_rng(7).normal(1.0, 0.03, steps)
    values = [rate_at(start + step * STEP_SECONDS) * float(noise[step]) for step in range(steps)]
    return HistoryFilled(
        cycle=0,
        cluster_time_seconds=BEGIN_SECONDS,
        part=0,
        source="table",
        start_time_seconds=float(start),
        step_seconds=float(STEP_SECONDS),
        series=(FilledSeries(id=SERIES, values=tuple(values)),),
    )


def handler_of(**settings: Any) -> InferenceHandler:
    """Return inference that publishes bands."""
    asked = {"shadow_models": (), "demand_bands": True, **settings}
    return build(InferenceSettings.model_validate(asked), ORIGIN)


def play(
    handler: InferenceHandler, state: InferenceState, cycles: range, served: float
) -> tuple[InferenceState, dict[int, PredictionDemand], float]:
    """Play cycles of the Service; return the predictions of demand by cycle."""
    said = {}
    for cycle in cycles:
        served += rate_at(BEGIN_SECONDS + cycle * CYCLE_SECONDS) * CYCLE_SECONDS
        state = handler.evolve(state, stamp_event(observed(cycle, served, 0.0)))
        for new in handler.decide(state, overdue=False):
            state = handler.evolve(state, stamp_event(new.data))
            if isinstance(new.data, PredictionDemand):
                said[cycle] = new.data
    return state, said, served


@pytest.fixture(scope="module")
def told() -> tuple[InferenceState, dict[int, PredictionDemand], float]:
    """Inference with eight days of history, after a quarter of an hour."""
    handler = handler_of()
    state = handler.evolve(handler.initial(), stamp_event(filled()))
    return play(handler, state, range(1, 61), 0.0)


def test_bands_come_as_a_step_ends_and_name_the_model(
    told: tuple[InferenceState, dict[int, PredictionDemand], float],
) -> None:
    """Once in five minutes, for every horizon, in order, made by the model that is shipped."""
    _, said, _ = told
    with_bands = {cycle: data.bands for cycle, data in said.items() if data.bands}
    begins = sorted(with_bands)
    assert all(b - a == STEP_SECONDS / CYCLE_SECONDS for a, b in pairwise(begins[1:]))
    bands = with_bands[begins[-1]]
    assert [one.horizon_seconds for one in bands] == [300, 600, 900, 1_800, 3_600]
    for one in bands:
        row = one.series.ids.index(SERIES)
        assert one.series.low[row] <= one.series.middle[row] <= one.series.high[row]
        assert one.series.lowest[row] < one.series.low[row]
        assert one.series.high[row] < one.series.highest[row]
        assert one.step_seconds == STEP_SECONDS
        assert one.series.rule[row].startswith("rates-ahead/")
    assert bands[0].end_time_seconds % STEP_SECONDS == 0


def test_a_step_that_nobody_measured_whole_silences_nobody() -> None:
    """Where the history ends ten minutes before the first cycle, the newest value before the hole is told."""
    handler, past = handler_of(), filled()
    values = (*past.series[0].values[:-2], None, None)
    holed = past.model_copy(update={"series": (FilledSeries(id=SERIES, values=values),)})
    state = handler.evolve(handler.initial(), stamp_event(holed))

    _, said, _ = play(handler, state, range(1, 2), 0.0)

    table = said[1].bands[0].series
    row = table.ids.index(SERIES)
    assert table.newest[row] == pytest.approx(past.series[0].values[-3], rel=1e-3)
    assert table.rule[row].startswith("rates-ahead/")


def test_what_is_foretold_is_near_what_comes(
    told: tuple[InferenceState, dict[int, PredictionDemand], float],
) -> None:
    """The rate so far ahead lies within a tenth of the middle, whatever the hour is."""
    _, said, _ = told
    newest = next(data for _, data in sorted(said.items(), reverse=True) if data.bands)
    for one in newest.bands:
        row = one.series.ids.index(SERIES)
        truth = rate_at(one.end_time_seconds - STEP_SECONDS / 2)
        assert one.series.middle[row] == pytest.approx(truth, rel=0.1)


def test_a_restart_goes_on_where_it_was(
    told: tuple[InferenceState, dict[int, PredictionDemand], float],
) -> None:
    """A state that went through a checkpoint foretells the same, and the state before is as it was."""
    state, _, served = told
    stored = state.model_dump_json()
    handler = handler_of()
    restored = InferenceState.model_validate(json.loads(stored))
    assert handler.rebuilt_from == (("history", ">"),)  # which the follower reads again
    restored = handler.evolve(restored, stamp_event(filled()))

    _, went_on, _ = play(handler_of(), state, range(61, 102), served)
    _, began_again, _ = play(handler, restored, range(61, 102), served)

    assert any(data.bands for data in went_on.values())
    assert went_on == began_again
    assert state.model_dump_json() == stored


def test_without_a_history_a_simple_rule_speaks() -> None:
    """A new Service has bands from its second step on, by a rule that is named, until the model has seen enough."""
    handler = handler_of()
    _, said, _ = play(handler, handler.initial(), range(1, 62), 0.0)
    rules = {rule for data in said.values() for one in data.bands for rule in one.series.rule}
    assert rules
    assert not any(rule.startswith("rates-ahead") for rule in rules)


@pytest.mark.parametrize("name", ["nowhere", "small-risk"])
def test_a_name_that_is_no_model_of_rates_is_refused(name: str) -> None:
    """By the setting's own name, whether there is no such model or it predicts something else."""
    with pytest.raises(ConfigError, match=f"inference.rate_model = {name}"):
        handler_of(rate_model=name)


def test_without_a_model_bands_are_of_minutes() -> None:
    """An empty name gives the bands of every minute; nothing is foretold where bands are off."""
    by_minute = handler_of(rate_model="")
    _, said, _ = play(by_minute, by_minute.initial(), range(1, 40), 0.0)
    assert sum(bool(data.bands) for data in said.values()) >= 8
    assert "rates-ahead" not in " ".join(by_minute.model_ids)
    assert any(each.startswith("rates-ahead/") for each in handler_of().model_ids)
    off = handler_of(demand_bands=False)
    state, said, _ = play(off, off.initial(), range(1, 40), 0.0)
    assert not any(data.bands for data in said.values())
    assert state.foretold is None
