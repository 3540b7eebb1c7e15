"""The oracle knows what comes, looks without touching, and does nothing that gains nothing."""

from __future__ import annotations

import pytest

from foresail.experiment.oracle import Oracle, ScaleDeployment, SwitchPower, apply, choices
from lab.experiments.arms import Arm, Foresight, arm_of
from lab.experiments.truth import GroundTruth
from lab.experiments.worth import play
from projections.score.prices import ScorePrices
from twin.port.engine import Engine
from twin.port.objects import PodRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30
ORACLE = Arm.model_validate(arm_of("oracle"))
SURGE = "recorded rates=0:20,1200:150,1800:20"


def _task(name: str, at: float) -> WorkloadArrival:
    return WorkloadArrival(at, name, "task", 3_500, GIB, 0, 1.0, 0.5, 300.0, "succeed")


def _shop(traffic: str = SURGE) -> WorkloadArrival:
    return WorkloadArrival(
        1.0, "shop", "service", 1_000, GIB, 0, 0.2, 0.5, None, "run",
        replicas=1, traffic=traffic, request_cpu_seconds=0.02,
    )  # fmt: skip


def _engine(*arrivals: WorkloadArrival, nodes: int = 4) -> Engine:
    engine = Engine(TwinConfig(), seed=3)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 16 * GIB, 0, {}) for i in range(nodes)])
    engine.load(iter(arrivals))
    return engine


def _play(*arrivals: WorkloadArrival, oracle: bool, seconds: float = 2_400.0) -> dict[str, float]:
    engine = _engine(*arrivals)
    if oracle:
        Oracle(engine, ORACLE, Foresight())
    truth = GroundTruth(engine, 0.0)
    engine.advance(engine.now + seconds)
    return truth.metrics()


def test_it_is_ready_before_the_surge() -> None:
    """A surge of ten minutes to seven times the requests: replicas are there when it comes, and go afterwards."""
    surprised, ready = _play(_shop(), oracle=False), _play(_shop(), oracle=True)
    assert surprised["slo_minutes"] > 8.0
    assert ready["slo_minutes"] < 2.0
    assert ready["requests_served"] > surprised["requests_served"] + 10_000
    assert ready["energy_kwh"] < surprised["energy_kwh"]


def test_machines_sleep_only_while_nobody_needs_them() -> None:
    """Two hours of little and then a Job for every machine: energy is saved, and no Job waits longer for it."""
    jobs = tuple(_task(f"job-{i}", 3_000.0 + i) for i in range(4))
    idle, saving = (_play(*jobs, oracle=oracle, seconds=4_000.0) for oracle in (False, True))
    assert saving["energy_kwh"] < 0.7 * idle["energy_kwh"]
    assert saving["jobs_completed"] == idle["jobs_completed"] == 4.0
    assert saving["waiting_pod_hours"] <= idle["waiting_pod_hours"] + 0.01


def test_trying_out_touches_nothing_and_comes_true() -> None:
    """What is tried leaves no trace in the cluster, and doing the same there gives what was foreseen."""
    engine = _engine(_shop("constant requests_per_second=20"), _task("job", 400.0))
    engine.advance(engine.now + 300.0)
    oracle, before = Oracle(engine, ORACLE, Foresight()), engine.state_hash()
    choice = (ScaleDeployment("default", "shop", 3), SwitchPower("n3", asleep=True))
    foreseen = oracle.try_out(choice)
    assert engine.state_hash() == before
    apply(engine, choice)
    truth = engine.clone()
    truth.clock.pass_over(engine.clock)
    assert play(truth, Foresight().ahead_seconds).amounts == foreseen.amounts


def test_an_occupied_machine_is_never_put_to_sleep() -> None:
    """Only machines that are empty and stay so are offered; those that sleep can be woken, all or half of them."""
    engine = _engine(_task("now", 10.0), _task("soon", 200.0))
    engine.advance(engine.now + 60.0)
    (offered,) = choices(engine, play(engine.clone(), 900.0))
    (pod,) = engine.store.records("pods")
    assert isinstance(pod, PodRecord)
    assert len(offered) == 2  # of four, one is busy and one will be
    assert SwitchPower(pod.node_name, asleep=True) not in offered
    apply(engine, offered)
    waking = list(choices(engine, play(engine.clone(), 900.0)))
    assert [len(choice) for choice in waking] == [1, 2]
    assert all(isinstance(part, SwitchPower) and not part.asleep for part in waking[1])


def test_what_a_stretch_is_worth_follows_the_scores_prices() -> None:
    """An idle hour of four machines costs their cores, memory and energy."""
    prices = ScorePrices()
    expected = -(16 * prices.core_hour + 64 * prices.memory_gib_hour + 4 * 0.08 * 0.1)
    assert play(_engine(), 3_600.0).money(prices, 0.1) == pytest.approx(expected)
