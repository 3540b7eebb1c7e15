"""Demand by the minute as a fold of observations, and the bands that inference publishes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from features.live.demand_series import (
    DemandSeries,
    decode_demand,
    demand_after,
    encode_demand,
)
from features.series.band_state import ARRAYS
from schemas.observation import Observation
from schemas.prediction import PredictionDemand
from schemas.view import update_view
from schemas.work import ServiceCounters, WorkCounters
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from tests.builders import GIB, ORIGIN, make_observation, stamp_event

STEP_SECONDS = 15.0
BEGIN_SECONDS = 1_200_000.0
"""A whole minute."""
MACHINES = {
    "large": {"cpu_allocatable_cores": 16.0, "cpu_requested_ratio": 0.25},
    "small-0": {"cpu_allocatable_cores": 4.0, "cpu_requested_ratio": 0.5},
    "small-1": {"cpu_allocatable_cores": 4.0, "cpu_requested_ratio": 0.75},
}


def observed(cycle: int, requests: Mapping[str, float]) -> Observation:
    """Return an observation with requests counted so far by Service."""
    counters = tuple(
        ServiceCounters(service=name, served=count, failed=0.0, lost=0.0)
        for name, count in sorted(requests.items())
    )
    rows = {
        name: {"memory_allocatable_bytes": 8 * GIB, **machine} for name, machine in MACHINES.items()
    }
    return make_observation(
        rows,
        cycle=cycle,
        cluster_time_seconds=BEGIN_SECONDS + cycle * STEP_SECONDS,
        interval_seconds=STEP_SECONDS,
        work=WorkCounters(services=counters),
    )


def play(
    cycles: int, series: DemandSeries | None = None, first: int = 1, growth: float = 0.0
) -> DemandSeries:
    """Return the demand after some cycles of a Service with 40 requests/s, and more by `growth` each cycle."""
    for cycle in range(first, first + cycles):
        count = 600.0 * cycle + growth * cycle**2
        view = update_view(None, stamp_event(observed(cycle, {"shop/web": count})))
        assert view is not None
        series = demand_after(series, view)
    assert series is not None
    return series


def test_demand_is_requests_a_second_and_cores_by_size_of_machine() -> None:
    """A Service's counter becomes its rate; machines of one size are one series, and all are one more."""
    state = play(9).state

    newest = dict(zip(state.ids, state.values[:, -1].tolist(), strict=True))
    assert newest == {
        "nodes/16-cores-8-gib": 4.0,
        "nodes/4-cores-8-gib": 5.0,
        "nodes/all": 9.0,
        "service/shop/web": 40.0,
    }


def test_counters_that_begin_anew_add_no_rate() -> None:
    """A minute in which the counter fell has the rate of its other steps, never a negative one."""
    series = play(6)
    for cycle, count in ((7, 100.0), (8, 700.0), (9, 1_300.0)):
        view = update_view(None, stamp_event(observed(cycle, {"shop/web": count})))
        assert view is not None
        series = demand_after(series, view)

    row = series.state.ids.index("service/shop/web")
    assert series.state.values[row, -1] == 40.0


def test_a_restart_from_a_checkpoint_changes_no_bit() -> None:
    """Text and back in the middle of a minute, then half an hour more: all arrays equal those of who stayed."""
    before = play(130, growth=1.0)
    again = decode_demand(encode_demand(before))

    there, here = (play(140, series, first=131, growth=1.0) for series in (again, before))

    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(there.state, name), getattr(here.state, name))
    assert there.bands == here.bands != ()


@pytest.mark.parametrize("text", ["bm90IHppcHBlZA==", "eJyrVgpVslIyVKoFAA1kAqw="])
def test_a_spoiled_checkpoint_is_refused(text: str) -> None:
    """What is no packed demand is a ValueError, so that the state is built anew."""
    with pytest.raises(ValueError, match=r"unpacked|no demand"):
        decode_demand(text)


def published(settings: InferenceSettings, cycles: int) -> list[PredictionDemand]:
    """Return the demand predictions of a run."""
    handler: InferenceHandler = build(settings, ORIGIN)
    state, demands = handler.initial(), []
    for cycle in range(1, cycles + 1):
        event = stamp_event(observed(cycle, {"shop/web": 600.0 * cycle}))
        state = handler.evolve(state, event)
        for new_event in handler.decide(state, overdue=False):
            state = handler.evolve(state, stamp_event(new_event.data))
            if isinstance(new_event.data, PredictionDemand):
                demands.append(new_event.data)
    return demands


def test_bands_are_published_once_a_minute_where_they_are_asked_for() -> None:
    """Every fourth prediction at 15 s holds four horizons of every series; without the setting none has the field."""
    settings = InferenceSettings(shadow_models=(), demand_bands=True, rate_model="")
    demands = published(settings, 12)

    assert [bool(data.bands) for data in demands] == [
        cycle % 4 == 1 and cycle > 1 for cycle in range(1, 13)
    ]
    bands = demands[-4].bands
    assert [each.horizon_seconds for each in bands] == [300.0, 900.0, 1_800.0, 3_600.0]
    assert bands[0].series.row(3) == {
        "ids": "service/shop/web", "newest": 40.0, "low": 36.0, "middle": 40.0, "high": 44.0,
        "rule": "last_value", "basis": "assumed",
    }  # fmt: skip

    silent = published(InferenceSettings(shadow_models=(), demand_bands=False), 6)
    assert "bands" not in json.loads(silent[-2].model_dump_json())
