"""Forecasts of the wrong hour: what an arm gets that must not do as well as the right ones."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np
import pytest

from foresail.experiment.trial import run_trial
from foresail.experiment.wrong_hours import WrongHours, deranged
from lab.experiments.arms import Arm
from lab.experiments.spec import Trial, Workload, World
from lab.rate_worlds.draw import RateService, RateWorld
from lab.rate_worlds.files import start_seconds, write_world
from lab.rate_worlds.pieces import DAY_MINUTES
from lab.rate_worlds.rate_sets import Floats
from schemas.envelope import Event
from schemas.model import EventData
from schemas.prediction import PredictionDemand
from services.inference.rate_model import RateModel
from services.inference.settings import InferenceSettings

STEP = 300
STEPS_A_DAY = 288


def _course(steps: int, a_day: int) -> Floats:
    times = np.arange(steps) / a_day
    return 100.0 - 80.0 * np.cos(2.0 * math.pi * times)


def _model() -> RateModel:
    return RateModel(InferenceSettings(demand_bands=True).used_rate_model)


def test_no_hour_keeps_its_own() -> None:
    """Of eight hours, and of two; a single one has no other."""
    for seed in range(20):
        for count in (2, 8):
            places = deranged(count, Random(seed))
            assert sorted(places) == list(range(count))
            assert all(place != number for number, place in enumerate(places))
    assert list(deranged(1, Random(1))) == [0]


def test_what_is_told_is_right_of_the_other_hour() -> None:
    """The middle is the course of the hour that stands for this one; its time is that of this one."""
    steps = 8 * 12
    first = 7 * STEPS_A_DAY
    course = _course(first + steps, STEPS_A_DAY)
    wrong = WrongHours(lambda: {"service/default/web": course}, first, steps, seed=3)
    hours = deranged(8, Random("3/wrong-hours"))

    for hour in range(8):
        step = first + 12 * hour + 5
        (band, *_) = wrong.bands(step, _model())
        other = first + 12 * hours[hour] + 5
        assert band.series.middle[0] == pytest.approx(course[other], rel=0.15)
        assert band.end_time_seconds == step * STEP + band.horizon_seconds


def _world() -> RateWorld:
    course = _course(8 * DAY_MINUTES, DAY_MINUTES)
    web = RateService(
        "web", "made", 1_000, 0.02, 1.0, 20, 4, course[:-DAY_MINUTES], course[-DAY_MINUTES:]
    )
    return RateWorld("made", 1, 6 * 3_600, 4, 16, (web,))


def _bands(path: Path, arm: Arm) -> dict[int, PredictionDemand]:
    world = World(nodes=1, warm_up="15s", length="70m", cycle="60s")
    start = datetime.fromtimestamp(start_seconds(_world()), UTC)
    workload = Workload(name="made", plays=str(path), start_time=start)
    trial = Trial(world, workload, arm, 1)
    told: dict[int, PredictionDemand] = {}

    def listen(event: Event[EventData]) -> None:
        if isinstance(event.data, PredictionDemand) and event.data.bands:
            told[event.cycle] = event.data

    run_trial(trial, "", None, listen)
    return told


def test_an_arm_gets_bands_of_another_hour_and_all_else_as_it_is(tmp_path: Path) -> None:
    """The same cycles, series, horizons and loads; other numbers in the bands."""
    path = write_world(_world(), tmp_path)
    right = _bands(path, Arm(name="right", base="foresail"))
    wrong = _bands(path, Arm(name="wrong", base="foresail", wrong_hours=True))
    assert right
    assert right.keys() == wrong.keys()
    for cycle, data in right.items():
        other = wrong[cycle]
        assert [band.horizon_seconds for band in data.bands] == [
            band.horizon_seconds for band in other.bands
        ]
        assert [band.end_time_seconds for band in data.bands] == [
            band.end_time_seconds for band in other.bands
        ]
    newest = max(right)
    assert right[newest].bands[0].series.middle != wrong[newest].bands[0].series.middle


def test_who_does_not_act_gets_no_wrong_hours() -> None:
    """Nobody would notice."""
    with pytest.raises(ValueError, match="wrong_hours"):
        Arm(name="hpa", base="hpa", wrong_hours=True)
