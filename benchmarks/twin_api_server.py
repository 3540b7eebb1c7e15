"""An embedded cluster full of running pods, served as `python -m twin` serves one.

Not a benchmark itself: `benchmarks.twin_api` starts it. Pods are stored bound to their nodes, thirty
a node, so that filling 10,000 nodes does not wait for a scheduler; the kubelets start them. Prints
one line of JSON about the filling, then the twin's own ready line.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from bus.clock import SystemClock
from twin.__main__ import check_folder, listen, prepare_credentials, serve
from twin.port.engine import Engine
from twin.port.workloads import NodeShape
from twin.settings import TwinSettings
from twin.store import Store

PODS_A_NODE = 30
HASH = "5d4f8c7b9"
START_SECONDS = 600.0
OWNERS_TRACED = 300


def main() -> int:
    """Fill, print, serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--kubeconfig-dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    facts: dict[str, Any] = {"record kB a pod": stored_kilobytes()}
    began, before = time.monotonic(), memory_bytes()
    engine = fill_cluster(options.nodes, options.seed)
    pods = options.nodes * PODS_A_NODE
    facts |= {
        "pods": pods,
        "fill s": round(time.monotonic() - began, 1),
        "twin kB a pod": round((memory_bytes() - before) / pods / 1e3, 2),
    }
    print(json.dumps(facts), flush=True)
    settings = TwinSettings(
        kubeconfig_dir=options.kubeconfig_dir, workload="idle", seed=options.seed
    )
    check_folder(settings)
    clock = SystemClock()
    credentials = prepare_credentials(settings, clock)
    loop = uvicorn.Config("twin").get_loop_factory()
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(serve(settings, engine, listen(settings), clock, credentials))
    return 0


def fill_cluster(nodes: int, seed: int) -> Engine:
    """Return a cluster whose pods all run."""
    engine = Engine(None, seed)
    engine.add_nodes(
        [NodeShape(f"node-{number:05}", 64_000, 256 << 30, 0, {}) for number in range(nodes)]
    )
    fill_with(engine.store, list(owners_in(engine.store, nodes)))
    engine.advance(engine.now + START_SECONDS)
    return engine


def stored_kilobytes() -> float:
    """Return what the store needs for one more replica of an owner: record, names, keys, index.

    The bounded log of changes is kept out, and what all replicas of an owner share is there already.
    """
    store = Store(lambda: 0.0, log_size=10)
    store.create("namespaces", "", {"metadata": {"name": "default"}})
    owners = list(owners_in(store, OWNERS_TRACED))
    for owner in owners:
        store_pod(store, owner, 0)
    gc.collect()
    tracemalloc.start(1)
    for owner in owners:
        for place in range(1, PODS_A_NODE):
            store_pod(store, owner, place)
    gc.collect()
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(allocated / (OWNERS_TRACED * (PODS_A_NODE - 1)) / 1e3, 2)


def memory_bytes() -> int:
    """Return the resident memory of this process."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def owners_in(store: Store, nodes: int) -> Iterator[dict[str, Any]]:
    """Store ReplicaSets, one for thirty pods, and yield them."""
    for number in range(nodes):
        app = f"app-{number:05}"
        labels, spec = {"app": app, "pod-template-hash": HASH}, pod_spec(app)
        body = {
            "metadata": {"name": f"{app}-{HASH}", "labels": labels},
            "spec": {
                "replicas": PODS_A_NODE,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
        yield store.create("replicasets", "default", body)


def fill_with(store: Store, owners: list[dict[str, Any]]) -> None:
    """Store the pods of ReplicaSets as those would make them, each bound to a node."""
    for number, owner in enumerate(owners):
        for place in range(PODS_A_NODE):
            node = f"node-{(number + place) % len(owners):05}"
            store_pod(store, owner, place, node)


def store_pod(store: Store, owner: dict[str, Any], place: int, node: str = "") -> None:
    """Store one pod as its controller would: its identity follows from its generateName."""
    body = pod_body(owner, place, node)
    store.create_record("pods", "default", body, stands_for=body["metadata"]["generateName"])


def pod_body(owner: dict[str, Any], place: int, node: str = "") -> dict[str, Any]:
    """Return one pod of a ReplicaSet, bound to a node if one is given."""
    template, name = owner["spec"]["template"], owner["metadata"]["name"]
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name,
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "metadata": {
            "name": f"{name}-{place:05}",
            "generateName": f"{name}-",
            "namespace": "default",
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference],
        },
        "spec": {**template["spec"], **({"nodeName": node} if node else {})},
    }


def pod_spec(app: str) -> dict[str, Any]:
    """Return a spec of the length that people's services have, about 2 kB."""
    variables = [{"name": f"SETTING_{n}", "value": f"value-{n}-of-{app}"} for n in range(12)]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    return {
        "containers": [
            {
                "name": "main",
                "image": f"registry.example.com/team/{app}:1.2.3",
                "env": variables,
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "readinessProbe": probe,
                "livenessProbe": probe,
                "resources": {
                    "requests": {"cpu": "500m", "memory": "512Mi"},
                    "limits": {"memory": "1Gi"},
                },
                "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
            }
        ],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    }


if __name__ == "__main__":
    sys.exit(main())
