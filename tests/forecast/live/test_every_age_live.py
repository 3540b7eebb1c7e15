"""Attempts of every age in the running system: what is known of their start, and what nodes risk."""

from __future__ import annotations

import math

import pytest

from features.live.live_history import LIVE_SETS, LiveHistory
from schemas.prediction import PredictionRisk
from schemas.view import ObservationView, update_view
from services.inference.risk_inputs import RiskInputs
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from tests.builders import ORIGIN, cycle_time
from tests.forecast.live.world import World, newest_unpublished, state_after

SET = LIVE_SETS["hazard"]
SERVICE = "default/Deployment/web"


@pytest.fixture(scope="module")
def handler() -> InferenceHandler:
    """Inference with the shipped model of attempts of every age."""
    return build(InferenceSettings(model="age-risk", shadow_models=()), ORIGIN)


def risks_of(handler: InferenceHandler, events: list) -> dict[str, float]:
    """Return the newest cycle's node risks."""
    risk = newest_unpublished(handler, state_after(handler, events))["prediction.risk"]
    assert isinstance(risk, PredictionRisk)
    assert (risk.status, risk.calibrated, risk.horizon_seconds) == ("result", True, 900.0)
    return dict(zip(risk.nodes.ids, risk.nodes.risk_ratio, strict=True))


def test_what_ran_before_anybody_looked_has_no_age_but_the_time_it_was_seen() -> None:
    """The first snapshot's attempts have an unknown age, later ones their own, and both a least age."""
    world, live, view = World(), LiveHistory(), None
    world.start("old", workload=SERVICE)
    for cycle in range(1, 6):
        if cycle == 4:
            world.start("new", node="n2")
        placements, workloads, observation = world.next_cycle()
        live = live.with_placements(placements.data).with_workloads(workloads.data)
        view = update_view(view, observation)
        assert isinstance(view, ObservationView)
        live = live.with_observation(view)
    assert view is not None
    inputs = RiskInputs(view, live)
    table = dict(zip(inputs.rows.ids, inputs.matrix("hazard"), strict=True))
    old, new = table[f"n1|{SERVICE}"], table["n2|default/Job/report-1"]

    age, seen = SET.names.index("known_age_seconds"), SET.names.index("seen_seconds")
    assert math.isnan(old[age])
    assert old[seen] == pytest.approx(cycle_time(5) - cycle_time(1))
    assert 0.0 < new[age] < 2 * (cycle_time(5) - cycle_time(4))
    assert new[seen] == new[age]


def test_both_sets_are_told_apart_by_their_hash_and_agree_where_they_share_columns() -> None:
    """A model of either set names the numbers it read; shared columns are the same numbers."""
    world, live, view = World(), LiveHistory(), None
    world.start("old", workload=SERVICE)
    for _ in range(3):
        placements, workloads, observation = world.next_cycle()
        live = live.with_placements(placements.data).with_workloads(workloads.data)
        view = update_view(view, observation)
        assert view is not None
        live = live.with_observation(view)
    assert view is not None
    inputs = RiskInputs(view, live)

    assert inputs.features_hash("live") != inputs.features_hash("hazard")
    live_set = LIVE_SETS["live"].names
    shared = [name for name in SET.names if name in live_set]
    columns = [SET.names.index(name) for name in shared]
    same = inputs.matrix("live")[:, [live_set.index(name) for name in shared]]
    assert len(shared) > 50
    assert inputs.matrix("hazard")[:, columns].tobytes() == same.tobytes()


def test_a_failed_batch_pod_is_no_risk_of_its_node(handler: InferenceHandler) -> None:
    """Where a Job's pod has failed once and a service runs on, the formula says 0.95; the model does not."""
    world = World()
    world.start("web-1", workload=SERVICE)
    events = world.next_cycle()
    world.start("a")
    events += world.next_cycle()
    world.fail("a")
    for _ in range(3):
        events += world.next_cycle()

    assert 0.0 < risks_of(handler, events)["n1"] < 0.2


def test_a_starting_node_is_no_risk(handler: InferenceHandler) -> None:
    """A node that has just become ready and holds a pod that just started is far from an alarm."""
    world = World()
    world.ready["n2"] = False
    world.start("web-1", workload=SERVICE)
    events = world.next_cycle()
    world.ready["n2"] = True
    events += world.next_cycle()
    world.start("web-2", node="n2", workload=SERVICE)
    for _ in range(2):
        events += world.next_cycle()

    assert 0.0 < risks_of(handler, events)["n2"] < 0.2


def test_a_crash_loop_is_a_risk_and_more_so_the_longer_it_lasts(handler: InferenceHandler) -> None:
    """A pod whose container fails in every cycle stands out from its neighbour, more with each failure."""
    world = World()
    world.start("web-1", node="n2", workload=SERVICE)
    events = world.next_cycle()
    world.start("a")
    events += world.next_cycle()
    seen = []
    for restarts in range(1, 9):
        world.change("a", restarts=restarts)
        events += world.next_cycle()
        seen.append(risks_of(handler, events))

    assert seen[-1]["n1"] > max(0.3, 5 * seen[-1]["n2"])
    assert seen[-1]["n1"] > seen[0]["n1"]
