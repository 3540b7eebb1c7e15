"""Node groups as Cluster Autoscaler keeps them: sizes, machines on their way, and back-off after failures.

Source: clusterstate/clusterstate.go, utils/backoff/exponential_backoff.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inputs.quantities import cpu_text, memory_text
from twin.config.provisioning import NodeGroup, ProvisioningConfig
from twin.intake import new_record
from twin.machines.catalogue import ON_DEMAND, SPOT, Catalogue, Offering
from twin.machines.cloud import Cloud, CloudRefusal
from twin.names import suffix
from twin.part import Part, keepable
from twin.provisioners.client import Client
from twin.records import NodeRecord, Object

GROUP_LABEL = "foresail.dev/node-group"
_GPU = "nvidia.com/gpu"


@keepable
@dataclass(slots=True, eq=False)
class Request:
    """A scale-up that is not over yet."""

    increase: int
    at: float
    expected: float
    """When its machines have to be nodes."""


@keepable
@dataclass(slots=True, eq=False)
class Backoff:
    """A group that is left alone after a failure."""

    seconds: float
    until: float
    failed_at: float


@dataclass(frozen=True, slots=True)
class Readiness:
    """How many nodes of a group are in which state; those that start, by name."""

    ready: int
    starting: tuple[str, ...]
    unready: int

    @property
    def registered(self) -> int:
        """How many nodes there are."""
        return self.ready + len(self.starting) + self.unready


class Groups(Part):
    """All node groups, by name."""

    KEEPS = ("requests", "backoffs", "_ordered")

    def __init__(
        self,
        config: ProvisioningConfig,
        groups: Sequence[NodeGroup],
        cloud: Cloud,
        client: Client,
        seed: int,
    ) -> None:
        self._config = config.cluster_autoscaler
        self.groups = {group.name: group for group in groups}
        self._cloud = cloud
        self._client = client
        self._seed = seed
        self.requests: dict[str, Request] = {}
        self.backoffs: dict[str, Backoff] = {}
        self._ordered: dict[str, int] = {}  # machines ever ordered, by group

    # ---- sizes

    def target(self, name: str) -> int:
        """Return how many machines a group has or will have."""
        return self._cloud.count_of(name)

    def group_of(self, node: NodeRecord) -> NodeGroup | None:
        """Return the group of a node; None for one that is not autoscaled."""
        return self.groups.get(node.labels.get(GROUP_LABEL, ""))

    def upcoming(self, name: str, readiness: Readiness) -> int:
        """Return how many ready nodes are still to come by a scale-up that is under way."""
        if name not in self.requests or self.backed_off(name):
            return 0
        return max(0, self.target(name) - readiness.ready - readiness.unready)

    # ---- changes

    def increase(self, name: str, count: int) -> int:
        """Order machines; return how many were granted. Raises CloudRefusal when none was."""
        granted = 0
        for _ in range(count):
            try:
                self.order(name)
            except CloudRefusal:
                if not granted:
                    raise
                self.back_off(name)
                break
            granted += 1
        now, known = self._client.now, self.requests.get(name)
        expected = now + self._config.provision_seconds
        total = granted + (known.increase if known is not None else 0)
        self.requests[name] = Request(total, now, expected)
        return granted

    def order(self, name: str, *, booted: bool = False) -> None:
        """Order one machine of a group; raises CloudRefusal."""
        group = self.groups[name]
        number = self._ordered.get(name, 0) + 1
        node = f"{name}-{suffix(self._seed, 'node group', name, number)}"
        labels, taints = _decoration(group)
        self._cloud.order(
            name, node, self.offering(group), labels=labels, taints=taints, booted=booted
        )
        self._ordered[name] = number

    def give_up_unregistered(self, name: str) -> list[str]:
        """Give back the machines of a group that are no nodes yet; return their names."""
        late = [
            machine.name
            for machine in self._cloud.of_owner(name)
            if self._client.node(machine.name) is None
        ]
        for node in late:
            self._cloud.stop(node)
        return late

    def back_off(self, name: str) -> None:
        """Leave a group alone for a while, twice as long after each further failure."""
        now, known = self._client.now, self.backoffs.get(name)
        seconds = self._config.backoff_seconds
        if known is not None and now - known.failed_at < self._config.backoff_reset_seconds:
            seconds = known.seconds
            if known.until < now:
                seconds = min(2.0 * known.seconds, self._config.backoff_most_seconds)
        self.backoffs[name] = Backoff(seconds, now + seconds, now)

    def backed_off(self, name: str) -> bool:
        """True while a group is left alone."""
        known = self.backoffs.get(name)
        return known is not None and known.until >= self._client.now

    # ---- what a machine of a group is

    def offering(self, group: NodeGroup) -> Offering:
        """Return what a group orders."""
        return group_offering(group, self._cloud.catalogue)

    def template(self, group: NodeGroup, name: str) -> NodeRecord:
        """Return a node of a group that does not exist."""
        offering = self.offering(group)
        labels, taints = _decoration(group)
        shape = offering.machine
        node = new_record(
            "nodes",
            {
                "metadata": {
                    "name": name,
                    "labels": {
                        "kubernetes.io/hostname": name,
                        "kubernetes.io/os": "linux",
                        "kubernetes.io/arch": "amd64",
                        "node.kubernetes.io/instance-type": shape.name,
                        "topology.kubernetes.io/zone": offering.zone,
                        **labels,
                    },
                },
                "spec": {"taints": taints},
                "status": {
                    "allocatable": {
                        "cpu": cpu_text(shape.cpu_millicores),
                        "memory": memory_text(shape.memory_bytes),
                        "pods": str(shape.pods),
                        _GPU: str(shape.gpus),
                    }
                },
            },
        )
        assert isinstance(node, NodeRecord)
        return node


def group_offering(group: NodeGroup, catalogue: Catalogue) -> Offering:
    """Return the offering that the machines of a group are; raises KeyError for an unknown machine."""
    offerings = catalogue.offerings(group.machine)
    wanted = SPOT if group.spot else ON_DEMAND
    zone = group.zone or offerings[0].zone
    return next(
        offering
        for offering in offerings
        if offering.capacity_type == wanted and offering.zone == zone
    )


def _decoration(group: NodeGroup) -> tuple[dict[str, str], list[Object]]:
    labels = {**dict(group.labels), GROUP_LABEL: group.name}
    taints = [
        {"key": key, **({"value": value} if value else {}), "effect": effect}
        for key, value, effect in group.taints
    ]
    return labels, taints
