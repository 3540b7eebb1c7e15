"""A model of demand that is back in shadow: agents judge without its forecast, say so, and act on it again later."""

from __future__ import annotations

from schemas.foresight import OutcomeForesight, shadows_text
from services.agents.state import AgentState
from tests.agents.test_value_bands import steady_world
from tests.agents.value_world import ValueWorld
from tests.builders import stamp_event


def judgement(world: ValueWorld, *shadows: str) -> OutcomeForesight:
    """Return a judgement at the newest observation."""
    assert world.state.view is not None
    return OutcomeForesight(
        cycle=world.cycle, cluster_time_seconds=world.state.view.cluster_time_seconds, window_seconds=21_600.0,
        confidence_ratio=0.95, shadows=shadows, text=shadows_text((), shadows),
    )  # fmt: skip


def test_a_forecast_of_a_model_in_shadow_asks_for_nothing() -> None:
    """The rise that it foresees is left out, the proposal names the model, and what is seen is answered as ever."""
    world = steady_world(high=62.0)
    world.take(judgement(world, "trend"))
    proposal = world.play()

    assert (proposal.action.kind, proposal.forecast) == ("noop", None)
    assert proposal.left_out_models == ("trend",)
    assert "without the forecast of trend, which is back in shadow" in proposal.line()
    world.services["web"].rate = 90.0
    seen = world.play(4)
    assert (seen.action.kind, seen.forecast) == ("replicate", None)


def test_another_model_still_speaks() -> None:
    """Only what is left out is: the same rise by another model asks for replicas."""
    world = steady_world(high=62.0)
    world.take(judgement(world, "daily"))
    proposal = world.play()

    assert (proposal.action.kind, proposal.left_out_models) == ("replicate", ())
    assert proposal.forecast is not None


def test_a_model_that_drives_again_is_acted_on() -> None:
    """A judgement without it ends that, from the next observation on."""
    world = steady_world(high=62.0)
    world.take(judgement(world, "trend"))
    assert world.play(2).action.kind == "noop"
    world.take(judgement(world))

    assert world.play().action.kind == "replicate"


def test_a_judgement_holds_from_the_next_observation_on() -> None:
    """Read before or after the answer to its own cycle it changes nothing of that answer, so that re-runs are equal."""
    world = steady_world(high=62.0)
    assert world.play().action.kind == "replicate"
    *before, _ = world.log
    state = world.handler.initial()
    for event in before:
        state = world.handler.evolve(state, event)
    read = world.handler.evolve(state, stamp_event(judgement(world, "trend")))

    assert world.handler.decide(read, overdue=False) == world.handler.decide(state, overdue=False)
    assert ("outcome", "foresight") in world.handler.reads


def test_a_restart_knows_what_is_left_out() -> None:
    """The state as text and back; a checkpoint without any such model is as before."""
    world = steady_world(high=62.0)
    assert "left_out" not in world.state.model_dump_json()
    world.take(judgement(world, "trend"))
    world.state = AgentState.model_validate_json(world.state.model_dump_json())

    assert world.play().left_out_models == ("trend",)
