"""Endpoints and EndpointSlices: where the requests of a Service go.

A slice lists at most 100 pods with the same ports, an Endpoints object at most 1,000 pods. A pod stays in the slice
where it is; new ones fill slices with room before another is made.
Source: kubernetes/kubernetes pkg/controller/endpointslice, staging/src/k8s.io/endpointslice (reconciler.go,
util/trigger_time_tracker.go), pkg/controller/endpoint. Topology hints are left out.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.endpoint_rows import (
    MANAGED_BY,
    SERVICE_NAME,
    SLICE_MANAGER,
    PortKey,
    endpoints_labels,
    is_listed,
    key_of_ports,
    ports_by_shape,
    slice_labels,
    slice_row,
    subsets_of,
)
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import owner_reference
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

_SLICE_SIZE, _ENDPOINTS_SIZE = 100, 1_000
_OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
_TRIGGERED_AT = "endpoints.kubernetes.io/last-change-trigger-time"


class Endpoints(Part):
    """Keeps Endpoints and EndpointSlices of Services that select pods."""

    KEEPS = ("_ready_at",)
    LEAVES = ("_selectors",)  # follows from the store

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}  # by namespace and Service

        self._ready_at: dict[str, dict[str, int]] = {}
        """When the pods of a Service became ready or unready last, whole seconds, by its uid and their names."""

    def restored(self) -> None:
        """Read the selectors of all Services anew."""
        self._selectors.clear()
        for record in self._world.store.records("services"):
            if isinstance(record, ObjectRecord):
                self._learn(record, gone=False)

    def follow(self, change: Change) -> None:
        """Take in a Service that came, changed or went."""
        record = change.record
        assert isinstance(record, ObjectRecord)
        if change.type == "DELETED":
            self._ready_at.pop(record.uid, None)
        self._learn(record, gone=change.type == "DELETED")
        self._loop.note("services", record.namespace, record.name)

    def follow_pod(self, pod: PodRecord, before: object) -> None:
        """Have the Services looked at that select a pod, or selected it before its labels changed."""
        services = self._selectors.get(pod.namespace)
        if not services:
            return
        now = pod.labels.items()
        earlier = before.labels.items() if isinstance(before, PodRecord) else now
        for name, selector in services.items():
            wanted = selector.items()
            if wanted <= now or wanted <= earlier:
                self._loop.note("services", pod.namespace, name)

    def _learn(self, record: ObjectRecord, *, gone: bool) -> None:
        here = self._selectors.setdefault(record.namespace, {})
        spec = record.body["spec"]
        selector = spec.get("selector")
        if gone or not selector or spec.get("type") == "ExternalName":
            here.pop(record.name, None)
        else:
            here[record.name] = selector
        if not here:
            del self._selectors[record.namespace]

    # ---- reconciling

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring the slices and the Endpoints object of a Service to what its pods are."""
        service = self._world.store.find("services", namespace, name)
        selector = self._selectors.get(namespace, {}).get(name)
        if not isinstance(service, ObjectRecord) or selector is None:
            if service is None:
                self._remove(namespace, name)
            return
        pods = self._world.select_pods(namespace, {"matchLabels": selector})
        changed_at = self._changed_at(service, pods)
        self._write_slices(
            service, [pod for pod in pods if is_listed(pod, leaving=True)], changed_at
        )
        publish = bool(service.body["spec"].get("publishNotReadyAddresses"))
        listed = [pod for pod in pods if is_listed(pod, leaving=publish)]
        self._write_endpoints(service, listed, changed_at)

    def _changed_at(self, service: ObjectRecord, pods: list[PodRecord]) -> Object:
        """Return the annotation that says since when what is written now was to be written, if that is known.

        At first that is when the Service came, later the earliest change of a pod's readiness since the last look.
        """
        known = self._ready_at.get(service.uid)
        now = {pod.name: int(pod.ready_at) for pod in pods if pod.pod_ip and pod.ready_at}
        self._ready_at[service.uid] = now
        if known is None:
            return {_TRIGGERED_AT: rfc3339(service.created_at)}
        fresh = [at for name, at in now.items() if at > known.get(name, 0)]
        return {_TRIGGERED_AT: rfc3339(min(fresh))} if fresh else {}

    def slices(self, namespace: str, name: str) -> list[ObjectRecord]:
        """Return the slices of a Service, by name."""
        return [
            record
            for record in self._world.store.records("endpointslices", namespace)
            if isinstance(record, ObjectRecord) and record.labels.get(SERVICE_NAME) == name
        ]

    def _write_slices(
        self, service: ObjectRecord, pods: list[PodRecord], changed_at: Object
    ) -> None:
        store = self._world.store
        publish = bool(service.body["spec"].get("publishNotReadyAddresses"))
        wanted: dict[PortKey, dict[str, Object]] = {}
        ports: dict[PortKey, list[Object]] = {}
        by_shape = ports_by_shape(service, pods)
        for pod in pods:
            node = self._world.node(pod.node_name)
            if node is None and not publish:
                continue
            own = by_shape[pod.shape]
            key = key_of_ports(own)
            ports.setdefault(key, own)
            wanted.setdefault(key, {})[pod.uid] = slice_row(pod, node, service)
        present: dict[PortKey, list[ObjectRecord]] = {}
        for record in self.slices(service.namespace, service.name):
            if record.labels.get(MANAGED_BY) == SLICE_MANAGER:
                present.setdefault(key_of_ports(record.body.get("ports")), []).append(record)
        if not wanted:  # one slice says that there is nobody
            wanted, ports = {(): {}}, {(): []}
        for key, rows in wanted.items():
            self._write_group(service, present.pop(key, []), rows, ports[key], changed_at)
        for record in (record for records in present.values() for record in records):
            store.delete("endpointslices", record.namespace, record.name)

    def _write_group(
        self,
        service: ObjectRecord,
        present: list[ObjectRecord],
        rows: dict[str, Object],
        ports: list[Object],
        changed_at: Object,
    ) -> None:
        """Bring the slices of one set of ports to the rows of its pods, by uid."""
        rest = dict(rows)
        plans: list[tuple[ObjectRecord, list[Object]]] = []
        for record in present:
            held = [entry["targetRef"]["uid"] for entry in record.body.get("endpoints") or ()]
            plans.append((record, [rest.pop(uid) for uid in held if uid in rest]))
        new = list(rest.values())
        for _, entries in plans:
            room = _SLICE_SIZE - len(entries)
            entries.extend(new[:room])
            del new[:room]
        kept = False
        for record, entries in plans:
            last = record is plans[-1][0] and not kept and not new
            if not entries and not last:
                self._world.store.delete("endpointslices", record.namespace, record.name)
                continue
            kept = True
            body = {**record.body, "endpoints": entries, "ports": record.body.get("ports")}
            self._write("endpointslices", record, body, slice_labels(service), changed_at)
        while new or not kept:
            self._create_slice(service, new[:_SLICE_SIZE], ports, changed_at)
            del new[:_SLICE_SIZE]
            kept = True

    def _create_slice(
        self, service: ObjectRecord, entries: list[Object], ports: list[Object], changed_at: Object
    ) -> None:
        metadata = {
            "generateName": f"{service.name}-",
            "labels": slice_labels(service),
            "annotations": dict(changed_at),
            "ownerReferences": [owner_reference("services", service)],
        }
        content = {"addressType": "IPv4", "endpoints": entries, "ports": ports or None}
        obj = {"metadata": metadata, **content}
        self._world.store.create("endpointslices", service.namespace, obj)

    def _write_endpoints(
        self, service: ObjectRecord, pods: list[PodRecord], changed_at: Object
    ) -> None:
        store = self._world.store
        annotations = dict(changed_at)
        if len(pods) > _ENDPOINTS_SIZE:
            annotations[_OVER_CAPACITY] = "truncated"
            pods = sorted(pods, key=lambda pod: not pod.ready)[:_ENDPOINTS_SIZE]
        subsets = subsets_of(service, pods)
        found = store.find("endpoints", service.namespace, service.name)
        labels = endpoints_labels(service)
        if isinstance(found, ObjectRecord):
            body = {**found.body, "subsets": subsets}
            if not subsets and not found.body.get("subsets"):
                body = found.body
            self._write("endpoints", found, body, labels, annotations)
            return
        metadata = {"name": service.name, "labels": labels, "annotations": annotations}
        store.create("endpoints", service.namespace, {"metadata": metadata, "subsets": subsets})

    def _write(
        self,
        resource: str,
        record: ObjectRecord,
        body: Object,
        labels: dict[str, str],
        annotations: dict[str, str],
    ) -> None:
        """Write what differs; the controller's own annotations are those of this write."""
        if record.body == body and record.labels == labels:
            return
        before = record.clone()
        rest = {
            k: v for k, v in record.annotations.items() if k not in (_TRIGGERED_AT, _OVER_CAPACITY)
        }
        record.body, record.labels = body, labels
        record.annotations = {**rest, **annotations}
        self._world.store.touch(resource, record, before)

    def _remove(self, namespace: str, name: str) -> None:
        """Remove what a Service leaves behind; it is gone before its garbage is."""
        store = self._world.store
        for record in self.slices(namespace, name):
            if record.labels.get(MANAGED_BY) == SLICE_MANAGER:
                store.delete("endpointslices", namespace, record.name)
        if store.find("endpoints", namespace, name) is not None:
            store.delete("endpoints", namespace, name)
