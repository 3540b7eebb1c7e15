"""One world with all of it on: the same bytes from the same seed, and from a killed and restored one.

People and their requests, autoscalers on CPU and on requests, a vertical one that resizes in place, a provisioner with
spot machines, Jobs with deadlines, probes, rough weather, and a scenario that changes traffic and breaks things.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from twin.checkpoint import Checkpoint
from twin.config import TwinConfig
from twin.config.behaviour import MetricsConfig
from twin.config.health import HealthConfig
from twin.config.provisioning import (
    ClusterAutoscalerConfig,
    MachineType,
    NodeGroup,
    Provisioner,
    ProvisioningConfig,
)
from twin.config.serving import ServingConfig
from twin.encoding import state_lines
from twin.engine import Engine
from twin.faults import scenario_of
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
MINUTES = 50
WORLD = {"seed": 9}
CASES: list[tuple[Provisioner, Any]] = [("cluster-autoscaler", "aggregate"), ("karpenter", "exact")]
PROBES = {
    kind: {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5}
    for kind in ("readinessProbe", "livenessProbe")
}
WEATHER = HealthConfig(
    weather="rough",
    node_mttf_days=20.0,
    slow_per_node_year=120.0,
    pod_crashes_per_day=0.3,
    answer_median_seconds=2.0,
    leaking_ratio=0.2,
    leak_median_seconds=1_200.0,
)
SCENARIO = {
    "name": "all",
    "faults": [
        {"fault": "traffic", "at_seconds": 300, "duration_seconds": 400, "factor": 3},
        {
            "fault": "traffic",
            "at_seconds": 900,
            "duration_seconds": 600,
            "services": ["web"],
            "traffic": "recorded rates=0:60,200:300,400:30",
        },
        {
            "fault": "traffic",
            "at_seconds": 1_600,
            "duration_seconds": 900,
            "traffic": "bursts base=20 burst=260 every_seconds=200 last_seconds=40",
        },
        {"fault": "slow_node", "at_seconds": 700, "duration_seconds": 300, "speed_ratio": 0.4, "nodes": {"pick": 2}},
        {"fault": "spot_notice", "at_seconds": 1_200, "nodes": {"names": ["n5"]}},
        {"fault": "node_death", "at_seconds": 1_900, "duration_seconds": 300, "nodes": {"pick": 1}},
        {"fault": "metrics_gap", "at_seconds": 2_200, "duration_seconds": 120},
    ],
}  # fmt: skip


def _arrivals() -> list[WorkloadArrival]:
    """Return Jobs that need more room than there is at first, some with deadlines that are too short."""
    return [
        WorkloadArrival(
            time_seconds=30.0 * number,
            name=f"job-{number}",
            kind="task",
            cpu_request_millicores=1_500,
            memory_request_bytes=GIB,
            gpus=0,
            cpu_usage_ratio=0.8,
            memory_usage_ratio=0.5,
            duration_seconds=400.0,
            outcome="succeed",
            late_after_seconds=[None, 420.0, 2_000.0][number % 3],
            active_deadline_seconds=[None, None, 200, 3_000][number % 4],
        )
        for number in range(30)
    ]


def _deploy(engine: Engine, name: str, traffic: str) -> None:
    labels = {"app": name}
    resources = {"requests": {"cpu": "500m", "memory": "128Mi"}, "limits": {"cpu": "1"}}
    container = {"name": "c", "image": f"{name}:1", "resources": resources, **PROBES}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    store = engine.store
    store.create("deployments", "default", {"metadata": {"name": name}, "spec": spec})
    notes = {"foresail.dev/traffic": traffic}
    service = {"selector": labels, "ports": [{"port": 80}]}
    store.create(
        "services", "default", {"metadata": {"name": name, "annotations": notes}, "spec": service}
    )


def _autoscale(engine: Engine) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment"}
    rate = {"type": "AverageValue", "averageValue": "30"}
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": "http_requests_per_second"}, "target": rate},
    }
    hpa = {"scaleTargetRef": {**target, "name": "web"}, "maxReplicas": 8, "metrics": [metric]}
    vpa = {
        "targetRef": {**target, "name": "shop"},
        "updatePolicy": {"updateMode": "InPlaceOrRecreate", "minReplicas": 1},
    }
    for resource, spec in (("horizontalpodautoscalers", hpa), ("verticalpodautoscalers", vpa)):
        engine.store.create(resource, "default", {"metadata": {"name": "a"}, "spec": spec})


def build(provisioner: Provisioner, mode: Any, *, seed: int = 9, empty: bool = False) -> Engine:
    """Build the world; an empty one is what a stored state is restored into."""
    machine = MachineType("m", 8_000, 32 * GIB, 0.4, 0.1, zones=("a", "b"), interruptions_per_hour=1.0)  # fmt: skip
    config = TwinConfig(
        health=WEATHER,
        serving=ServingConfig(mode=mode),
        metrics=MetricsConfig(source="prometheus"),
        provisioning=ProvisioningConfig(
            provisioner=provisioner,
            machines=(machine,),
            groups=(NodeGroup("g", "m", most=6, start=0, spot=True),),
            cluster_autoscaler=ClusterAutoscalerConfig(
                unneeded_seconds=120.0, delay_after_add_seconds=120.0
            ),
        ),
    )
    engine = Engine(config, seed=seed)
    engine.load(iter(_arrivals()))
    if empty:
        return engine
    zone = {"topology.kubernetes.io/zone": "a"}
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 16 * GIB, 0, zone) for i in range(6)])
    _deploy(engine, "web", "constant requests_per_second=60")
    _deploy(engine, "shop", "bursts base=30 burst=120 every_seconds=300 last_seconds=60")
    _autoscale(engine)
    engine.faults.play(scenario_of(SCENARIO, "scenario"))
    return engine


def state_bytes(engine: Engine) -> str:
    """Return a digest of every byte of the state as it would be stored."""
    lines = state_lines(engine.seed, engine.config, engine.parts)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def evidence(engine: Engine) -> dict[str, float]:
    """Return how much of each thing there was."""
    accounts = engine.serving.accounts().values()
    reasons: Counter[str] = Counter()
    for event in engine.store.list("events"):
        reasons[str(event["reason"])] += int(event.get("count") or 1)
    pods = [pod for pod in engine.store.records("pods") if isinstance(pod, PodRecord)]
    return {
        "requests served": sum(account.served for account in accounts),
        "clients who gave up": sum(account.timed_out for account in accounts),
        "requests lost": sum(account.lost for account in accounts),
        "replicas scaled on requests": reasons["SuccessfulRescale"],
        "resizes and vertical evictions": reasons["ResizeCompleted"] + reasons["EvictedByVPA"],
        "probes that failed": reasons["Unhealthy"],
        "nodes that were lost": reasons["NodeNotReady"],
        "spot notices": reasons["SpotInterruption"],
        "signs of slow machines": reasons["TaskHung"],
        "dollars for machines": engine.cloud.cost_dollars(),
        "restarts": sum(pod.restart_count for pod in pods),
        "late work": engine.job_work.cpu_seconds["late"],
        "lost work": engine.job_work.cpu_seconds["lost"],
    }


def check_requests(engine: Engine) -> None:
    """Fail when a request neither ended once nor is present."""
    for key, backends in engine.serving.services.items():
        account = backends.account
        ended = account.served + account.timed_out + account.refused + account.lost
        left = account.arrived - ended - float(backends["present"].sum())
        assert abs(left) <= 1e-6 * (1.0 + account.arrived), key


@pytest.mark.parametrize(("provisioner", "mode"), CASES)
def test_a_killed_world_goes_on_as_if_nothing_had_been(
    provisioner: Provisioner, mode: Any, tmp_path: Path
) -> None:
    """Killed at drawn moments and restored from the file, its state is that of the one that ran through, at the
    moment and at the end; every request ends once all the while, and all of it was really on.
    """
    whole = build(provisioner, mode)
    killed = build(provisioner, mode)
    luck, start = Random(f"{provisioner}"), whole.now
    for minute in range(1, MINUTES + 1):
        for engine in (whole, killed):
            engine.advance(start + 60.0 * minute)
        check_requests(whole)
        if luck.random() < 0.12 and minute < MINUTES:
            killed.step(luck.randrange(40))
            path = tmp_path / "state"
            Checkpoint.of(killed, WORLD).write(path)
            before, killed = state_bytes(killed), build(provisioner, mode, empty=True)
            Checkpoint.read(path, WORLD).restore(killed, path)
            assert state_bytes(killed) == before

    assert state_bytes(killed) == state_bytes(whole)
    assert killed.state_hash() == whole.state_hash()
    missing = [name for name, amount in evidence(whole).items() if amount <= 0.0]
    assert missing == [], f"this world had no {missing}, so nothing is shown about it"


@pytest.mark.parametrize(("provisioner", "mode"), CASES)
def test_equal_seeds_are_equal_to_the_byte(provisioner: Provisioner, mode: Any) -> None:
    """The same seed gives the same bytes, a clone from the middle ends in them, and another seed does not."""
    engines = [build(provisioner, mode, seed=seed) for seed in (9, 9, 10)]
    for engine in engines:
        engine.advance(engine.now + 900.0)
    clone = engines[0].clone()
    for engine in (*engines, clone):
        engine.advance(engine.now + 600.0)
    first, same, other = (state_bytes(engine) for engine in engines)

    assert first == same == state_bytes(clone)
    assert first != other
