"""A real control plane with played kubelets: etcd, API server, controllers and scheduler are Kubernetes' own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from lab.fidelity.cluster import STRATEGIC, ask, items, path_of
from lab.fidelity.objects import node
from lab.fidelity.real.http_cluster import HttpCluster
from lab.fidelity.real.metrics_server import MetricsServer
from lab.fidelity.real.node_keeper import NodeKeeper
from lab.fidelity.real.processes import CONTROLLERS, ControlPlane
from tests.patience import HANGS_SECONDS

LOOK_SECONDS = 0.25
SCRAPE_SECONDS = 1.0
SPACE = "foresail-exercise"
LABEL = "exercised"
"""Label of nodes that the executor may write."""


@contextmanager
def real_plane(binaries: Path, folder: Path, nodes: int) -> Iterator[Path]:
    """Start it with so many nodes of 16 cores and 64 GiB; return the administrator's kubeconfig."""
    clock = SystemClock()
    plane = ControlPlane(binaries, folder, controllers=(*CONTROLLERS, "job-controller"))
    stop = threading.Event()
    keeping: threading.Thread | None = None
    metrics: MetricsServer | None = None
    cluster: HttpCluster | None = None
    try:
        cluster = asyncio.run(plane.start(clock))
        for number in range(nodes):
            labels = {LABEL: "yes"}
            row = {"name": f"node-{number}", "cpu": 16, "memory_gib": 64, "labels": labels}
            ask(cluster, "POST", path_of("nodes"), node(row))
        _prepare_space(cluster, nodes // 2)
        metrics = MetricsServer(plane.folder / "certificates", SCRAPE_SECONDS)
        metrics.register(cluster)
        keeping = threading.Thread(target=_keep, args=(cluster, metrics, stop))
        keeping.start()
        yield plane.kubeconfig
    finally:
        stop.set()
        if keeping is not None:
            keeping.join(HANGS_SECONDS)
        if metrics is not None:
            metrics.close()
        if cluster is not None:
            cluster.close()
        plane.close()


def _prepare_space(cluster: HttpCluster, owned: int) -> None:
    """Make the namespace of the load as its owner would: a quota there needs defaults for pods that ask for nothing,
    and such a pod runs on each of so many nodes.
    """
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    ask(cluster, "POST", "/api/v1/namespaces", space)
    request, most = {"cpu": "100m", "memory": "64Mi"}, {"cpu": "16", "memory": "64Gi"}
    limits = {"type": "Container", "default": most, "defaultRequest": request}
    ask(cluster, "POST", f"/api/v1/namespaces/{SPACE}/limitranges", {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"}, "spec": {"limits": [limits]},
    })  # fmt: skip
    for number in range(owned):
        container = {"name": "app", "image": "rancher/mirrored-pause:3.10"}
        ask(cluster, "POST", path_of("pods", namespace=SPACE), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"owned-{number}"},
            "spec": {"nodeName": f"node-{number}", "containers": [container]},
        })  # fmt: skip


def _keep(cluster: HttpCluster, metrics: MetricsServer, stop: threading.Event) -> None:
    """Play the kubelets until told to stop: signs of life, pods that start, end, take a resize, and are measured."""
    keeper, clock = NodeKeeper(cluster), SystemClock()
    while not stop.wait(LOOK_SECONDS):
        stamp = datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pods = [*items(cluster, "pods"), *items(cluster, "pods", SPACE)]
        keeper.work(clock.monotonic(), stamp, pods, items(cluster, "nodes"))
        metrics.scrape(clock.monotonic(), stamp, pods)
        for pod in pods:
            _take_resize(cluster, pod)


def _take_resize(cluster: HttpCluster, pod: Mapping[str, Any]) -> None:
    """Give a running pod's containers what its spec says, as a kubelet with room does."""
    status = pod.get("status", {})
    given = {one["name"]: one.get("resources", {}) for one in status.get("containerStatuses", ())}
    wanted = {one["name"]: one.get("resources", {}) for one in pod["spec"]["containers"]}
    if status.get("phase") != "Running" or given == wanted:
        return
    containers = [{**one, "resources": wanted[one["name"]]} for one in status["containerStatuses"]]
    meta = pod["metadata"]
    path = path_of("pods", meta["name"], "status", namespace=meta["namespace"])
    cluster.request("PATCH", path, {"status": {"containerStatuses": containers}}, STRATEGIC)
