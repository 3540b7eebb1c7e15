"""A copy of a cluster at one moment in which nothing happens: only the scheduler's tables are kept.

The tables, filters and preemption are those of the simulated cluster (`twin.scheduling`), which follow kube-scheduler's
sources. Nothing is admitted, defaulted or checked: the objects come from an API server that has done so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from twin.chance import Chance
from twin.changes import Change
from twin.clock import Clock
from twin.config import TwinConfig
from twin.intake import new_record, pod_shape
from twin.kube_events import Reporter
from twin.records import NodeRecord, ObjectRecord, PodRecord, PodShape, Record, Resize
from twin.scheduling.default_preemption import Preemption
from twin.scheduling.node_table import NodeTable
from twin.scheduling.plugins import Plugins
from twin.store import Store
from twin.timestamps import unix
from twin.world import World

Object = dict[str, Any]
Objects = Mapping[str, Iterable[Object]]
"""Kubernetes JSON by resource, such as `pods`."""
RESOURCES = (
    "namespaces",
    "storageclasses",
    "persistentvolumes",
    "persistentvolumeclaims",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "volumeattachments",
    "services",
    "poddisruptionbudgets",
    "nodes",
    "pods",
)
"""What the scheduler reads, in the order in which it is taken in: pods come onto nodes that are there."""


class FrozenCluster:
    """The tables of the scheduler for one moment."""

    def __init__(self, objects: Objects, now_seconds: float) -> None:
        """Take in the objects as they were at `now_seconds` (unix seconds)."""
        config = TwinConfig(start_time=now_seconds)
        clock = Clock(now_seconds)
        store = Store(lambda: clock.now)
        chance = Chance(0)
        self.world = World(config, 0, clock, store, chance, Reporter(store, config, 0))
        self.nodes = NodeTable()
        self.plugins = Plugins(self.world, self.nodes, config.scheduler)
        self.preemption = Preemption(self.world, self.nodes, config.scheduler)
        store.subscribe(self._follow)
        for resource in RESOURCES:
            for obj in objects.get(resource, ()):
                store.insert(resource, record_of(resource, obj))

    def _follow(self, change: Change) -> None:
        self.world.follow(change)
        if change.resource in ("pods", "nodes"):
            self.nodes.follow(change)
        self.plugins.follow(change)

    def pod(self, namespace: str, name: str) -> PodRecord | None:
        """Return a pod by its name."""
        found = self.world.store.find("pods", namespace, name)
        return found if isinstance(found, PodRecord) else None

    def node_at(self, row: int) -> NodeRecord:
        """Return the node of a row of the tables."""
        found = self.world.node(self.nodes.names[row])
        assert found is not None
        return found

    def rows(self) -> list[int]:
        """Return the rows of the nodes that are there, in order of name."""
        return sorted(self.nodes.row_of.values(), key=self.nodes.names.__getitem__)


def record_of(resource: str, obj: Object) -> Record:
    """Return the record of an object as an API server gives it, status included."""
    record = new_record(resource, obj)
    metadata = obj["metadata"]
    record.uid = str(metadata.get("uid") or f"{metadata.get('namespace', '')}/{metadata['name']}")
    record.resource_version = 0
    record.created_at = unix_seconds(metadata.get("creationTimestamp")) or 0.0
    record.deletion_at = unix_seconds(metadata.get("deletionTimestamp"))
    status = obj.get("status") or {}
    if isinstance(record, PodRecord):
        _take_status(record, obj, status)
    elif isinstance(record, NodeRecord):
        record.images = tuple(
            (name, int(image.get("sizeBytes") or 0))
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        )
    elif isinstance(record, ObjectRecord) and status:
        record.body = {**record.body, "status": status}
    return record


def _take_status(pod: PodRecord, obj: Object, status: Object) -> None:
    """Fill in what a pod's status says that the scheduler reads."""
    pod.phase = status.get("phase", "Pending")
    pod.nominated_node = str(status.get("nominatedNodeName") or "")
    pod.started_at = unix_seconds(status.get("startTime"))
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            pod.unschedulable = str(condition.get("message") or "")
        elif condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            pod.disruption = str(condition.get("reason") or "")
    allocated = _shape_with(obj, status, "allocatedResources")
    actual = _shape_with(obj, status, "resources")
    if pod.node_name and (allocated is not pod.shape or actual is not pod.shape):
        pod.resize = Resize(allocated, actual)


def _shape_with(obj: Object, status: Object, field: str) -> PodShape:
    """Return the pod's shape with what its containers' statuses say that was allocated, or is in force."""
    spec = {name: part for name, part in obj["spec"].items() if name != "nodeName"}
    said = {one["name"]: one.get(field) for one in status.get("containerStatuses") or ()}
    containers = [
        _requesting(container, said.get(container["name"]), field)
        for container in spec["containers"]
    ]
    return pod_shape({**spec, "containers": containers})


def _requesting(container: Object, amounts: Object | None, field: str) -> Object:
    """Return a container that requests what its status says."""
    if not amounts:
        return container
    requests = amounts if field == "allocatedResources" else amounts.get("requests") or {}
    resources = container.get("resources") or {}
    known = {**(resources.get("requests") or {}), **requests}
    return {**container, "resources": {**resources, "requests": known}}


def unix_seconds(text: str | None) -> float | None:
    """Return a Kubernetes time as unix seconds, None for none."""
    return None if not text else unix(text)
