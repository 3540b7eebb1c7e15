"""A cluster in which much happens, for everything that has to come out the same twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from twin.api.messages import Request
from twin.api.router import Router
from twin.config import TwinConfig
from twin.config.behaviour import MetricsConfig
from twin.config.health import HealthConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
NODES = 8
MERGE = "application/merge-patch+json"
Build = Callable[..., Engine]
Write = Callable[[Engine, Random], None]


def arrivals(random: Random, count: int) -> Iterator[WorkloadArrival]:
    """Yield services and tasks that overload a small cluster now and then."""
    at = 0.0
    for index in range(count):
        at += random.expovariate(0.4)
        yield WorkloadArrival(
            time_seconds=round(at, 6),
            name=f"w-{index}",
            kind=random.choice(("service", "task", "task")),
            cpu_request_millicores=random.choice((0, 250, 700, 1_500)),
            memory_request_bytes=random.choice((256, 1_024, 3_000)) * 2**20,
            gpus=random.choice((0, 0, 0, 1)),
            cpu_usage_ratio=random.choice((0.3, 0.9, 1.4)),
            memory_usage_ratio=random.choice((0.5, 0.9, 1.2)),
            duration_seconds=random.choice((15.0, 80.0, 400.0)),
            outcome=random.choice(("succeed", "succeed", "fail")),
            replicas=random.choice((1, 1, 3)),
            priority=random.choice((0, 0, 10)),
        )


@pytest.fixture
def build() -> Build:
    """Build a loaded cluster of eight nodes that fail often, in rough weather, with Prometheus for odd seeds:
    build(seed, count=...).
    """

    def made(seed: int, *, count: int = 400) -> Engine:
        metrics = MetricsConfig(source="prometheus" if seed % 2 else "metrics-server")
        health = HealthConfig(weather="rough", leaking_ratio=0.1, pod_crashes_per_day=1.0)
        config = TwinConfig(node_failures_per_day=30.0, metrics=metrics, health=health)
        engine = Engine(config, seed=seed)
        engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, i % 3, {}) for i in range(NODES)])
        engine.load(arrivals(Random(seed), count))
        return engine

    return made


@pytest.fixture
def write() -> Write:
    """Send one drawn request to a cluster: write(engine, random); refusals count as well."""

    def sent(engine: Engine, random: Random) -> None:
        Router(engine).handle(draw_request(engine, random))

    return sent


def draw_request(engine: Engine, random: Random) -> Request:
    """Return a request that a client might send to this cluster now."""
    node = f"/api/v1/nodes/n{random.randrange(NODES)}"
    number = random.randrange(5)
    pods = [record.name for record in engine.store.records("pods", "default")]
    pod = f"/api/v1/namespaces/default/pods/{random.choice(pods) if pods else 'none'}"
    apps = "/apis/apps/v1/namespaces/default/deployments"
    return random.choice(
        [
            _patch(node, {"spec": {"unschedulable": random.random() < 0.5}}),
            _patch(node, {"metadata": {"annotations": {"foresail.dev/clock-scale": "0.6"}}}),
            _post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"c{number}"}}),
            _post(apps, _deployment(f"d{number}", random.randrange(4))),
            _patch(f"{apps}/d{number}", {"spec": {"replicas": random.randrange(6)}}),
            Request("DELETE", f"{apps}/d{number}"),
            _post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", _budget(number)),
            _post(f"{pod}/eviction", {"metadata": {"name": pod.rpartition("/")[2]}}),
            Request("DELETE", pod),
            _post(f"{node.replace('/api/v1', '/foresail/v1')}/fail", {"seconds": 60}),
            _post("/foresail/v1/scenario", _scenario(random)),
            _post("/apis/apps/v1/namespaces/default/statefulsets", _stateful_set(number)),
            _post("/apis/batch/v1/namespaces/default/cronjobs", _cron_job(number)),
            _post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", _hpa(number)),
        ]
    )


def _scenario(random: Random) -> object:
    """Return a fault of a drawn kind, from now on."""
    machines = {"names": [f"n{random.randrange(NODES)}"]}
    begin = {"at_seconds": 1, "duration_seconds": 45}
    fault = random.choice(
        [
            {"fault": "node_death", "nodes": machines, **begin},
            {"fault": "slow_node", "nodes": machines, "speed_ratio": 0.4, **begin},
            {"fault": "metrics_gap", "nodes": machines, **begin},
            {"fault": "metrics_stale", "nodes": machines, **begin},
        ]
    )
    return {"name": "drawn", "faults": [fault]}


def _stateful_set(number: int) -> object:
    made: Any = _deployment(f"s{number}", 2)
    made["spec"]["serviceName"] = f"s{number}"
    return made


def _cron_job(number: int) -> object:
    template: Any = _deployment(f"j{number}", 1)
    pod = template["spec"]["template"]
    pod["spec"]["restartPolicy"] = "Never"
    return {
        "metadata": {"name": f"j{number}"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod}}},
    }


def _hpa(number: int) -> object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"d{number}"}
    return {
        "metadata": {"name": f"h{number}"},
        "spec": {
            "scaleTargetRef": target,
            "maxReplicas": 4,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 20},
                    },
                }
            ],
        },
    }


def _post(path: str, body: object) -> Request:
    return Request(
        "POST", path, {}, {"content-type": "application/json"}, json.dumps(body).encode()
    )


def _patch(path: str, body: object) -> Request:
    return Request("PATCH", path, {}, {"content-type": MERGE}, json.dumps(body).encode())


def _deployment(name: str, replicas: int) -> object:
    resources = {"requests": {"cpu": "200m", "memory": "128Mi"}}
    containers = [{"name": "c", "image": f"{name}:1", "resources": resources}]
    labels = {"app": name}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


def _budget(number: int) -> object:
    selector = {"matchLabels": {"app": f"d{number}"}}
    return {"metadata": {"name": f"b{number}"}, "spec": {"minAvailable": 1, "selector": selector}}
