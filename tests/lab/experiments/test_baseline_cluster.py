"""`experiments/baseline-cluster.toml`: the preset of real clusters as a world of the twin."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from kubernetes.utils import parse_quantity

from lab.experiments.spec import read_experiment
from lab.live.baseline_cluster import LOAD, SURGE, SURGE_REPLICAS, WEB, baseline_objects
from twin.port.engine import Engine
from twin.port.files import read_scenario
from twin.port.workloads import open_workload

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
FORMS = ("baseline-cluster.toml", "baseline-cluster-long.toml")
IN_THE_SURGE_SECONDS = 700.0
Object = dict[str, Any]


def _preset(kind: str, name: str) -> Object:
    (match,) = (
        one
        for one in baseline_objects("default")
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
    )
    return dict(match)


def _requests(deployment: Object) -> dict[str, Decimal]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {name: parse_quantity(text) for name, text in container["resources"]["requests"].items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_world_is_the_preset(form: str) -> None:
    """Replicas, requests, traffic, surge and every value of the autoscaler are what real clusters get."""
    (workload,) = read_experiment(EXPERIMENTS / form).workloads
    assert workload.plays is not None
    assert workload.scenario is not None
    played = open_workload(workload.plays, nodes=3, seed=1)
    engine = Engine(seed=1)
    engine.add_nodes(played.nodes)
    engine.load(played.arrivals)
    engine.faults.play(read_scenario(Path(workload.scenario)))
    engine.advance(engine.now + IN_THE_SURGE_SECONDS)

    def stored(kind: str, name: str) -> Object:
        return engine.store.get(kind, "default", name)

    for name in (WEB, LOAD, SURGE):
        assert _requests(stored("deployments", name)) == _requests(_preset("Deployment", name))
    assert stored("deployments", LOAD)["spec"]["replicas"] == 2
    assert stored("deployments", SURGE)["spec"]["replicas"] == SURGE_REPLICAS
    spec = _preset("HorizontalPodAutoscaler", WEB)["spec"]
    scaler = stored("horizontalpodautoscalers", WEB)["spec"]
    assert scaler["behavior"]["scaleUp"] == spec["behavior"]["scaleUp"]
    assert scaler["behavior"]["scaleDown"].items() >= spec["behavior"]["scaleDown"].items()
    assert {**scaler, "behavior": None} == {**spec, "behavior": None}
    assert stored("deployments", WEB)["spec"]["replicas"] > 1  # one pod cannot carry its traffic
    traffic = "foresail.dev/traffic"
    preset = _preset("Service", WEB)
    service = stored("services", WEB)
    assert service["metadata"]["annotations"][traffic] == preset["metadata"]["annotations"][traffic]
