"""ServiceCIDRs: Ready while Services may take addresses of them, and kept while one has an address of theirs alone.

Source: kubernetes/kubernetes pkg/controller/servicecidrs.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.controllers.loop import ControllerLoop
from twin.records import ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

RANGES, _ADDRESSES = "servicecidrs", "ipaddresses"
FOLLOWED = (RANGES, _ADDRESSES)
"""Resources whose changes matter to the controller."""
_FINALIZER = "networking.k8s.io/service-cidr-finalizer"
_MANAGED_BY = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
_GRACE_SECONDS = 10.0
"""deletionGracePeriod: until every allocator has heard that a range goes."""
_READY = ("True", "", "Kubernetes Service CIDR is ready")
_USED = (
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ServiceRanges:
    """Keeps the status and the finalizer of ServiceCIDRs; keeps nothing of its own."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        """Write through the store of a world."""
        self._world, self._loop = world, loop

    def follow(self, change: Change) -> None:
        """Note the ranges that are being deleted: another range or a freed address may let them go."""
        del change
        for record in self._world.store.records(RANGES):
            if record.deletion_at is not None:
                self._loop.note(RANGES, "", record.name)

    def reconcile(self, _: str, name: str) -> None:
        """Make a range ready, or let it go when no address needs it."""
        record = self._world.store.find(RANGES, "", name)
        if not isinstance(record, ObjectRecord):
            return
        if record.deletion_at is None:
            held = _FINALIZER in record.finalizers
            self._write(
                record, record.finalizers if held else (*record.finalizers, _FINALIZER), _READY
            )
        elif self._is_needed(record):
            self._write(record, record.finalizers, _USED)
        elif self._world.now < record.deletion_at + _GRACE_SECONDS:
            wait = record.deletion_at + _GRACE_SECONDS - self._world.now
            self._loop.note_later(wait, RANGES, "", name)
        else:
            rest = tuple(one for one in record.finalizers if one != _FINALIZER)
            self._write(record, rest, None)

    def _is_needed(self, record: ObjectRecord) -> bool:
        """True when a Service has an address that would then be in no range."""
        others = [
            network
            for other in self._world.store.records(RANGES)
            if other is not record and isinstance(other, ObjectRecord)
            for network in networks_of(other)
        ]
        return any(
            not _is_within(network, others)
            and any(
                one in network and not any(one in other for other in others)
                for one in self._taken()
            )
            for network in networks_of(record)
        )

    def _taken(self) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
        """Yield the addresses that Services have."""
        for record in self._world.store.records(_ADDRESSES):
            if _MANAGED_BY.items() <= record.labels.items():
                yield ipaddress.ip_address(record.name)

    def _write(
        self,
        record: ObjectRecord,
        finalizers: tuple[str, ...],
        ready: tuple[str, str, str] | None,
    ) -> None:
        before, status = record.clone(), record.body.get("status") or {}
        record.finalizers = finalizers
        if ready is not None:
            known, now = status.get("conditions") or [], rfc3339(self._world.now)
            status = {**status, "conditions": set_condition(known, "Ready", *ready, now)}
            record.body = {**record.body, "status": status}
        if record.deletion_at is not None and not record.finalizers:
            self._world.store.remove(RANGES, record, before)
        elif record.state() != before.state():
            self._world.store.touch(RANGES, record, before)


def networks_of(record: ObjectRecord) -> list[_Network]:
    """Return the networks of a ServiceCIDR."""
    return [ipaddress.ip_network(one) for one in record.body["spec"]["cidrs"]]


def _is_within(network: _Network, others: list[_Network]) -> bool:
    """True when another range holds all of a network."""
    same = (one for one in others if one.version == network.version)
    return any(
        int(one.network_address) <= int(network.network_address)
        and int(network.broadcast_address) <= int(one.broadcast_address)
        for one in same
    )
