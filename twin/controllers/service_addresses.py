"""Addresses of Services: cluster IPs and node ports, as the API server gives them at the write.

An address follows from the Service's namespace and name, and the next free one is taken when it is in use:
no other write changes it. Ranges are the defaults of kubeadm and kube-apiserver: 10.96.0.0/12, 30000-32767
(website reference/networking/virtual-ips.md).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from twin.chance import key_of
from twin.controllers.service_ranges import networks_of
from twin.errors import ApiError, invalid
from twin.kinds import Kind
from twin.records import Object, ObjectRecord
from twin.store import Store

NETWORK = ipaddress.ip_network("10.96.0.0/12")
FIRST_NODE_PORT, LAST_NODE_PORT = 30_000, 32_767
_NODE_PORT_TYPES = ("NodePort", "LoadBalancer")


class ServiceAddresses:
    """The gate that gives each Service its addresses."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Do nothing before validation."""

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Give a valid Service its addresses; raises ApiError 422 for one that is not to be had."""
        del dry_run
        if kind.resource != "services":
            return
        name, spec = obj["metadata"]["name"], obj["spec"]
        causes = list(self._causes(namespace, name, spec, old))
        if causes:
            raise invalid(kind.kind, kind.group, name, causes)
        if spec["type"] == "ExternalName":
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
            return
        spec["clusterIPs"] = [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def _causes(
        self, namespace: str, name: str, spec: Object, old: Object | None
    ) -> Iterator[tuple[str, str]]:
        """Fill the addresses in and yield (field, sentence) of what is wrong with given ones."""
        if spec["type"] != "ExternalName":
            yield from self._cluster_ip(namespace, name, spec, old)
        if spec["type"] in _NODE_PORT_TYPES:
            yield from self._node_ports(namespace, name, spec, old)
        yield from self._health_port(namespace, name, spec, old)

    def _health_port(
        self, namespace: str, name: str, spec: Object, old: Object | None
    ) -> Iterator[tuple[str, str]]:
        """Give a balancer that asks each node for its own pods the port where it asks; raises ApiError 500."""
        before = (old or {}).get("spec", {}).get("healthCheckNodePort")
        if not _is_asked_by_node(spec):
            if spec.get("healthCheckNodePort") == before:
                spec.pop("healthCheckNodePort", None)
            return
        given = spec.get("healthCheckNodePort") or before
        if before and given != before:
            yield "spec.healthCheckNodePort", "Forbidden: field is immutable"
            return
        if not before:
            own = [port.get("nodePort") for port in spec.get("ports") or ()]
            taken = {**self._taken_ports((namespace, name)), **dict.fromkeys(own)}
            if not given:
                given = _free_port(taken, "health check node port", namespace, name)
            elif given in taken:
                why = "provided port is already allocated"
                text = f"failed to allocate requested HealthCheck NodePort {given}: {why}"
                causes = {"causes": [{"message": text}]}
                message = f"Internal error occurred: {text}"
                raise ApiError(500, "InternalError", message, causes)
        spec["healthCheckNodePort"] = given

    def _cluster_ip(
        self, namespace: str, name: str, spec: Object, old: Object | None
    ) -> Iterator[tuple[str, str]]:
        before = (old or {}).get("spec", {}).get("clusterIP")
        given = spec.get("clusterIP") or before
        if before and given != before:
            yield "spec.clusterIPs[0]", f'Invalid value: "{given}": field is immutable'
            return
        taken = {} if before else self._taken_ips((namespace, name))
        if not given:
            size = NETWORK.num_addresses - 2
            place = key_of("cluster ip", namespace, name) % size
            while (given := str(NETWORK[1 + place])) in taken:
                place = (place + 1) % size
        elif given != "None" and not before:
            if not self._is_in_a_range(given):
                why = "the provided network does not match the current range"
                yield (
                    "spec.clusterIPs",
                    f'Invalid value: ["{given}"]: failed to allocate IP {given}: {why}',
                )
            elif given in taken:
                why = "provided IP is already allocated"
                yield (
                    "spec.clusterIPs",
                    f'Invalid value: ["{given}"]: failed to allocate IP {given}: {why}',
                )
        spec["clusterIP"] = given

    def _is_in_a_range(self, text: str) -> bool:
        """True for an address of the usual network or of a ServiceCIDR that is not being deleted."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        ranges = (
            network
            for record in self._store.records("servicecidrs")
            if isinstance(record, ObjectRecord) and record.deletion_at is None
            for network in networks_of(record)
        )
        return address in NETWORK or any(address in one for one in ranges)

    def _node_ports(
        self, namespace: str, name: str, spec: Object, old: Object | None
    ) -> Iterator[tuple[str, str]]:
        before = {
            (port.get("protocol"), port["port"]): port.get("nodePort")
            for port in (old or {}).get("spec", {}).get("ports") or ()
        }
        taken = self._taken_ports((namespace, name))
        for index, port in enumerate(spec.get("ports") or ()):
            given: Any = port.get("nodePort") or before.get((port["protocol"], port["port"]))
            if not given and spec.get("allocateLoadBalancerNodePorts") is False:
                continue
            if not given:
                given = _free_port(taken, "node port", namespace, name, index)
            elif not isinstance(given, int) or not FIRST_NODE_PORT <= given <= LAST_NODE_PORT:
                why = f"provided port is not in the valid range. The range of valid ports is {FIRST_NODE_PORT}-"
                yield (
                    f"spec.ports[{index}].nodePort",
                    f"Invalid value: {given}: {why}{LAST_NODE_PORT}",
                )
            elif given in taken:
                why = "provided port is already allocated"
                yield f"spec.ports[{index}].nodePort", f"Invalid value: {given}: {why}"
            port["nodePort"] = given
            taken[given] = None

    def _taken_ips(self, but: tuple[str, str]) -> dict[str, None]:
        return {str(spec.get("clusterIP")): None for spec in self._specs(but)}

    def _taken_ports(self, but: tuple[str, str]) -> dict[int, None]:
        taken: dict[int, None] = {}
        for spec in self._specs(but):
            ports = [port.get("nodePort") for port in spec.get("ports") or ()]
            taken.update(dict.fromkeys(filter(None, [*ports, spec.get("healthCheckNodePort")])))
        return taken

    def _specs(self, but: tuple[str, str]) -> Iterator[Object]:
        for record in self._store.records("services"):
            if isinstance(record, ObjectRecord) and record.key != but:
                yield record.body["spec"]


def _is_asked_by_node(spec: Object) -> bool:
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _free_port(taken: dict[int, None], *name: str | int) -> int:
    """Return the port that follows from a name, or the next that nobody has."""
    size = LAST_NODE_PORT - FIRST_NODE_PORT + 1
    place = key_of(*name) % size
    while FIRST_NODE_PORT + place in taken:
        place = (place + 1) % size
    return FIRST_NODE_PORT + place
