"""The eight ways in which the systems we grew from compared themselves unfairly (docs/experiments.md), planted: each is
refused, or shows as cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.experiment.trial import run_trial, trial_settings
from foresail.stack.provisioning import provisioning_of
from lab.experiments.arms import Arm, arm_of
from lab.experiments.input_hash import InputHash
from lab.experiments.pairing import Trials
from lab.experiments.results import TrialResult
from lab.experiments.spec import Experiment, Trial, Workload, World, read_experiment
from tests.lab.experiments.made_up import experiment, results, shifted
from twin.port.engine import Engine
from twin.port.objects import PodRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30
MIXED = Workload(name="mixed", plays=str(Path(__file__).with_name("mixed_world.csv")))
WORLD = World.model_validate({"nodes": 4, "warm_up": "0s", "length": "8m", "weather": "off"})
ARMS = ("none", "replicate-without-end", "shrink-demand")


@pytest.fixture(scope="module")
def played() -> Mapping[str, TrialResult]:
    """Return what came of the same small world under three arms."""
    return {
        name: run_trial(Trial(WORLD, MIXED, Arm.model_validate(arm_of(name)), 1), name, None).result
        for name in ARMS
    }


def _experiment(arm: Mapping[str, Any]) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "unfair",
            "workloads": [{"name": "openb"}],
            "arms": [{"name": "none", "base": "none"}, {"name": "other", **arm}],
            "hypothesis": {"arm": "none", "against": "other"},
        }
    )


@pytest.mark.parametrize(
    "autoscaling",
    [{"most_ratio": 1.0}, {"most_ratio": 0.5}, {"least_ratio": 3.0, "most_ratio": 3.0}],
)
def test_an_hpa_that_may_not_scale_is_refused(autoscaling: Mapping[str, float]) -> None:
    """The baseline's HPA had one replica at least and one at most."""
    with pytest.raises(ValueError, match="leaves an HPA nothing to do; set it above 1"):
        _experiment({"autoscaling": autoscaling})


def test_demand_that_is_taken_away_costs(played: Mapping[str, TrialResult]) -> None:
    """Scaling away what nobody asks by request, and suspending Jobs, saves energy and costs more than it saves."""
    none, less = played["none"], played["shrink-demand"]
    assert less.metrics["energy_kwh"] < none.metrics["energy_kwh"]
    assert less.components["withheld"] < -0.1  # four replicas of the reports, at 0.04 $/h each
    assert less.components["held"] < 0.0
    assert none.components["withheld"] == none.components["held"] == 0.0
    total = sum(less.components.values())
    assert less.metrics["score_dollars_per_hour"] == pytest.approx(total, abs=1e-3)
    without_requests = [name for name in none.components if name not in REQUESTS]
    lost, kept = (sum(one.components[name] for name in without_requests) for one in (less, none))
    assert lost < kept


REQUESTS = ("requests_served", "requests_failed", "requests_lost", "slo_services")


def test_requests_that_are_not_served_cost(played: Mapping[str, TrialResult]) -> None:
    """Who scales a shop to nothing is seen by its customers, not by its electricity meter."""
    none, less = played["none"], played["shrink-demand"]
    assert none.metrics["requests_failed_ratio"] < 0.05
    assert less.metrics["requests_failed_ratio"] > 0.5
    assert less.metrics["slo_minutes"] > none.metrics["slo_minutes"] + 5.0
    ours, theirs = (sum(one.components[name] for name in REQUESTS) for one in (less, none))
    assert ours < theirs - 1.0
    assert less.metrics["score_dollars_per_hour"] < none.metrics["score_dollars_per_hour"] - 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [("nodes", 33), ("cordoned", 2), ("scenario", "surge.yaml"), ("namespaces", ["shop"])],
)
def test_an_arm_cannot_have_a_world_of_its_own(field: str, value: object) -> None:
    """Fewer machines, a surge of its own or namespaces to look away from: one line says where these stand."""
    with pytest.raises(
        ValueError, match=f"{field}: an arm cannot have its own; what all arms meet"
    ):
        _experiment({"provisioner": "karpenter", field: value})


@pytest.mark.parametrize("name", ["executor.namespaces", "executor.mode"])
def test_an_arm_cannot_look_after_a_part(name: str) -> None:
    """An arm that acts does so in every namespace, and one that looks on is no arm that acts."""
    with pytest.raises(ValueError, match=f"settings.{name}: every arm looks after the whole"):
        _experiment({"acts": True, "settings": {name: "shadow"}})


