"""A trained demand model in the running system: windows of use, limits, and what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bus.errors import ConfigError, InputError
from features.series.features import (
    FEATURE_SET,
    FEATURE_SET_VERSION,
    FEATURES,
    TARGET,
)
from lab.forecast.model_writer import BoosterPart, ModelParts, write_model
from schemas.envelope import Event
from schemas.manifest import Calibration, TrainingData
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN, make_observation, stamp_event
from tests.forecast.live.one_split import HIGH, one_split
from tests.forecast.live.world import newest_unpublished, state_after

WINDOW_CYCLES = 30
"""Observations of ten seconds in a window of five minutes."""
EFFICIENCY = {"sleep_demand_ratio": 0.1, "dvfs_demand_ratio": 0.3, "balloon_demand_ratio": 0.45}
FACTOR = 2.0


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model that always says: `HIGH` spreads above the mean, doubled by calibration."""
    names = [feature.name for feature in FEATURES]
    parts = ModelParts(
        name="tiny-demand",
        kind="demand",
        feature_set=FEATURE_SET,
        feature_set_version=FEATURE_SET_VERSION,
        features=[(feature.name, feature.unit) for feature in FEATURES],
        data=TrainingData(dataset="fixture"),
        card="# One split\n",
        target=TARGET,
        thresholds={"efficiency": EFFICIENCY},
    )
    raw = one_split(len(names), names.index("max_2h"), 0.0, "reg:quantileerror")
    calibration = Calibration(kind="factor", factor=FACTOR)
    write_model(tmp_path / "tiny-demand", parts, [BoosterPart(3600.0, raw, 0.9, None, calibration)])
    return tmp_path / "tiny-demand"


def cycles(first: int, count: int, **cells: Any) -> list[Event[Any]]:
    """Return observations of two nodes; the cells are those of n1."""
    rows = {"n1": cells, "n2": {"cpu_requested_ratio": 0.05, "memory_requested_ratio": 0.05}}
    return [
        stamp_event(make_observation(rows, cycle=cycle)) for cycle in range(first, first + count)
    ]


def active(model: Path) -> InferenceHandler:
    """Return inference whose demand is the model's."""
    return build(InferenceSettings(demand_model=str(model), shadow_models=()), ORIGIN)


def test_demand_is_the_busier_resource_by_quantile(model: Path) -> None:
    """A steady node is predicted near its level, from measured use where there is any."""
    handler = active(model)
    busy = {"cpu_used_ratio": 0.25, "memory_used_ratio": 0.5}

    told = newest_unpublished(handler, state_after(handler, cycles(1, 3 * WINDOW_CYCLES, **busy)))[
        "prediction.demand"
    ]
    actual = dict(zip(told.nodes.ids, told.nodes.demand_ratio, strict=True))

    assert 0.5 <= actual["n1"] < 0.7
    assert 0.05 <= actual["n2"] < 0.2
    assert (told.quantile, told.horizon_seconds, told.demand) == (0.9, 3600.0, "peak_use")
    assert told.model_id.startswith("tiny-demand/")
    assert told.alarm_ratio == 0.45
    assert HIGH > 0


def test_a_node_of_which_nothing_is_known_is_not_called_idle(model: Path) -> None:
    """Before its first window has closed no node has a demand."""
    handler = active(model)

    told = newest_unpublished(handler, state_after(handler, cycles(1, 2)))["prediction.demand"]

    assert (told.status, told.nodes.ids) == ("result", ())


def test_risk_stays_the_formulas(model: Path) -> None:
    """A demand model alone changes no risk."""
    handler, plain = active(model), build(InferenceSettings(shadow_models=()), ORIGIN)
    events = cycles(1, 2)

    assert (
        newest_unpublished(handler, state_after(handler, events))["prediction.risk"]
        == newest_unpublished(plain, state_after(plain, events))["prediction.risk"]
    )
    demand = newest_unpublished(handler, state_after(handler, events))["prediction.demand"]
    assert handler.model_ids[:2] == ("seed-formula/1", demand.model_id)


def test_windows_survive_a_checkpoint(model: Path) -> None:
    """Packed in the middle of a window and unpacked, the next predictions are the same."""
    handler = active(model)
    state = state_after(
        handler, cycles(1, 3 * WINDOW_CYCLES + 7, cpu_used_ratio=0.3, memory_used_ratio=0.2)
    )
    restored = InferenceState.model_validate(state.model_dump(mode="json"))
    more = cycles(3 * WINDOW_CYCLES + 8, WINDOW_CYCLES, cpu_used_ratio=0.6)

    assert newest_unpublished(handler, restored) == newest_unpublished(handler, state)
    assert newest_unpublished(handler, state_after(handler, more, restored)) == newest_unpublished(
        handler, state_after(handler, more, state)
    )


def test_each_kind_of_model_has_its_setting(model: Path, make_model: Any) -> None:
    """A demand model as the risk model, or the other way round, is one clear line."""
    with pytest.raises(ConfigError, match=r"inference\.model = .*: name a model of kind risk"):
        build(InferenceSettings(model=str(model)), ORIGIN)
    with pytest.raises(ConfigError, match=r"inference\.demand_model = .*kind demand"):
        build(InferenceSettings(demand_model=str(make_model())), ORIGIN)


def test_a_target_of_another_meaning_is_refused(model: Path, tmp_path: Path) -> None:
    """A booster's number must mean what the series' code says."""
    names = [(feature.name, feature.unit) for feature in FEATURES]
    parts = ModelParts(
        name="other",
        kind="demand",
        feature_set=FEATURE_SET,
        feature_set_version=FEATURE_SET_VERSION,
        features=names,
        data=TrainingData(dataset="fixture"),
        card="",
        target="bananas",
    )
    raw = one_split(len(names), 0, 0.0, "reg:quantileerror")
    write_model(tmp_path / "other", parts, [BoosterPart(3600.0, raw, 0.9)])

    with pytest.raises(InputError, match=f"target = bananas: this code knows {TARGET}"):
        build(InferenceSettings(demand_model=str(tmp_path / "other")), ORIGIN)
