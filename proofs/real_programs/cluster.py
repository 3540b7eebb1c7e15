"""What the scenarios ask of a cluster: workloads, the nodes that somebody brings for them, what is said of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.real_programs.processes import Supervised
from proofs.real_programs.requests import Api, Object, until

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_GONE_SECONDS = 900.0


class Cluster:
    """One cluster whose machines come and go; `label` is what their nodes are told apart by."""

    def __init__(self, api: Api, label: str) -> None:
        """Look at nodes with this label."""
        self.api, self.label = api, label
        self.programs: list[Supervised] = []
        """What runs beside the cluster."""
        self._classes: list[str] = []

    # ---- what a user does

    def deploy(self, name: str, replicas: int, cpu: str, **more: Any) -> None:
        """Create a Deployment of pods that each ask for `cpu`; `annotations` and other members go to the pods."""
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}}
        body = {"metadata": {"name": name}, "spec": {**spec, "template": _pod(name, cpu, **more)}}
        self.api.ask("POST", DEPLOYMENTS, body)

    def scale(self, name: str, replicas: int) -> None:
        """Ask for another number of replicas."""
        self.api.ask("PATCH", f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": replicas}})

    def lone_pod(self, name: str, cpu: str, **more: Any) -> None:
        """Create a pod that belongs to nobody."""
        template = _pod(name, cpu, **more)
        template["metadata"]["name"] = name
        self.api.ask("POST", PODS, template)

    def budget(self, name: str, least: int) -> None:
        """Let so many pods of a Deployment be kept."""
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
        self.api.ask("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})

    def priority(self, name: str, value: int) -> None:
        """Create a PriorityClass."""
        self.api.ask("POST", CLASSES, {"metadata": {"name": name}, "value": value})
        self._classes.append(name)

    def annotate_pods(self, app: str, note: str, value: str | None) -> None:
        """Set an annotation of a Deployment's pods; None takes it away."""
        for pod in self.pods(app):
            path = f"{PODS}/{pod['metadata']['name']}"
            self.api.ask("PATCH", path, {"metadata": {"annotations": {note: value}}})

    def cordon(self) -> None:
        """Keep pods off the nodes that are there already, so that they need new ones."""
        for node in self.api.items(NODES):
            where = f"{NODES}/{node['metadata']['name']}"
            self.api.ask("PATCH", where, {"spec": {"unschedulable": True}})

    # ---- what is seen

    def pods(self, app: str) -> list[Object]:
        """Return the living pods of a Deployment."""
        found = self.api.ask("GET", PODS, labelSelector=f"app={app}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def running(self, app: str, count: int) -> Callable[[], bool]:
        """Return what says whether so many pods run."""

        def so() -> bool:
            phases = [pod["status"].get("phase") for pod in self.pods(app)]
            return phases.count("Running") == count == len(phases)

        return so

    def nodes(self) -> list[Object]:
        """Return the nodes that were brought."""
        return [one for one in self.api.items(NODES) if self.label in one["metadata"]["labels"]]

    def kinds(self) -> list[str]:
        """Return the label of each of them, sorted."""
        return sorted(one["metadata"]["labels"][self.label] for one in self.nodes())

    def names(self) -> set[str]:
        """Return their names."""
        return {one["metadata"]["name"] for one in self.nodes()}

    def said(self, reason: str, about: str) -> list[str]:
        """Return what KubeEvents of a reason say about objects whose names begin so."""
        found = self.api.items("/api/v1/events")
        return [
            str(event.get("message", ""))
            for event in found
            if event["reason"] == reason and event["involvedObject"]["name"].startswith(about)
        ]

    # ---- the end of a scenario

    def clear(self) -> None:
        """Take everything away that a scenario made, and wait until no machine is left."""
        for path in (DEPLOYMENTS, BUDGETS):
            self.api.ask("DELETE", path)
        until("their pods to go", lambda: not any(map(_owned, self.api.items(PODS))), _GONE_SECONDS)
        self.api.ask("DELETE", PODS)
        for name in self._classes:
            self.api.remove(f"{CLASSES}/{name}")
        self._classes.clear()
        until("an empty namespace", lambda: not self.api.items(PODS), _GONE_SECONDS)


def _owned(pod: Object) -> bool:
    return bool(pod["metadata"].get("ownerReferences"))


def _pod(app: str, cpu: str, annotations: Object | None = None, **more: Any) -> Object:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    head = {"labels": {"app": app}, "annotations": annotations or {}}
    return {"metadata": head, "spec": {"containers": [container], **more}}