@pytest.mark.parametrize("arm", ["karpenter", "hpa+ca"])
def test_who_rents_machines_sees_every_namespace(arm: str) -> None:
    """Pods that wait in a namespace which nobody named get a machine, whoever rents it."""
    trial = Trial(WORLD, MIXED, Arm.model_validate(arm_of(arm)), 1)
    engine = Engine(TwinConfig(provisioning=provisioning_of(trial_settings(trial, None).run)), 1)
    engine.add_nodes([NodeShape("n1", 1_000, GIB, 0, {})])
    engine.load(iter([_task("elsewhere", 10.0, namespace="somewhere-else")]))
    engine.advance(engine.now + 900.0)
    pod = engine.store.record("pods", "somewhere-else", "elsewhere")
    assert isinstance(pod, PodRecord)
    assert pod.node_name not in ("", "n1")
    assert engine.cloud.cost_dollars() > 0.0


def _task(name: str, at: float, namespace: str = "default") -> WorkloadArrival:
    return WorkloadArrival(
        at, name, "task", 3_000, GIB, 0, 1.0, 0.5, 3_000.0, "succeed", namespace=namespace
    )


def _stimulus(*arrivals: WorkloadArrival) -> str:
    engine = Engine(TwinConfig(), seed=3)
    stimulus = InputHash(engine)
    engine.add_nodes([NodeShape("n1", 4_000, 16 * GIB, 0, {})])
    engine.load(iter(arrivals))
    engine.advance(engine.now + 600.0)
    return stimulus.digest()


def test_every_arm_meets_the_same_demand(played: Mapping[str, TrialResult]) -> None:
    """What arms do to it is no part of it: the same came to all, at the same moments."""
    assert len({result.stimulus for result in played.values()}) == 1
    assert _stimulus(_task("a", 10.0)) == _stimulus(_task("a", 10.0))


def _compare_with(stimulus: str) -> None:
    """Compare arms of which one met other demand in one world."""
    of = experiment(seeds=3)
    found = [
        result.model_copy(update={"stimulus": _stimulus(_task("a", 10.0))})
        for result in results(of, shifted({}))
    ]
    Trials(of, found).pair("baseline-rules", "none")
    found[-1] = found[-1].model_copy(update={"stimulus": stimulus})
    Trials(of, found).pair("baseline-rules", "none")


def test_a_surge_that_one_arm_alone_met_is_refused() -> None:
    """The baseline alone had a surge of eight pods; such results are not compared."""
    with pytest.raises(InputError, match="did not meet the same demand at the same moments"):
        _compare_with(_stimulus(_task("a", 10.0), _task("surge", 60.0)))


def test_a_stimulus_that_came_later_is_refused() -> None:
    """The same was done to both clusters, to one of them eight seconds after the other."""
    with pytest.raises(InputError, match="did not meet the same demand at the same moments"):
        _compare_with(_stimulus(_task("a", 18.0)))


def test_replicating_without_end_scores_below_doing_nothing(
    played: Mapping[str, TrialResult],
) -> None:
    """A policy that harms by design is called so: it fills the machines, and what comes later waits."""
    none, harm = played["none"], played["replicate-without-end"]
    assert harm.metrics["score_dollars_per_hour"] < none.metrics["score_dollars_per_hour"]
    assert harm.metrics["waiting_pod_hours"] > none.metrics["waiting_pod_hours"] + 1.0


HARMFUL = read_experiment(Path(__file__).parents[3] / "experiments" / "harmful.toml")


@pytest.mark.parametrize(
    "workload", [one.name for one in HARMFUL.workloads if not one.name.startswith("web")]
)
def test_harm_is_noticed_on_every_workload(workload: str) -> None:
    """The first five minutes of the experiment show it, whether Services, Jobs, GPUs or failures are played.

    Its two workloads of a hundred machines are left to the experiment; the small shop above stands for them.
    """
    brief = HARMFUL.model_copy(
        update={"world": HARMFUL.world.model_copy(update={"length": 300.0, "nodes": 6})}
    )
    scores = {
        trial.arm.name: run_trial(trial, "", None).result.metrics["score_dollars_per_hour"]
        for trial in brief.trials("development")
        if trial.seed == 1 and trial.workload.name == workload
    }
    assert scores["replicate-without-end"] < scores["none"]
    assert scores["shrink-demand"] < scores["none"]


def test_in_a_rented_world_every_machine_can_be_given_back() -> None:
    """The workload's own machines are gone before anything runs: what runs stands on machines that were rented."""
    rented = WORLD.model_copy(update={"rented": True, "length": 300.0})
    trial = Trial(rented, MIXED, Arm.model_validate(arm_of("karpenter")), 1)
    metrics = run_trial(trial, "", None).result.metrics
    assert metrics["activations"] > 0
    assert metrics["price_dollars"] > 0.0
    assert metrics["node_hours"] < 4 * 300 / 3_600


def test_a_rented_world_is_refused_for_an_arm_that_rents_nothing() -> None:
    """Nothing would ever run there, which looks cheap."""
    content = experiment().model_dump(mode="json")
    with pytest.raises(ValueError, match=r"nobody rents a machine in arm 'none'"):
        Experiment.model_validate({**content, "world": {"rented": True}})
