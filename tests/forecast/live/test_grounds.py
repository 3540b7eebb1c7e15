"""What a trained model says it rests on: repetition in the workload, its owner or its machine, or nothing at all."""

from __future__ import annotations

from typing import Any

from services.inference.service import build
from services.inference.settings import InferenceSettings
from tests.builders import ORIGIN
from tests.forecast.live.world import World, newest_unpublished, state_after


def grounds_after(make_model: Any, world: World, fail: str = "", **settings: Any) -> Any:
    """Return the newest prediction's grounds after pods were there for a cycle and one of them failed once."""
    handler = build(
        InferenceSettings(
            **{"model": str(make_model()), "shadow_models": (), "shadow_cycles": 1, **settings}
        ),
        ORIGIN,
    )
    events = world.next_cycle()
    if fail:
        world.change(fail, restarts=1)
        events += world.next_cycle()
    return newest_unpublished(handler, state_after(handler, events))


def beside(world: World, pods: int, **fields: Any) -> None:
    """Let pods of another owner run, so that none owns most of the cluster."""
    for number in range(pods):
        world.start(f"other-{number}", workload="other/Deployment/web", **fields)


def test_where_nothing_has_failed_it_abstains(make_model: Any) -> None:
    """Its number is then the rate of first failures, and it says so; a node without pods has no ground either."""
    world = World()
    world.start("a")
    assert grounds_after(make_model, world)["prediction.risk"].grounds == "--"


def test_a_workload_that_failed_before_is_a_ground_wherever_it_runs(make_model: Any) -> None:
    """The same program fails again: on the other node, too."""
    world = World()
    world.start("a")
    world.start("b", node="n2")
    assert grounds_after(make_model, world, "a")["prediction.risk"].grounds == "ww"


def test_another_workload_of_the_owner_is_a_ground_where_owners_tell_anything(
    make_model: Any,
) -> None:
    """Unless most of the cluster is one owner's: then what fails anywhere would speak for a failure everywhere."""
    for others, letter in ((4, "o"), (0, "-")):
        world = World()
        world.start("a")
        world.start("b", node="n2", workload="default/Job/report-2")
        beside(world, others)
        told = grounds_after(make_model, world, "a")["prediction.risk"]
        assert told.grounds == f"w{letter}"


def test_a_failure_of_something_else_on_the_machine_is_a_ground(make_model: Any) -> None:
    """What runs now on the node may be hit by the same cause, whoever owns it."""
    world = World()
    world.start("a")
    beside(world, 4)
    events = world.next_cycle()
    world.fail("a")
    events += world.next_cycle()
    world.vanish("a")
    events += world.next_cycle()
    handler = build(InferenceSettings(model=str(make_model()), shadow_models=()), ORIGIN)
    assert (
        newest_unpublished(handler, state_after(handler, events))["prediction.risk"].grounds == "m-"
    )


def test_a_shadow_says_it_of_the_nodes_that_it_lists(make_model: Any) -> None:
    """A letter for each row of the table, whether it is a sample or not; the formula says nothing of the kind."""
    world = World()
    world.start("a")
    settings = {
        "model": "seed-formula/1",
        "shadow_models": (str(make_model("once")),),
        "shadow_targets": 1,
    }
    told = grounds_after(make_model, world, "a", **settings)
    shadow = told["prediction.shadow.1"]
    assert (shadow.risk_table.ids, shadow.grounds) == (("n1",), "w")
    assert "grounds" not in told["prediction.risk"].model_dump()
