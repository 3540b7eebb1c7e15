"""The range of the cluster IPs as a ServiceCIDR, and an IPAddress for each address that a Service has.

A real server writes both in one transaction with the Service; here the address follows in the same moment of
the cluster. Source: kubernetes/kubernetes pkg/registry/core/service/ipallocator and
pkg/controlplane/controller/defaultservicecidr at 1.36.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.service_addresses import NETWORK
from twin.records import Object, ObjectRecord, Record
from twin.store import Store
from twin.timestamps import rfc3339
from twin.world import World

_LABELS = {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
}


class ClusterIpObjects:
    """Keeps the IPAddresses of Services; those that clients make are left alone."""

    def __init__(self, world: World) -> None:
        """Follow the Services of a world."""
        self._world = world
        world.clock.handle("addresses.keep", self._keep)

    def follow(self, change: Change) -> None:
        """Plan a look at the address that a Service got or gave back."""
        if change.resource != "services":
            return
        record = change.record
        before, now = _address(change.before), _address(record)
        if change.type == "MODIFIED" and before == now:
            return
        for address in sorted({before, now} - {""}):
            self._world.clock.after(0.0, "addresses.keep", address, record.namespace, record.name)

    def _keep(self, address: str, namespace: str, name: str) -> None:
        store = self._world.store
        used = _address(store.find("services", namespace, name)) == address
        parent = {"resource": "services", "namespace": namespace, "name": name}
        known = store.find("ipaddresses", "", address)
        if used and known is None:
            head = {"name": address, "labels": _LABELS}
            store.create("ipaddresses", "", {"metadata": head, "spec": {"parentRef": parent}})
        elif isinstance(known, ObjectRecord):
            is_ours = known.body["spec"]["parentRef"] == parent
            if is_ours and not used:
                store.delete("ipaddresses", "", address)


def add_service_range(store: Store) -> None:
    """Create the ServiceCIDR of the addresses that Services take."""
    condition: Object = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": rfc3339(store.now()),
    }
    spec, status = {"cidrs": [str(NETWORK)]}, {"conditions": [condition]}
    head = {"name": "kubernetes"}
    store.create("servicecidrs", "", {"metadata": head, "spec": spec, "status": status})


def _address(record: Record | None) -> str:
    """Return the cluster IP of a Service; empty where it has none."""
    if not isinstance(record, ObjectRecord):
        return ""
    address = str(record.body["spec"].get("clusterIP") or "")
    return "" if address == "None" else address
