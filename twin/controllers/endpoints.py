"""Endpoints and EndpointSlices: where the requests of a Service go.

A slice lists at most 100 pods, an Endpoints object at most 1,000. A pod stays in the slice where it is; new
ones fill slices with room before another is made. A pod is ready for requests when its Ready condition is
true and it is not being deleted, or when the Service publishes pods that are not ready.
Source: kubernetes/kubernetes pkg/controller/endpointslice, staging/src/k8s.io/endpointslice/utils.go,
pkg/controller/endpoint. Named target ports are those of the first pod that has them; zones and topology
hints are left out.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import owner_reference
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
from twin.world import World

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"
_SLICE_SIZE, _ENDPOINTS_SIZE = 100, 1_000
_OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


class Endpoints(Part):
    """Keeps Endpoints and EndpointSlices of Services that select pods."""

    KEEPS = ()
    LEAVES = ("_selectors",)  # follows from the store

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}  # by namespace and Service

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
        selected = self._world.select_pods(namespace, {"matchLabels": selector})
        pods = [pod for pod in selected if pod.pod_ip and not pod.terminal]
        ports = _ports(service.body["spec"], pods)
        publish = bool(service.body["spec"].get("publishNotReadyAddresses"))
        wanted = {pod.uid: _endpoint(pod, publish=publish) for pod in pods}
        self._write_slices(service, wanted, ports)
        self._write_endpoints(service, list(wanted.values()), ports)

    def slices(self, namespace: str, name: str) -> list[ObjectRecord]:
        """Return the slices of a Service, by name."""
        return [
            record
            for record in self._world.store.records("endpointslices", namespace)
            if isinstance(record, ObjectRecord) and record.labels.get(SERVICE_NAME) == name
        ]

    def _write_slices(
        self, service: ObjectRecord, wanted: dict[str, Object], ports: list[Object]
    ) -> None:
        store, rest = self._world.store, dict(wanted)
        present = [
            record
            for record in self.slices(service.namespace, service.name)
            if record.labels.get(MANAGED_BY) == _MANAGER
        ]
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
                store.delete("endpointslices", record.namespace, record.name)
                continue
            kept = True
            self._write(
                "endpointslices", record, {**record.body, "endpoints": entries, "ports": ports}
            )
        while new or not kept:
            self._create_slice(service, new[:_SLICE_SIZE], ports)
            del new[:_SLICE_SIZE]
            kept = True

    def _create_slice(
        self, service: ObjectRecord, entries: list[Object], ports: list[Object]
    ) -> None:
        labels = {**service.labels, SERVICE_NAME: service.name, MANAGED_BY: _MANAGER}
        metadata = {
            "generateName": f"{service.name}-",
            "labels": labels,
            "ownerReferences": [owner_reference("services", service)],
        }
        obj = {"metadata": metadata, "addressType": "IPv4", "endpoints": entries, "ports": ports}
        self._world.store.create("endpointslices", service.namespace, obj)

    def _write_endpoints(
        self, service: ObjectRecord, entries: list[Object], ports: list[Object]
    ) -> None:
        store = self._world.store
        shown = [entry for entry in entries if not entry["conditions"]["terminating"]]
        annotations = {}
        if len(shown) > _ENDPOINTS_SIZE:
            annotations[_OVER_CAPACITY] = "truncated"
            shown = sorted(shown, key=lambda entry: not entry["conditions"]["ready"])
            shown = shown[:_ENDPOINTS_SIZE]
        subset: Object = {}
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            addresses = [
                _address(entry) for entry in shown if entry["conditions"]["ready"] is ready
            ]
            if addresses:
                subset[field] = addresses
        subsets = [{**subset, "ports": ports}] if subset else []
        found = store.find("endpoints", service.namespace, service.name)
        if isinstance(found, ObjectRecord):
            self._write("endpoints", found, {**found.body, "subsets": subsets})
            return
        metadata = {
            "name": service.name,
            "labels": dict(service.labels),
            "annotations": annotations,
            "ownerReferences": [owner_reference("services", service)],
        }
        store.create("endpoints", service.namespace, {"metadata": metadata, "subsets": subsets})

    def _write(self, resource: str, record: ObjectRecord, body: Object) -> None:
        if record.body != body:
            before = record.clone()
            record.body = body
            self._world.store.touch(resource, record, before)

    def _remove(self, namespace: str, name: str) -> None:
        """Remove what a Service leaves behind; it is gone before its garbage is."""
        store = self._world.store
        for record in self.slices(namespace, name):
            if record.labels.get(MANAGED_BY) == _MANAGER:
                store.delete("endpointslices", namespace, record.name)
        found = store.find("endpoints", namespace, name)
        if found is not None and found.owners:
            store.delete("endpoints", namespace, name)


def _endpoint(pod: PodRecord, *, publish: bool) -> Object:
    terminating = pod.deletion_at is not None
    conditions = {
        "ready": publish or (pod.ready and not terminating),
        "serving": publish or pod.ready,
        "terminating": terminating,
    }
    reference = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return {
        "addresses": [pod.pod_ip],
        "conditions": conditions,
        "nodeName": pod.node_name,
        "targetRef": reference,
    }


def _address(entry: Object) -> Object:
    return {
        "ip": entry["addresses"][0],
        "nodeName": entry["nodeName"],
        "targetRef": entry["targetRef"],
    }


def _ports(spec: Object, pods: list[PodRecord]) -> list[Object]:
    """Return the ports behind those of a Service; one whose name no pod knows is left out."""
    found = []
    for port in spec.get("ports") or ():
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else _named_port(str(target), pods)
        if number is not None:
            entry = {"name": port.get("name", ""), "port": number, "protocol": port["protocol"]}
            found.append(entry)
    return found


def _named_port(name: str, pods: list[PodRecord]) -> int | None:
    for pod in pods:
        for container in pod.shape.spec["containers"]:
            for port in container.get("ports") or ():
                if port.get("name") == name:
                    return int(port["containerPort"])
    return None
