"""Bands of demand in the profile `foresail`: replicas before they are needed, and a reserve for what is foreseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.rerun.settings import agent_settings
from schemas.actions import ReplicateAction
from schemas.config import Config
from schemas.prediction import BandTable, DemandBands
from services.agents.appraisal import Band, PolicyInput
from services.agents.effects import chance_above
from services.agents.efficiency.value import capacity_of
from services.agents.value_settings import ValueSettings
from tests.agents.test_value_efficiency import machines
from tests.agents.value_world import ScriptedService, ValueWorld


def first_raise(*, forecast: bool) -> tuple[float, float]:
    """Return the rate at which more replicas were first asked for on a slow rise, and the bad requests then."""
    web = ScriptedService(rate=30.0)
    world = ValueWorld("safety", {"web": web}, value={"forecast": forecast})
    world.play(140)
    web.rate = 46.0  # what four replicas do not bear is seen once
    world.play(3)
    web.rate = 24.0
    world.play(90)
    for _ in range(80):
        web.rate += 0.3
        if isinstance(world.play().action, ReplicateAction):
            break
    assert world.state.memory is not None
    return web.rate, world.state.memory.services["shop/web"].bad_ratio


def test_bands_raise_replicas_earlier_on_a_rise() -> None:
    """With bands it asks before a request is bad, at a rate that is at least three requests/s lower."""
    with_bands, bad = first_raise(forecast=True)
    without, _ = first_raise(forecast=False)

    assert bad == 0.0
    assert with_bands <= without - 3.0


def band(name: str, seconds: float, high: float, basis: str = "own") -> DemandBands:
    """Return one series' band at one horizon."""
    table = BandTable(
        ids=(name,), newest=(high - 2.0,), low=(high - 4.0,), middle=(high - 2.0,), high=(high,),
        rule=("trend",), basis=(basis,),
    )  # fmt: skip
    return DemandBands(horizon_seconds=seconds, end_time_seconds=seconds, series=table)


def situation() -> PolicyInput:
    """Return what agent B sees of four busy and four empty machines, 16 cores requested."""
    world = ValueWorld("efficiency", nodes=machines(4, 4))
    world.play(4)
    assert world.state.view is not None
    assert world.state.memory is not None
    return PolicyInput(world.state.view, world.state.memory, ValueSettings())


def test_the_reserve_is_what_demand_may_grow_by_within_a_horizon() -> None:
    """The upper band at 5 minutes counts, that of half an hour does not, and a guess counts as nothing."""
    seen = situation()
    cores = seen.memory.demand[-1].cores

    foreseen = replace(
        seen, bands=(band("nodes/all", 300, cores + 7.0), band("nodes/all", 1_800, 99.0))
    )
    assert capacity_of(foreseen).reserve_cores == pytest.approx(7.0)
    guessed = replace(seen, bands=(band("nodes/all", 300, cores + 7.0, "assumed"),))
    assert capacity_of(guessed).reserve_cores == capacity_of(seen).reserve_cores < 7.0


def test_the_chance_to_exceed_follows_the_band() -> None:
    """One in ten above the upper end, half above the middle, and nine in ten above the lower end."""
    known = Band(low=16.0, middle=18.0, high=20.0, rule="trend", basis="own")
    chances = [chance_above(known, value) for value in (16.0, 18.0, 20.0)]
    assert chances == pytest.approx([0.9, 0.5, 0.1], abs=1e-4)


def test_a_re_run_has_the_announced_value_settings() -> None:
    """An arm with bands is judged again with bands; a recording from before them without."""
    announced = {
        "profile": "foresail", "thresholds": {}, "signal_limit_intervals": 3.0,
        "value": ValueSettings(forecast=True, headroom_ratio=0.2).model_dump(mode="json"),
    }  # fmt: skip
    older = {name: value for name, value in announced.items() if name != "value"}

    def value_of(settings: dict[str, object]) -> ValueSettings:
        config = Config.model_construct(process="agent-safety", settings=settings)
        return agent_settings("safety", config, {}).value

    assert value_of(announced) == ValueSettings(forecast=True, headroom_ratio=0.2)
    assert value_of(older).forecast is False
