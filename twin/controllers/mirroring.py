"""EndpointSlices that mirror Endpoints which somebody wrote for a Service without a selector.

One slice for each address family and set of ports of the Endpoints, at most 1,000 addresses of each subset; labels
and annotations are those of the Endpoints. Source: kubernetes/kubernetes pkg/controller/endpointslicemirroring.
"""

from __future__ import annotations

import ipaddress

from twin.changes import Change
from twin.controllers.endpoint_rows import (
    MANAGED_BY,
    SERVICE_NAME,
    PortKey,
    key_of_ports,
)
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import owner_reference
from twin.records import Object, ObjectRecord, Record
from twin.world import World

MIRRORED = "endpoints to mirror"
"""What the controllers' queue calls Endpoints that may have to be mirrored."""
_MANAGER = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_NOT_MIRRORED = frozenset({
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
})  # fmt: skip
"""Annotations of the Endpoints that its slices do not have."""
_MOST = 1_000
_Key = tuple[str, PortKey]


class Mirroring:
    """Keeps the slices of Endpoints that no controller writes; keeps nothing of its own."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        """Write through the store of a world."""
        self._world, self._loop = world, loop

    def follow(self, change: Change) -> None:
        """Note the Endpoints for which a change of them, of their Service or of a slice matters."""
        record, name = change.record, change.record.name
        if change.resource == "endpointslices":
            if record.labels.get(MANAGED_BY) != _MANAGER:
                return
            name = record.labels.get(SERVICE_NAME, "")
        elif change.resource == "endpoints":
            if _has_selector(self._world.store.find("services", record.namespace, name)):
                return  # which is most of them
        elif self._world.store.find("endpoints", record.namespace, name) is None:
            return
        self._loop.note(MIRRORED, record.namespace, name)

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring the slices of Endpoints to what these say."""
        store = self._world.store
        endpoints, service = (
            store.find(kind, namespace, name) for kind in ("endpoints", "services")
        )
        present: dict[_Key, list[ObjectRecord]] = {}
        for record in store.records("endpointslices", namespace):
            own = record.labels.get(SERVICE_NAME) == name
            if (
                own
                and record.labels.get(MANAGED_BY) == _MANAGER
                and isinstance(record, ObjectRecord)
            ):
                key = record.body["addressType"], key_of_ports(record.body.get("ports"))
                present.setdefault(key, []).append(record)
        wanted: dict[_Key, tuple[list[Object], list[Object]]] = {}
        if isinstance(endpoints, ObjectRecord) and _is_mirrored(endpoints, service):
            wanted = _slices_of(endpoints)
            self._write(endpoints, wanted, present)
        for record in (one for records in present.values() for one in records):
            store.delete("endpointslices", namespace, record.name)

    def _write(
        self,
        endpoints: ObjectRecord,
        wanted: dict[_Key, tuple[list[Object], list[Object]]],
        present: dict[_Key, list[ObjectRecord]],
    ) -> None:
        """Write what is wanted over slices that are there; those that are left in `present` are too many."""
        new = {}
        for key, rows in wanted.items():
            if present.get(key):
                self._replace(present[key].pop(0), endpoints, key, rows)
            else:
                new[key] = rows
        free = [record for records in present.values() for record in records]
        for (key, rows), record in zip(list(new.items()), free, strict=False):
            present[_key_of(record)].remove(record)
            self._replace(record, endpoints, key, rows)
            del new[key]
        if endpoints.deletion_at is not None:
            return
        for (family, _), (ports, entries) in new.items():
            head = {"generateName": f"{endpoints.name}-", **_head(endpoints)}
            body = {"addressType": family, "endpoints": entries, "ports": ports or None}
            self._world.store.create(
                "endpointslices", endpoints.namespace, {"metadata": head, **body}
            )

    def _replace(
        self,
        record: ObjectRecord,
        endpoints: ObjectRecord,
        key: _Key,
        rows: tuple[list[Object], list[Object]],
    ) -> None:
        head, (ports, entries) = _head(endpoints), rows
        body = {**record.body, "addressType": key[0], "endpoints": entries, "ports": ports or None}
        if (record.body, record.labels, record.annotations) == (
            body, head["labels"], head["annotations"],
        ):  # fmt: skip
            return
        before = record.clone()
        record.body, record.labels, record.annotations = body, head["labels"], head["annotations"]
        self._world.store.touch("endpointslices", record, before)


def _is_mirrored(endpoints: ObjectRecord, service: Record | None) -> bool:
    """True for Endpoints of a Service without a selector, unless they say otherwise or are a leader's record."""
    if service is None or _has_selector(service):
        return False
    return endpoints.labels.get(_SKIP) != "true" and _LEADER not in endpoints.annotations


def _has_selector(service: Record | None) -> bool:
    return isinstance(service, ObjectRecord) and bool(service.body["spec"].get("selector"))


def _key_of(record: ObjectRecord) -> _Key:
    return record.body["addressType"], key_of_ports(record.body.get("ports"))


def _head(endpoints: ObjectRecord) -> Object:
    """Return the metadata of a slice but for its name."""
    notes = {k: v for k, v in endpoints.annotations.items() if k not in _NOT_MIRRORED}
    labels = {**endpoints.labels, SERVICE_NAME: endpoints.name, MANAGED_BY: _MANAGER}
    owners = [owner_reference("endpoints", endpoints)]
    return {"labels": labels, "annotations": notes, "ownerReferences": owners}


def _slices_of(endpoints: ObjectRecord) -> dict[_Key, tuple[list[Object], list[Object]]]:
    """Return ports and rows of each slice that Endpoints need."""
    slices: dict[_Key, tuple[list[Object], list[Object]]] = {}
    for subset in endpoints.body.get("subsets") or ():
        ports = [
            {"name": "", "protocol": "TCP", **{k: v for k, v in port.items() if v is not None}}
            for port in subset.get("ports") or ()
        ]
        sides = (("addresses", True), ("notReadyAddresses", False))
        every = [(one, ready) for side, ready in sides for one in subset.get(side) or ()]
        for address, ready in every[:_MOST]:
            family = f"IPv{ipaddress.ip_address(address['ip']).version}"
            rows = slices.setdefault((family, key_of_ports(ports)), (ports, []))[1]
            row = _row(address, ready=ready)
            if row["addresses"] not in (one["addresses"] for one in rows):
                rows.append(row)
    return slices


def _row(address: Object, *, ready: bool) -> Object:
    row: Object = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
    return row | {k: address[k] for k in ("hostname", "nodeName", "targetRef") if address.get(k)}
