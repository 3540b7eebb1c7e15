"""Nodes without machines: what a kubelet tells the API server, told in fixed times and nothing run.

The same for every program: leases and Ready for nodes, Running and Ready for pods after the twin's start-up
time, the end of pods after the twin's stop time or when their annotation says that their work is done. It changes no
decision of the programs under test.
"""

from __future__ import annotations

from lab.fidelity.cluster import MERGE, STRATEGIC, Cluster, Object, path_of

START_SECONDS = 1.7
"""From the binding to Running: the twin's 0.1 s of admission and its median start-up time."""
STOP_SECONDS = 1.0
"""From the deletion to the end: the twin's median."""
LEASE_SECONDS = 10.0
WORK = "foresail.dev/work-seconds"
_LEASES = "kube-node-lease"


class NodeKeeper:
    """Keeps all nodes of a cluster, one look at a time."""

    def __init__(self, cluster: Cluster) -> None:
        """Keep the nodes of this cluster."""
        self._cluster = cluster
        self._renewed: dict[str, float] = {}
        self._ready_since: dict[str, str] = {}
        self._bound: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._done: set[str] = set()
        self._stopping: dict[str, float] = {}
        self._dead: set[str] = set()

    def fail(self, node: str) -> None:
        """Stop a node's signs of life for good."""
        self._dead.add(node)

    def recover(self, node: str) -> None:
        """Give signs of life of a node again."""
        self._dead.discard(node)

    def work(self, now: float, stamp: str, pods: list[Object], nodes: list[Object]) -> None:
        """Do what is due `now` (seconds); `stamp` is the same moment for the API, with microseconds."""
        living = {one["metadata"]["name"] for one in nodes} - self._dead
        for node in nodes:
            name = node["metadata"]["name"]
            if name in living and now - self._renewed.get(name, -LEASE_SECONDS) >= LEASE_SECONDS:
                self._renew(node, stamp)
                self._renewed[name] = now
        for pod in pods:
            if pod["spec"].get("nodeName") in living:
                self._keep(pod, now, stamp)

    def _renew(self, node: Object, stamp: str) -> None:
        name = node["metadata"]["name"]
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": stamp}
        lease: Object = {"metadata": {"name": name, "namespace": _LEASES}, "spec": spec}
        path = path_of("leases", name, namespace=_LEASES)
        status, _ = self._cluster.request("PATCH", path, {"spec": spec}, MERGE)
        if status == 404:
            whole = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}
            self._cluster.request("POST", path_of("leases", namespace=_LEASES), whole)
        second = stamp[:19] + "Z"
        since = self._ready_since.setdefault(name, second)
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
            "lastHeartbeatTime": second,
            "lastTransitionTime": since,
        }
        body: Object = {"status": {"conditions": [ready]}}
        self._cluster.request("PATCH", path_of("nodes", name, "status"), body, STRATEGIC)

    def _keep(self, pod: Object, now: float, stamp: str) -> None:
        meta = pod["metadata"]
        uid = meta["uid"]
        space = meta["namespace"]
        if "deletionTimestamp" in meta:
            if now - self._stopping.setdefault(uid, now) >= STOP_SECONDS:
                body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
                self._cluster.request(
                    "DELETE", path_of("pods", meta["name"], namespace=space), body
                )
            return
        path = path_of("pods", meta["name"], "status", namespace=space)
        second = stamp[:19] + "Z"
        if uid in self._started:
            work = (meta.get("annotations") or {}).get(WORK)
            late = work is not None and now - self._started[uid] >= float(work)
            if late and uid not in self._done:
                status, _ = self._cluster.request("PATCH", path, _done(pod, second), STRATEGIC)
                if status < 300:
                    self._done.add(uid)
            return
        if now - self._bound.setdefault(uid, now) < START_SECONDS:
            return
        number = len(self._started) + 1
        address = f"10.1.{number // 250 % 250}.{number % 250 + 1}"
        status, _ = self._cluster.request("PATCH", path, _running(pod, second, address), STRATEGIC)
        if status < 300:
            self._started[uid] = now


def _done(pod: Object, second: str) -> Object:
    """Return the status of a pod whose work is done."""
    began = (pod.get("status") or {}).get("startTime", second)
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": began, "finishedAt": second}
    rows = [
        {"type": kind, "status": "False", "reason": "PodCompleted", "lastTransitionTime": second}
        for kind in ("ContainersReady", "Ready")
    ]
    containers = [
        {"name": one["name"], "image": one["image"], "imageID": "", "ready": False, "started": False,
         "restartCount": 0, "state": {"running": None, "terminated": ended}}
        for one in pod["spec"]["containers"]
    ]  # fmt: skip
    return {"status": {"phase": "Succeeded", "conditions": rows, "containerStatuses": containers}}


def _running(pod: Object, second: str, address: str) -> Object:
    kinds = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": second} for kind in kinds]
    containers = [
        {"name": one["name"], "image": one["image"], "imageID": "", "ready": True, "started": True,
         "restartCount": 0, "resources": one.get("resources", {}), "state": {"running": {"startedAt": second}}}
        for one in pod["spec"]["containers"]
    ]  # fmt: skip
    status = {"phase": "Running", "startTime": second, "conditions": conditions}
    return {
        "status": {
            **status,
            "containerStatuses": containers,
            "podIP": address,
            "podIPs": [{"ip": address}],
        }
    }
