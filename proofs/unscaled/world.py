"""Drawn autoscalers, with pods and metrics in all states that the formula tells apart; the seed decides everything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

Object = dict[str, Any]
NAMESPACE = "crowd"
AHEAD_SECONDS, LONG_AGO_SECONDS = 600.0, 3_600.0
"""A pod that starts lies so far ahead that it is starting as long as the proof runs."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One autoscaler, what it scales, and its pods with their status."""

    name: str
    autoscaler: Object
    deployment: Object
    pods: tuple[Object, ...]
    silent: frozenset[str]
    """Pods without metrics."""


def stamp(seconds: float) -> str:
    """Return unix seconds as the API writes them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def draw(random: Random, number: int, now: float) -> Drawn:
    """Return the autoscaler with this number."""
    name = f"web-{number:04d}"
    labels = {"app": name}
    pods = tuple(
        _pod(random, f"{name}-{place}", labels, now) for place in range(random.randrange(1, 7))
    )
    silent = frozenset(pod["metadata"]["name"] for pod in pods if random.random() < 0.15)
    template = {"metadata": {"labels": labels}, "spec": pods[0]["spec"]}
    spec = {"replicas": len(pods), "selector": {"matchLabels": labels}, "template": template}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    wanted: Object = {
        "scaleTargetRef": reference,
        "minReplicas": random.choice((1, 1, 2)),
        "maxReplicas": random.choice((5, 10, 40)),
        "metrics": _metrics(random),
    }
    if random.random() < 0.95:
        wanted["behavior"] = _behavior(random)
    return Drawn(
        name,
        {"metadata": {"name": name}, "spec": wanted},
        {"metadata": {"name": name, "labels": labels}, "spec": spec},
        pods,
        silent,
    )


def _pod(random: Random, name: str, labels: dict[str, str], now: float) -> Object:
    state = random.choice(("ready",) * 6 + ("unready", "pending", "failed", "starting", "late"))
    requests = {"cpu": "500m", "memory": "256Mi"}
    containers = [
        {"name": each, "image": "example/app:1", "resources": {"requests": requests}}
        for each in ("main", "side")
    ]
    old, ahead = stamp(now - LONG_AGO_SECONDS), stamp(now + AHEAD_SECONDS)
    started = ahead if state in ("starting", "late") else old
    # One that is late became ready after its value was measured.
    since = {"late": stamp(now + AHEAD_SECONDS), "unready": stamp(now - LONG_AGO_SECONDS / 2)}
    ready = {
        "type": "Ready",
        "status": "True" if state in ("ready", "late") else "False",
        "lastTransitionTime": since.get(state, old),
    }
    phase = {"pending": "Pending", "failed": "Failed"}.get(state, "Running")
    status = {"phase": phase, "conditions": [ready], "startTime": started}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": containers, "automountServiceAccountToken": False},
        "status": status,
    }


def _metrics(random: Random) -> list[Object]:
    choices = (
        {
            "type": "Resource",
            "resource": _resource("cpu", averageUtilization=random.choice((40, 60, 80))),
        },
        {
            "type": "Resource",
            "resource": _resource("memory", averageValue=random.choice(("200Mi", "400Mi"))),
        },
        {
            "type": "Resource",
            "resource": _resource("cpu", averageValue=random.choice(("300m", "600m"))),
        },
        {
            "type": "ContainerResource",
            "containerResource": {**_resource("cpu", averageUtilization=50), "container": "main"},
        },
    )
    return random.sample(choices, random.choice((1, 1, 1, 2)))


def _resource(name: str, **target: Any) -> Object:
    kind = "Utilization" if "averageUtilization" in target else "AverageValue"
    return {"name": name, "target": {"type": kind, **target}}


def _behavior(random: Random) -> Object:
    """Without memory: no stabilisation, and rates over one second."""
    rules = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": random.choice(("Max", "Max", "Min")),
        "policies": [
            {"type": "Pods", "value": random.choice((1, 3, 50)), "periodSeconds": 1},
            {"type": "Percent", "value": random.choice((50, 100, 900)), "periodSeconds": 1},
        ],
    }
    up, down = dict(rules), dict(rules)
    if random.random() < 0.2:
        up["tolerance"] = random.choice(("50m", "300m"))
    return {"scaleUp": up, "scaleDown": down}


def draw_metrics(random: Random, drawn: Drawn, now: float) -> list[Object]:
    """Return PodMetrics of those pods that have any."""
    load = random.choice((0.1, 0.5, 1.0, 2.0)) * random.uniform(0.8, 1.2)
    return [
        {
            "metadata": {
                "name": pod["metadata"]["name"],
                "namespace": NAMESPACE,
                "labels": pod["metadata"]["labels"],
            },
            "timestamp": stamp(now),
            "window": "15s",
            "containers": [
                {
                    "name": each,
                    "usage": {
                        "cpu": f"{int(500_000_000 * load * random.uniform(0.7, 1.3))}n",
                        "memory": f"{int(300 * 1024 * load * random.uniform(0.9, 1.1))}Ki",
                    },
                }
                for each in ("main", "side")
            ],
        }
        for pod in drawn.pods
        if pod["metadata"]["name"] not in drawn.silent
    ]
