"""Which pods fit on nodes that are there, and which new machines the others need.

Pods come largest first; each goes onto a node that is there or on its way, then onto a machine that this
run has thought of already, then onto a new one of the first pool that takes it. A new machine stays a set
of instance types until the run is over: adding a pod drops the types that no longer hold all of them
(pkg/controllers/provisioning/scheduling/{scheduler,nodeclaim,existingnode,queue}.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from twin.config.provisioning import MachineType
from twin.machines.catalogue import Catalogue, Offering
from twin.needs import BASIC_RESOURCES
from twin.provisioners.karpenter.names import (
    ARCH,
    CAPACITY_TYPE,
    HOSTNAME,
    INSTANCE_TYPE,
    OS,
    ZONE,
)
from twin.provisioners.karpenter.pools import Pool, open_requirements
from twin.provisioners.karpenter.requirements import (
    Requirements,
    add,
    conflict,
    listed,
    of_labels,
    one_of,
)
from twin.provisioners.karpenter.wishes import Wish, wishes_of
from twin.provisioners.karpenter.zones import narrow_zones
from twin.provisioners.placement import Place, Snapshot
from twin.quantity import cpu_text, memory_text
from twin.records import NodeRecord, Object, PodRecord

MOST_TYPES = 600
"""MaxInstanceTypes (scheduling/nodeclaimtemplate.go)."""
Available = Callable[[Offering], bool]
NewNode = Callable[[str, dict[str, str]], NodeRecord]
"""(name, labels): an empty node record for a machine in thought."""


@dataclass(slots=True, eq=False)
class Existing:
    """A node that is there, or a NodeClaim that will be one."""

    place: Place
    taints: tuple[Object, ...]
    requirements: Requirements
    initialized: bool
    pool: str
    claim: str
    """Name of its NodeClaim; empty for a node that Karpenter does not manage."""
    node: str
    """Name of its node; empty while there is none."""
    added: list[PodRecord] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NewMachine:
    """A machine that is to be ordered."""

    pool: Pool
    place: Place
    requirements: Requirements
    types: list[MachineType]
    used: list[int]
    """Of BASIC_RESOURCES: what its pods and those of DaemonSets ask for."""
    pods: list[PodRecord] = field(default_factory=list)
    extra: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Solution:
    """What a run comes to."""

    machines: list[NewMachine]
    existing: list[Existing]
    errors: dict[str, tuple[PodRecord, str]]
    """By pod uid: why it fits nowhere."""


@dataclass(slots=True)
class Solver:
    """One run over a snapshot of the cluster."""

    catalogue: Catalogue
    pools: Sequence[Pool]
    """By weight, heaviest first."""
    snapshot: Snapshot
    existing: list[Existing]
    daemons: Sequence[PodRecord]
    room: dict[str, dict[str, int]]
    """What each pool with limits may still add."""
    available: Available
    new_node: NewNode
    respect: bool = True
    machines: list[NewMachine] = field(default_factory=list)

    def solve(self, pods: Iterable[PodRecord]) -> Solution:
        """Place all pods; those that fail are tried again as long as others make progress."""
        queue = sorted(pods, key=_largest_first)
        errors: dict[str, tuple[PodRecord, str]] = {}
        left_at: dict[str, int] = {}
        while queue:
            pod = queue[0]
            if left_at.get(pod.uid) == len(queue):
                break
            queue.pop(0)
            error = self._try(pod)
            if error:
                errors[pod.uid] = (pod, error)
                queue.append(pod)
                left_at[pod.uid] = len(queue)
            else:
                errors.pop(pod.uid, None)
        return Solution(self.machines, self.existing, errors)

    def _try(self, pod: PodRecord) -> str:
        error = ""
        for wish in wishes_of(pod, respect=self.respect):
            error = self._add(wish)
            if not error:
                return ""
        return error

    def _add(self, wish: Wish) -> str:
        for entry in self.existing:
            if self._fits_existing(wish, entry):
                entry.added.append(wish.pod)
                self.snapshot.place(wish.pod, entry.place)
                return ""
        for machine in sorted(self.machines, key=lambda one: len(one.pods)):
            if not self._extend(wish, machine):
                return ""
        return self._open(wish)

    # ---- nodes that are there

    def _fits_existing(self, wish: Wish, entry: Existing) -> bool:
        place, pod = entry.place, wish.pod
        for line, amount in pod.shape.needs.asked:
            if amount > place.free[line]:
                return False
        if any(amount > place.extra.get(name, 0) for name, amount in pod.shape.needs.extra):
            return False
        if wish.intolerable(entry.taints) is not None:
            return False
        if conflict(entry.requirements, wish.requirements(), open_keys=False):
            return False
        return self._relates(wish, place, entry.requirements)

    def _relates(self, wish: Wish, place: Place, requirements: Requirements) -> bool:
        """True when host ports and the wishes about other pods agree with a node."""
        pod = wish.pod
        if any(_same_port(pod, other) for other in place.pods.values()):
            return False
        spread = (*wish.spread, *wish.soft_spread)
        if spread and narrow_zones(self.snapshot, wish, place, requirements, self._zones()) is None:
            return False
        affinity = (*wish.affinity, *wish.soft_affinity)
        anti_affinity = (*wish.anti_affinity, *wish.soft_anti_affinity)
        return not self.snapshot.relations(pod, place, affinity, anti_affinity)

    def _zones(self) -> list[str]:
        return sorted({zone for machine in self.catalogue.machines for zone in machine.zones})

    # ---- machines in thought

    def _extend(self, wish: Wish, machine: NewMachine) -> str:
        """Add a pod to a machine; return why not."""
        pod, pool = wish.pod, machine.pool
        taint = wish.intolerable(pool.taints)
        if taint is not None:
            return f"did not tolerate taint (taint={_taint_text(taint)})"
        if any(_same_port(pod, other) for other in machine.place.pods.values()):
            return "checking host port usage, a port is taken"
        requirements = dict(machine.requirements)
        wanted = wish.requirements()
        why = conflict(requirements, wanted, open_keys=True)
        if why:
            return f"incompatible requirements, {why}"
        add(requirements, wanted)
        zone = narrow_zones(self.snapshot, wish, machine.place, requirements, self._zones())
        if zone is None:
            return "unsatisfiable topology constraint"
        if zone:
            add(requirements, {ZONE: one_of(zone)})
        anti_affinity = (*wish.anti_affinity, *wish.soft_anti_affinity)
        affinity = (*wish.affinity, *wish.soft_affinity)
        here = [term for term in affinity if term.topology_key == HOSTNAME]
        apart = [term for term in anti_affinity if term.topology_key == HOSTNAME]
        if self.snapshot.relations(pod, machine.place, here, apart):
            return "unsatisfiable topology constraint for pod anti-affinity"
        used = list(machine.used)
        for line, amount in pod.shape.needs.asked:
            used[line] += amount
        if pod.shape.needs.extra:
            return self._filter_error(requirements, machine.types, used, extra=True)
        types = self._filter(machine.types, requirements, used)
        if not types:
            return self._filter_error(requirements, machine.types, used, extra=False)
        machine.types, machine.used, machine.requirements = types, used, requirements
        machine.pods.append(pod)
        if zone:
            machine.place.node.labels = {**machine.place.node.labels, ZONE: zone}
        self.snapshot.place(pod, machine.place)
        return ""

    def _open(self, wish: Wish) -> str:
        """Think of a new machine for a pod; return why no pool takes it."""
        if not self.pools:
            return "no nodepools found"
        errors = []
        for pool in self.pools:
            types = list(self.catalogue.machines)
            room = self.room.get(pool.name)
            if room is not None:
                if room.get("nodes", 1) <= 0:
                    errors.append(
                        f"node limits have been exhausted for nodepool (NodePool={pool.name})"
                    )
                    continue
                types = [one for one in types if _within(one, room)]
                if not types:
                    text = "all available instance types exceed limits for nodepool"
                    errors.append(f"{text} (NodePool={pool.name})")
                    continue
            machine = self._new_machine(pool, types)
            error = self._extend(wish, machine)
            if not error:
                self.machines.append(machine)
                if room is not None:
                    self.room[pool.name] = _less_most(room, machine.types)
                return ""
            self.snapshot.remove(machine.place.name)
            errors.append(error)
        return "; ".join(errors)

    def _new_machine(self, pool: Pool, types: list[MachineType]) -> NewMachine:
        name = f"hostname-placeholder-{len(self.machines):04d}"
        node = self.new_node(name, {**pool.labels, HOSTNAME: name})
        place = Place.of(node, template=True)
        place.free = [2**62] * len(BASIC_RESOURCES)  # the types decide what fits
        self.snapshot.add(place)
        used = [0] * len(BASIC_RESOURCES)
        for pod in self.daemons:
            if _daemon_joins(pod, pool):
                for line, amount in pod.shape.needs.asked:
                    used[line] += amount
        return NewMachine(pool, place, open_requirements(pool), types, used)

    def _filter(
        self, types: list[MachineType], requirements: Requirements, used: list[int]
    ) -> list[MachineType]:
        return [
            one
            for one in types
            if _holds(one, used)
            and _compatible(one, requirements)
            and self.offerings(one, requirements)
        ]

    def offerings(self, machine: MachineType, requirements: Requirements) -> list[Offering]:
        """Return the offerings of a type that requirements allow and that can be had."""
        return [
            one
            for one in self.catalogue.offerings(machine.name)
            if _allows(requirements, one) and self.available(one)
        ]

    def _filter_error(
        self, requirements: Requirements, types: list[MachineType], used: list[int], *, extra: bool
    ) -> str:
        """Return the sentence of InstanceTypeFilterError (nodeclaim.go)."""
        met = [_compatible(one, requirements) for one in types]
        fits = [_holds(one, used) and not extra for one in types]
        offered = [bool(self.offerings(one, requirements)) for one in types]
        lacking = [
            text
            for flags, text in (
                (met, "met the scheduling requirements"),
                (fits, "had enough resources"),
                (offered, "had a required offering"),
            )
            if not any(flags)
        ]
        alone = {
            "met the scheduling requirements": "no instance type met all requirements",
            "had enough resources": "no instance type has enough resources",
            "had a required offering": "no instance type has the required offering",
        }
        if len(lacking) == 1:
            text = alone[lacking[0]]
        elif lacking:
            text = f"no instance type {' or '.join(lacking)}"
        elif any(a and b for a, b in zip(met, fits, strict=True)):
            text = (
                "no instance type which met the scheduling requirements and had enough resources, "
                "had a required offering"
            )
        else:
            text = "no instance type met the requirements/resources/offering tuple"
        return f"{text}, requirements={listed(requirements)}, resources={_resources(used)}"


def cheapest(offerings: Iterable[Offering]) -> float:
    """Return the lowest price of offerings, infinity for none."""
    return min((one.price for one in offerings), default=float("inf"))


def _largest_first(pod: PodRecord) -> tuple[int, int, int, str]:
    shape = pod.shape
    return (
        -shape.cpu_request_millicores,
        -shape.memory_request_bytes,
        int(pod.created_at),
        pod.uid,
    )


def _capacity(machine: MachineType) -> tuple[int, int, int, int]:
    return (machine.cpu_millicores, machine.memory_bytes, machine.gpus, machine.pods)


def _holds(machine: MachineType, used: Sequence[int]) -> bool:
    return all(amount <= held for amount, held in zip(used, _capacity(machine), strict=True))


def _compatible(machine: MachineType, requirements: Requirements) -> bool:
    types = {
        INSTANCE_TYPE: one_of(machine.name),
        ARCH: one_of("amd64"),
        OS: one_of("linux"),
        ZONE: one_of(*machine.zones),
        CAPACITY_TYPE: one_of("on-demand", *(("spot",) if machine.spot_price_per_hour else ())),
    }
    return all(
        key not in requirements or entry.intersects(requirements[key])
        for key, entry in types.items()
    )


def _allows(requirements: Requirements, offering: Offering) -> bool:
    zone, kind = requirements.get(ZONE), requirements.get(CAPACITY_TYPE)
    return (zone is None or zone.has(offering.zone)) and (
        kind is None or kind.has(offering.capacity_type)
    )


def _daemon_joins(pod: PodRecord, pool: Pool) -> bool:
    wish = next(wishes_of(pod, respect=False))
    if wish.intolerable(pool.taints) is not None:
        return False
    return not conflict(open_requirements(pool), wish.requirements(), open_keys=True)


def _within(machine: MachineType, room: dict[str, int]) -> bool:
    amounts = dict(zip(BASIC_RESOURCES, _capacity(machine), strict=True))
    return all(amounts.get(name, 0) <= left for name, left in room.items() if name != "nodes")


def _less_most(room: dict[str, int], types: list[MachineType]) -> dict[str, int]:
    """Return the room of a pool less the most that a machine may turn out to be."""
    most = [max(line) for line in zip(*map(_capacity, types), strict=True)]
    amounts = {**dict(zip(BASIC_RESOURCES, most, strict=True)), "nodes": 1}
    return {name: left - amounts.get(name, 0) for name, left in room.items()}


def _same_port(one: PodRecord, other: PodRecord) -> bool:
    held = {(port.protocol, port.port) for port in other.shape.needs.host_ports}
    return any((port.protocol, port.port) in held for port in one.shape.needs.host_ports)


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _resources(used: Sequence[int]) -> str:
    cpu, memory, _, pods = used
    return f'{{"cpu":"{cpu_text(cpu)}","memory":"{memory_text(memory)}","pods":"{pods}"}}'


def labels_as_requirements(node: NodeRecord) -> Requirements:
    """Return the labels of a node as requirements that hold."""
    return of_labels(node.labels)
