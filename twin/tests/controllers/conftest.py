"""A small cluster and short ways to write to it and to look at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.controllers import ControllerConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

GIB = 2**30
Object = dict[str, Any]


class Cluster:
    """An engine, driven and read by name; everything is in the namespace `default`."""

    def __init__(self, nodes: int = 3, **settings: Any) -> None:
        self.engine = Engine(TwinConfig(controllers=ControllerConfig(**settings)), seed=3)
        self.engine.add_nodes(
            [NodeShape(f"n{index}", 8_000, 32 * GIB, 0, {}) for index in range(nodes)]
        )

    def create(self, resource: str, name: str, spec: Object, **metadata: Any) -> Object:
        """Create an object."""
        obj = {"metadata": {"name": name, **metadata}, "spec": spec}
        return self.engine.store.create(resource, "default", obj)

    def get(self, resource: str, name: str) -> Object:
        """Return an object."""
        return self.engine.store.get(resource, "default", name)

    def status(self, resource: str, name: str) -> Object:
        """Return an object's status."""
        return dict(self.get(resource, name).get("status", {}))

    def write(self, resource: str, name: str, **fields: Any) -> None:
        """Replace fields of an object's spec."""
        obj = self.get(resource, name)
        new = {**obj, "spec": {**obj["spec"], **fields}}
        self.engine.store.replace(resource, "default", name, new)

    def note(self, resource: str, name: str, **annotations: str) -> None:
        """Set annotations."""
        obj = self.get(resource, name)
        notes = {**obj["metadata"].get("annotations", {}), **annotations}
        new = {**obj, "metadata": {**obj["metadata"], "annotations": notes}}
        self.engine.store.replace(resource, "default", name, new)

    def delete(self, resource: str, name: str, **options: Any) -> None:
        """Delete an object."""
        self.engine.store.delete(resource, "default", name, **options)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.engine.advance(self.engine.now + seconds)

    def watch(self, seconds: float, look: Callable[[], None], every: float = 0.1) -> None:
        """Let time pass and look at every step."""
        until = self.engine.now + seconds
        while self.engine.now < until:
            self.run(every)
            look()

    def pods(self, *, deleting: bool = False, **labels: str) -> list[PodRecord]:
        """Return pods by name, those that are being deleted only when asked for."""
        found = []
        for record in self.engine.store.records("pods", "default"):
            assert isinstance(record, PodRecord)
            if record.deletion_at is not None and not deleting:
                continue
            if all(record.labels.get(key) == value for key, value in labels.items()):
                found.append(record)
        return found

    def conditions(self, resource: str, name: str) -> dict[str, tuple[str, str]]:
        """Return (status, reason) of each condition by type."""
        found = self.status(resource, name).get("conditions") or []
        return {entry["type"]: (entry["status"], entry["reason"]) for entry in found}

    def kube_events(self, name: str) -> list[tuple[str, str]]:
        """Return (reason, message) of the KubeEvents about an object, oldest first."""
        events = [
            obj
            for obj in self.engine.store.list("events", "default")
            if obj["involvedObject"]["name"] == name
        ]
        events.sort(key=lambda obj: int(obj["metadata"]["resourceVersion"]))
        return [(obj["reason"], obj["message"]) for obj in events]

    def reasons(self, name: str) -> list[str]:
        """Return the reasons of the KubeEvents about an object."""
        return [reason for reason, _ in self.kube_events(name)]


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes with 8 cores and 32 GiB each."""
    return Cluster()


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    """Build a cluster: make_cluster(nodes, success_events=False, ...)."""
    return Cluster


@pytest.fixture
def template() -> Callable[..., Object]:
    """Build a pod template: template(app, image=..., cpu=..., notes=..., **spec)."""

    def build(
        app: str,
        *,
        image: str = "app:1",
        cpu: str = "100m",
        memory: str = "64Mi",
        notes: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        resources = {"requests": {"cpu": cpu, "memory": memory}}
        container = {"name": "c", "image": image, "resources": resources}
        head = {"labels": {"app": app}, "annotations": notes or {}}
        return {"metadata": head, "spec": {"containers": [container], **spec}}

    return build


@pytest.fixture
def workload(template: Callable[..., Object]) -> Callable[..., Object]:
    """Build the spec of a Deployment or set: workload(app, replicas, template options)."""

    def build(app: str, replicas: int, **options: Any) -> Object:
        made = template(app, **options)
        return {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "template": made,
        }

    return build
