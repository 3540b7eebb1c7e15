"""What stands on the cluster before any case: nodes in pools, two namespaces and their Deployments."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from lab.fidelity.real.metrics_server import RATIO
from proofs.real_programs.requests import Api, Object, until
from schemas.config import CODE_VERSION
from schemas.node_annotations import NodeLimit
from schemas.node_limits import MOST_LEASE_SECONDS, AgentReport
from services.node_agent.reports import condition_patch

SHOP, PAY = "shop", "pay"
"""The namespace that is named, and one that is not."""
POOL, WRITABLE = "pool", "foresail.dev/writable"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
AMOUNTS = {
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi"},
}
_AGENT = AgentReport(
    version=CODE_VERSION, can=(NodeLimit.CLOCK_SCALE,), heartbeat_seconds=MOST_LEASE_SECONDS
)
"""What the node agent of each node says, since there are no machines under them."""
_NODE = {"cpu": "8", "memory": "32Gi", "pods": "110"}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a cluster is."""

    nodes: int = 30
    pods: int = 500

    @property
    def pools(self) -> dict[str, int]:
        """Nodes of each pool: of the shop, without pods, of the other namespace, of the control plane."""
        spare, pay, control = max(2, self.nodes // 10), max(1, self.nodes // 8), 1
        return {
            "shop": self.nodes - spare - pay - control,
            "spare": spare,
            "pay": pay,
            "control": control,
        }


def populate(api: Api, size: Size) -> None:
    """Make nodes, namespaces and Deployments, and wait until every pod runs."""
    number = 0
    for pool, count in size.pools.items():
        for _ in range(count):
            api.ask("POST", "/api/v1/nodes", _node(f"node-{number:02}", pool))
            number += 1
    for name in (SHOP, PAY):
        api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until(f"the account of {name}", partial(api.find, account), 120)
    own = size.pods * 4 // 5
    for name, pods in ((SHOP, own), (PAY, size.pods - own)):
        for index, replicas in enumerate(_split(pods)):
            api.ask(
                "POST", DEPLOYMENTS.format(name), deployment(f"{name}-{index:02}", replicas, name)
            )
    until("every pod to run", lambda: _running(api) >= size.pods, 900)


def deployment(name: str, replicas: int, pool: str, **more: Any) -> Object:
    """Return a Deployment whose pods go to the nodes of a pool; further members go to its pods' spec."""
    labels = {"app": name}
    container = {"name": "c", "image": "i:1", "resources": AMOUNTS}
    pod = {
        "containers": [container],
        "nodeSelector": {POOL: pool},
        "terminationGracePeriodSeconds": 1,
        **more,
    }
    head = {"labels": labels, "annotations": {RATIO: "0.3"}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": head, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _split(pods: int) -> list[int]:
    """Return replicas of Deployments of 20 and what is left."""
    whole, rest = divmod(pods, 20)
    return [20] * whole + ([rest] if rest else [])


def _running(api: Api) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in api.items("/api/v1/pods"))


def _node(name: str, pool: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", POOL: pool}
    if pool in {"shop", "spare"}:
        labels[WRITABLE] = "true"
    if pool == "control":
        labels["node-role.kubernetes.io/control-plane"] = ""
    agent = condition_patch(_AGENT, None, time.time())["status"]
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": _NODE, "allocatable": _NODE, **agent},
    }
