"""A shadow that is promoted predicts what is acted upon, from the observation after the judgement on."""

from __future__ import annotations

from typing import Any

import pytest

from features.baseline import MODEL_ID
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.promotion import OutcomeModels
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN, START_SECONDS, stamp_event
from tests.forecast.live.world import World, newest_unpublished, state_after


@pytest.fixture
def shadowed(make_model: Any) -> tuple[InferenceHandler, str]:
    """Return inference with the formula and one shadow, and the shadow's id."""
    settings = InferenceSettings(shadow_models=(str(make_model()),), shadow_cycles=5)
    handler = build(settings, ORIGIN)
    return handler, handler.model_ids[-1]


def judgement(driving: str, cycle: int) -> Event[Any]:
    """Return the judgement that names the model that drives."""
    data = OutcomeModels(
        cycle=cycle, cluster_time_seconds=START_SECONDS, window_seconds=1.0, confidence_ratio=0.95,
        driving=driving, before="", text="",
    )  # fmt: skip
    return stamp_event(data)


def risk_after(handler: InferenceHandler, state: InferenceState) -> Any:
    """Return the risk that is owed now."""
    return newest_unpublished(handler, state)["prediction.risk"]


def test_it_drives_from_the_observation_after_the_judgement_on(shadowed: Any) -> None:
    """The cycle that was open when the judgement came is still answered by what drove: log order alone decides."""
    handler, model_id = shadowed
    world = World()
    state = state_after(handler, world.next_cycle())
    state = handler.evolve(state, judgement(model_id, 1))
    assert risk_after(handler, state).model_id == MODEL_ID

    world.start("a")
    state = state_after(handler, world.next_cycle(), state)
    told = risk_after(handler, state)
    assert (told.model_id, told.calibrated, told.failure) == (model_id, True, "attempt_failed")
    assert told.alarm_ratio == 0.1

    state = handler.evolve(state, judgement("", 2))
    state = state_after(handler, world.next_cycle(), state)
    assert risk_after(handler, state).model_id == MODEL_ID


def test_the_driver_goes_on_predicting_as_a_shadow(shadowed: Any) -> None:
    """Its skill stays measured by the same predictions, whether it drives or not."""
    handler, model_id = shadowed
    world = World()
    state = state_after(handler, world.next_cycle())
    state = handler.evolve(state, judgement(model_id, 1))
    for _ in range(4):
        state = state_after(handler, world.next_cycle(), state)
    told = newest_unpublished(handler, state)
    assert told["prediction.shadow.1"].model_id == told["prediction.risk"].model_id == model_id
    assert told["prediction.demand"].model_id == MODEL_ID


def test_a_promoted_model_that_is_not_here_leaves_what_the_settings_name(shadowed: Any) -> None:
    """After a restart with other shadows the old judgement names a model that nobody runs."""
    handler, _ = shadowed
    world = World()
    state = handler.evolve(handler.initial(), judgement("gone/1", 0))
    state = state_after(handler, world.next_cycle(), state)
    assert risk_after(handler, state).model_id == MODEL_ID


def test_which_model_drives_survives_a_checkpoint(shadowed: Any) -> None:
    """Before and after the observation that lets it take effect."""
    handler, model_id = shadowed
    world = World()
    state = state_after(handler, world.next_cycle())
    state = handler.evolve(state, judgement(model_id, 1))
    restored = InferenceState.model_validate(state.model_dump(mode="json"))
    events = world.next_cycle()
    for one in (state, restored):
        after = state_after(handler, events, one)
        again = InferenceState.model_validate(after.model_dump(mode="json"))
        assert (
            risk_after(handler, after).model_id == risk_after(handler, again).model_id == model_id
        )


def test_between_its_turns_as_a_shadow_a_driver_sees_what_has_just_happened(shadowed: Any) -> None:
    """A shadow's history may wait for its next turn; a driver's may not."""
    handler, model_id = shadowed
    world = World()
    events = world.next_cycle()
    world.start("a")
    state = handler.evolve(state_after(handler, events), judgement(model_id, 1))
    state = state_after(handler, world.next_cycle(), state)
    calm = risk_after(handler, state).nodes.risk_ratio[0]
    world.change("a", restarts=1)
    state = state_after(handler, world.next_cycle(), state)
    assert isinstance(events[-1].data, Observation)
    assert risk_after(handler, state).nodes.risk_ratio[0] > calm
