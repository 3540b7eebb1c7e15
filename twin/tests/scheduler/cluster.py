"""A cluster of a store, nodes and a scheduler only: no kubelet, no controllers."""

from __future__ import annotations

from typing import Any

from twin.chance import Chance
from twin.changes import Change
from twin.clock import Clock
from twin.config import TwinConfig
from twin.config.scheduling import SchedulerConfig
from twin.controllers.priority import PriorityGate
from twin.kube_events import Reporter
from twin.records import PodRecord
from twin.scheduling.cycle import Cycle
from twin.scheduling.node_table import NodeTable
from twin.scheduling.scheduler import Scheduler
from twin.store import Store
from twin.world import World

Object = dict[str, Any]


class Cluster:
    """Nodes and pods by hand; `advance` lets the scheduler work."""

    def __init__(self, config: SchedulerConfig | None = None, seed: int = 1) -> None:
        settings = TwinConfig(scheduler=config or SchedulerConfig())
        self.clock = Clock(settings.start_time)
        self.store = Store(lambda: self.clock.now, seed=seed)
        self.store.gates.append(PriorityGate(self.store))
        reporter = Reporter(self.store, settings, seed)
        self.world = World(settings, seed, self.clock, self.store, Chance(seed), reporter)
        self.nodes = NodeTable()
        self.scheduler = Scheduler(self.world, self.nodes)
        self.store.subscribe(self._follow)
        self.namespace("default")

    def _follow(self, change: Change) -> None:
        self.world.follow(change)
        self.nodes.follow(change)
        self.scheduler.follow(change)

    def namespace(self, name: str, **labels: str) -> None:
        """Create a namespace."""
        self.store.create("namespaces", "", {"metadata": {"name": name, "labels": labels}})

    def node(
        self,
        name: str,
        cpu: str = "4",
        memory: str = "8Gi",
        pods: str = "110",
        *,
        labels: dict[str, str] | None = None,
        taints: list[Object] | None = None,
        images: tuple[tuple[str, int], ...] = (),
        unschedulable: bool = False,
        others: dict[str, str] | None = None,
    ) -> None:
        """Create a node whose hostname label is its name."""
        amounts = {"cpu": cpu, "memory": memory, "pods": pods, **(others or {})}
        obj = {
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            },
            "spec": {"taints": taints or [], "unschedulable": unschedulable},
            "status": {"allocatable": amounts},
        }
        record = self.store.create_record("nodes", "", obj)
        if images:
            before = record.clone()
            record.images = images  # type: ignore[attr-defined]
            self.store.touch("nodes", record, before)

    def pod(self, name: str, cpu: str = "", memory: str = "", **parts: Any) -> PodRecord:
        """Create a pod; parts are spec fields, or labels, namespace, owners and requests."""
        requests = {"cpu": cpu, "memory": memory, **parts.pop("requests", {})}
        requests = {key: value for key, value in requests.items() if value}
        limits = {key: value for key, value in requests.items() if "/" in key}
        container = {
            "name": "c",
            "image": parts.pop("image", "app:1"),
            "ports": parts.pop("ports", []),
            "resources": {"requests": requests, "limits": limits},
        }
        namespace = parts.pop("namespace", "default")
        node_name = parts.pop("on", "")
        obj = {
            "metadata": {
                "name": name,
                "labels": parts.pop("labels", {}),
                "ownerReferences": parts.pop("owners", []),
            },
            "spec": {"containers": [container], **parts},
        }
        if node_name:
            obj["spec"]["nodeName"] = node_name
        record = self.store.create_record("pods", namespace, obj)
        assert isinstance(record, PodRecord)
        return record

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.run(self.clock.now + seconds)

    def where(self, name: str, namespace: str = "default") -> str:
        """Return the node of a pod, empty when it waits."""
        record = self.store.record("pods", namespace, name)
        assert isinstance(record, PodRecord)
        return record.node_name

    def why(self, name: str) -> str:
        """Return the sentence that a waiting pod was told last."""
        record = self.store.record("pods", "default", name)
        assert isinstance(record, PodRecord)
        return record.unschedulable

    def feasible(self, pod: PodRecord) -> list[str]:
        """Return the names of the nodes that a pod may go to now."""
        mask = Cycle(self.scheduler.plugins, pod).feasible()
        return [name for name, fits in zip(self.nodes.names, mask, strict=True) if fits]

    def reasons(self, pod: PodRecord) -> dict[str, int]:
        """Return why the other nodes are out."""
        return dict(Cycle(self.scheduler.plugins, pod).diagnose().reasons)

    def score(self, plugin: str, pod: PodRecord) -> dict[str, int] | None:
        """Return one plugin's scores of all feasible nodes, None when they do not differ."""
        mask = Cycle(self.scheduler.plugins, pod).feasible()
        rows = mask.nonzero()[0]
        scores = self.scheduler.plugins.score(plugin, pod, rows)
        if scores is None:
            return None
        names = [self.nodes.names[row] for row in rows]
        return dict(zip(names, scores.tolist(), strict=True))
