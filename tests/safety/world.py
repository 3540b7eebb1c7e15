"""A small cluster with everything in it that must never be touched, and a little that may be."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.patience import HANGS_SECONDS
from tests.safety.recorder import Recorder
from twin.tests.contract.faces import MERGE, Face

KARPENTER = {"karpenter.sh/do-not-disrupt": "true"}
OURS = {"foresail.dev/do-not-disrupt": "true"}
AUTOSCALER = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
WRITABLE = "foresail.dev/writable"
NAMED = ("shop", "quiet", "kube-system")
"""What `--namespaces` names here; two of them protect themselves."""
GROUPS = {
    "deployments": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
}
KIND = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "replicasets": "ReplicaSet",
    "daemonsets": "DaemonSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
}


@dataclass
class World:
    """The cluster, as an administrator sees it, and the recorder that the executor talks to."""

    face: Face
    recorder: Recorder
    kubeconfig: Path
    """Leads to the recorder, with the executor's rights."""
    nodes: list[str] = field(default_factory=list)

    def make(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object, which may be there already."""
        answer = self.face.ask("POST", path, body=body)
        assert answer.status in {201, 409}, answer.text
        return dict(answer.body)

    def change(self, path: str, patch: dict[str, Any]) -> None:
        """Merge a patch into an object."""
        answer = self.face.ask("PATCH", path, body=patch, content_type=MERGE)
        assert answer.status == 200, answer.text

    def namespace(self, name: str, annotations: dict[str, str] | None = None) -> None:
        """Create a namespace."""
        meta = {"name": name, "annotations": annotations or {}}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        self.make("/api/v1/namespaces", body)
        if annotations:
            self.change(f"/api/v1/namespaces/{name}", {"metadata": {"annotations": annotations}})

    def workload(
        self,
        resource: str,
        name: str,
        node: str,
        *,
        namespace: str = "shop",
        marks: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        pod_marks: dict[str, str] | None = None,
        replicas: int = 1,
    ) -> None:
        """Create a workload whose pods run on one node; `marks` and `labels` are its own."""
        own = {"app": name}
        pod: dict[str, Any] = {
            # bound, not selected: a pod that no other node may run is not moved at all
            **(
                {"nodeSelector": {"kubernetes.io/hostname": node}}
                if resource == "daemonsets" or node not in self.nodes
                else {"nodeName": node}
            ),
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "100m"}}}
            ],
        }
        template = {"metadata": {"labels": own, "annotations": pod_marks or {}}, "spec": pod}
        spec: dict[str, Any] = {"template": template}
        if resource in {"jobs", "cronjobs"}:
            pod["restartPolicy"] = "Never"
        else:
            spec["selector"] = {"matchLabels": own}
        if resource in {"deployments", "statefulsets", "replicasets"}:
            spec["replicas"] = replicas
        if resource == "statefulsets":
            spec["serviceName"] = name
        if resource == "cronjobs":
            spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}}
        body = {
            "apiVersion": GROUPS[resource].removeprefix("/apis/"),
            "kind": KIND[resource],
            "metadata": {"name": name, "annotations": marks or {}, "labels": labels or {}},
            "spec": spec,
        }
        self.make(f"{GROUPS[resource]}/namespaces/{namespace}/{resource}", body)

    def pods(self, node: str | None = None, **query: str) -> list[dict[str, Any]]:
        """Return pods, of one node if asked."""
        selector = {} if node is None else {"fieldSelector": f"spec.nodeName={node}"}
        answer = self.face.ask("GET", "/api/v1/pods", {**selector, **query})
        return list(answer.body["items"])

    def settle(self, expected: int) -> None:
        """Wait until so many pods run; where nobody schedules and runs them, do it."""
        deadline = time.monotonic() + HANGS_SECONDS
        while time.monotonic() < deadline:
            pods = self.pods()
            if not self.face.simulated:
                for pod in pods:
                    self._run(pod)
            running = [one for one in pods if one["status"].get("phase") == "Running"]
            if len(running) >= expected:
                return
            time.sleep(0.2)
        states = [(pod["metadata"]["name"], pod["status"].get("phase")) for pod in self.pods()]
        raise AssertionError(f"{expected} pods should run: {states}")

    def _run(self, pod: dict[str, Any]) -> None:
        """Bind a pod to the node that it asks for and say that it runs."""
        meta, spec = pod["metadata"], pod["spec"]
        if meta.get("deletionTimestamp") or pod["status"].get("phase") == "Running":
            return
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        node = spec.get("nodeSelector", {}).get("kubernetes.io/hostname", spec.get("nodeName"))
        if node not in self.nodes:
            return
        if not spec.get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": meta["name"]},
                "target": target,
            }
            self.make(f"{path}/binding", binding)
        ready = {"type": "Ready", "status": "True"}
        self.change(f"{path}/status", {"status": {"phase": "Running", "conditions": [ready]}})


def furnish(world: World) -> None:
    """Put everything into the cluster.

    Node 0 is of the control plane, node 1 crowded with what is protected, node 2 of other namespaces,
    node 3 empty, node 4 marked, node 5 the shop's own, node 6 of the control plane by its taint alone.
    """
    rules, crowded, others, _, marked, own, tainted = world.nodes
    for name in ("shop", "shop-test", "other", "foresail"):
        world.namespace(name)
    world.namespace("kube-system")
    world.namespace("quiet", KARPENTER)
    world.change(f"/api/v1/nodes/{rules}", {"metadata": {"labels": {CONTROL_PLANE: ""}}})
    taint = {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}
    world.change(f"/api/v1/nodes/{tainted}", {"spec": {"taints": [taint]}})
    world.change(f"/api/v1/nodes/{marked}", {"metadata": {"annotations": KARPENTER}})
    world.change(f"/api/v1/nodes/{own}", {"metadata": {"labels": {WRITABLE: "true"}}})
    place = world.workload
    place("deployments", "ruler", rules)
    place("deployments", "by-pod", crowded, pod_marks=KARPENTER)
    place("deployments", "by-autoscaler", crowded, pod_marks=AUTOSCALER)
    # A label: Kubernetes copies a Deployment's annotations to its ReplicaSets.
    place("deployments", "by-deployment", crowded, labels=OURS)
    place("deployments", "by-replica-set", crowded)
    place("statefulsets", "by-stateful-set", crowded, marks=OURS)
    place("jobs", "by-job", crowded, marks=KARPENTER)
    place("cronjobs", "by-cron", crowded, marks=KARPENTER)
    place("deployments", "by-namespace", crowded, namespace="quiet")
    place("deployments", "dns", crowded, namespace="kube-system")
    place("statefulsets", "db", others, namespace="other", marks=OURS)
    place("deployments", "plain", others, namespace="other")
    place("deployments", "sibling", others, namespace="shop-test")
    place("deployments", "resting", marked)
    place("deployments", "web", own, replicas=2)
    world.settle(13)
    _mark_replica_set(world)
    _start_cron_job(world, crowded)
    _static_pod(world, crowded)
    world.settle(15)


def _mark_replica_set(world: World) -> None:
    found = world.face.ask("GET", "/apis/apps/v1/namespaces/shop/replicasets").body["items"]
    (name,) = [
        item["metadata"]["name"]
        for item in found
        if item["metadata"]["ownerReferences"][0]["name"] == "by-replica-set"
    ]
    path = f"/apis/apps/v1/namespaces/shop/replicasets/{name}"
    world.change(path, {"metadata": {"annotations": KARPENTER}})


def _start_cron_job(world: World, node: str) -> None:
    """Make the Job that the CronJob would make, since its hour never comes."""
    path = "/apis/batch/v1/namespaces/shop"
    cron = world.face.ask("GET", f"{path}/cronjobs/by-cron").body
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "by-cron",
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "by-cron-1", "ownerReferences": [owner]},
        "spec": cron["spec"]["jobTemplate"]["spec"],
    }
    world.make(f"{path}/jobs", body)


def _static_pod(world: World, node: str) -> None:
    """Make the API's copy of a static pod, as its kubelet does."""
    uid = world.face.ask("GET", f"/api/v1/nodes/{node}").body["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
    meta = {
        "name": f"static-{node}",
        "annotations": {"kubernetes.io/config.mirror": "1"},
        "ownerReferences": [owner],
    }
    spec = {
        "nodeName": node,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "c", "image": "a:1"}],
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    world.make("/api/v1/namespaces/shop/pods", body)
