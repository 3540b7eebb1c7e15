"""Inference with a model that follows the cluster's failure rates."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.envelope import Event
from schemas.prediction import PredictionRisk, PredictionShadow
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN
from tests.forecast.live.world import World, newest_owed, state_after

MODEL = "live-risk"


def handler_of(**settings: Any) -> InferenceHandler:
    """Return inference with the shipped model as the active one, unless told otherwise."""
    chosen = {"model": MODEL, "shadow_models": (), "shadow_cycles": 1, **settings}
    return build(InferenceSettings(**chosen), ORIGIN)


def busy_world(cycles: int, *, fail_every: int = 0) -> tuple[World, list[Event[Any]]]:
    """Return cycles in which a Job starts on n1 in each, and runs for one; so many of them fail."""
    world, events = World(), []
    world.start("web", node="n2", workload="default/Deployment/web")
    for number in range(cycles):
        name = f"report-{number}"
        world.start(name, workload=f"batch/Job/{name}")
        events += world.next_cycle()
        if fail_every and number % fail_every == 0:
            world.fail(name)
        else:
            world.change(name, phase="Succeeded", ended=world.cycle + 1)
        events += world.next_cycle()
        world.vanish(name)
    return world, events


def risk_of(handler: InferenceHandler, events: list[Event[Any]]) -> PredictionRisk:
    """Return the newest prediction."""
    told = newest_owed(handler, state_after(handler, events))["prediction.risk"]
    assert isinstance(told, PredictionRisk)
    return told


def ratios(told: PredictionRisk) -> dict[str, float]:
    """Return risk by node."""
    assert told.status == "result"
    return dict(zip(told.nodes.ids, told.nodes.risk_ratio, strict=True))


def test_risk_follows_what_the_cluster_shows() -> None:
    """The same work that fails here and not there is foreseen to fail here, on the node where it starts."""
    handler = handler_of()
    quiet = ratios(risk_of(handler, busy_world(25)[1]))
    failing = ratios(risk_of(handler, busy_world(25, fail_every=3)[1]))
    assert failing["n1"] > 5 * quiet["n1"]
    assert failing["n1"] > failing["n2"]


def test_where_nothing_has_failed_it_abstains_and_a_program_that_fails_is_a_ground() -> None:
    """Another run of the program on a node is a ground there, as long as the program is a part of the cluster."""
    world, events = busy_world(3)
    assert set(risk_of(handler_of(), events).grounds) == {"-"}
    for number in range(4):
        world.start(f"web-{number}", node="n2", workload="shop/Deployment/web")
    world.start("report-8", workload="batch/Job/report-8")
    events += world.next_cycle()
    world.fail("report-8")
    events += world.next_cycle()
    world.vanish("report-8")
    world.start("report-9", workload="batch/Job/report-9")
    events += world.next_cycle()
    told = risk_of(handler_of(), events)
    assert dict(zip(told.nodes.ids, told.grounds, strict=True)) == {"n1": "p", "n2": "-"}


def test_a_program_that_is_the_cluster_is_no_ground() -> None:
    """What fails anywhere would speak for a failure everywhere."""
    world, events = World(), []
    world.start("a-1", workload="batch/Job/a-1")
    world.start("a-2", node="n2", workload="batch/Job/a-2")
    events += world.next_cycle()
    world.fail("a-1")
    events += world.next_cycle()
    told = risk_of(handler_of(), events)
    assert dict(zip(told.nodes.ids, told.grounds, strict=True))["n2"] == "-"


def test_a_workload_that_failed_is_foreseen_by_the_booster_and_explained() -> None:
    """A crash loop stands out, with the booster's terms and the factor by which this cluster repeats."""
    world, events = World(), []
    world.start("a")
    world.start("b", node="n2", workload="default/Deployment/web")
    events += world.next_cycle()
    for restarts in range(1, 9):
        world.change("a", restarts=restarts)
        events += world.next_cycle()
    told = risk_of(handler_of(), events)
    risk = ratios(told)
    assert told.grounds[0] == "w"
    assert risk["n1"] > 0.3 > risk["n2"]
    features = [term.feature for term in told.contributions if term.target.startswith("n1|")]
    assert "rate_factor" in features
    assert any(name.startswith("job_") for name in features)


def test_restarted_from_a_checkpoint_it_predicts_the_same() -> None:
    """Bit for bit, at every later cycle."""
    handler = handler_of()
    world, events = busy_world(12, fail_every=4)
    state = state_after(handler, events)
    text = state.model_dump(mode="json")
    restored = InferenceState.model_validate(text)
    assert restored.rates == state.rates
    world.start("late", workload="batch/Job/late-1")
    later = [*world.next_cycle(), *world.next_cycle()]
    states = (state_after(handler, later, one) for one in (state, restored))
    told, again = (newest_owed(handler, one)["prediction.risk"] for one in states)
    assert told == again
    assert told.status == "result"


def test_as_a_shadow_that_speaks_seldom_it_says_the_same() -> None:
    """What happens in the cycles between is counted all the same, repetition included."""
    world, events = busy_world(8, fail_every=2)
    world.start("loop", node="n2", workload="default/Deployment/loop")
    for restarts in range(1, 5):
        world.change("loop", restarts=restarts)
        events += world.next_cycle()
    settings = {"model": "seed-formula/1", "shadow_models": (MODEL,), "shadow_cycles": 5}
    shadow = handler_of(**settings)
    assert world.cycle % 5 == 0
    told = newest_owed(shadow, state_after(shadow, events))["prediction.shadow.1"]
    assert isinstance(told, PredictionShadow)
    assert told.risk_table is not None
    active = risk_of(handler_of(), events)
    assert told.risk_table.risk_ratio == active.nodes.risk_ratio
    assert told.features_hash == active.features_hash


def test_other_models_keep_no_rates() -> None:
    """Their state and checkpoints are what they were."""
    handler = handler_of(model="age-risk")
    state = state_after(handler, busy_world(2)[1])
    assert state.rates is None
    assert "rates" not in state.model_dump(mode="json")


@pytest.mark.parametrize("pods_missing", [False, True])
def test_without_pods_it_says_what_the_newest_known_state_makes_it_expect(
    pods_missing: bool,
) -> None:
    """A cycle without pods counts nothing; rates of before answer where the pods are known again."""
    handler = handler_of()
    world, events = busy_world(4, fail_every=2)
    events += world.next_cycle(pods_missing=pods_missing)
    events += world.next_cycle()
    told = risk_of(handler, events)
    assert told.status == "result"
