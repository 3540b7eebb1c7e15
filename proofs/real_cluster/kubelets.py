"""Keeps nodes and pods as kubelets would, in a thread of its own, and lets nodes fall silent."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from http.client import HTTPException

from lab.fidelity.cluster import STRATEGIC, Cluster, Object, ask, path_of
from lab.fidelity.real.metrics_server import MetricsServer
from lab.fidelity.real.node_keeper import NodeKeeper

LOOK_SECONDS = 1.0


class Kubelets:
    """All kubelets of a cluster: leases, readiness, starts, ends and resizes of pods; nothing runs."""

    def __init__(self, cluster: Cluster, metrics: MetricsServer | None = None) -> None:
        """Keep this cluster; `start` begins."""
        self._cluster, self._metrics = cluster, metrics
        self._keeper = NodeKeeper(cluster)
        self._ended, self._silent = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Begin to keep nodes."""
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait for the last look."""
        self._ended.set()
        self._thread.join()

    def fall_silent(self) -> None:
        """Give no sign of life of any node, as when their network is cut."""
        self._silent.set()

    def speak_again(self) -> None:
        """Give signs of life again."""
        self._silent.clear()

    def fail(self, node: str) -> None:
        """Give no sign of life of one node from now on."""
        self._keeper.fail(node)

    def recover(self, node: str) -> None:
        """Give signs of life of it again."""
        self._keeper.recover(node)

    def _keep(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            if self._silent.is_set():
                continue
            try:
                self._look()
            except (RuntimeError, OSError, HTTPException):
                continue  # the server is away or busy: the next look finds the same

    def _look(self) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pods = list(ask(self._cluster, "GET", "/api/v1/pods")["items"])
        nodes = list(ask(self._cluster, "GET", "/api/v1/nodes")["items"])
        self._keeper.work(time.monotonic(), stamp, pods, nodes)
        for pod in pods:
            self._resize(pod)
        if self._metrics is not None:
            self._metrics.scrape(time.monotonic(), stamp, pods)

    def _resize(self, pod: Object) -> None:
        """Carry out a resize: what is wanted is what its containers have."""
        status = pod["status"]
        shown = {
            one["name"]: one.get("resources") or {} for one in status.get("containerStatuses") or ()
        }
        wanted = {one["name"]: one.get("resources") or {} for one in pod["spec"]["containers"]}
        if status.get("phase") != "Running" or shown == wanted or not shown:
            return
        rows = [
            {"name": name, "resources": amounts, "allocatedResources": amounts.get("requests", {})}
            for name, amounts in wanted.items()
        ]
        meta = pod["metadata"]
        path = path_of("pods", meta["name"], "status", namespace=meta["namespace"])
        self._cluster.request("PATCH", path, {"status": {"containerStatuses": rows}}, STRATEGIC)
