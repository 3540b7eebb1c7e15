"""Which pods fit on nodes that are there, and which new machines the others need.

Pods come largest first; each goes onto a node that is there or on its way, then onto a machine that this
run has thought of already, then onto a new one of the first pool that takes it. A new machine stays a set
of instance types until the run is over: adding a pod drops the types that no longer hold all of them
(pkg/controllers/provisioning/scheduling/{scheduler,nodeclaim,existingnode,queue}.go).
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from twin.config.provisioning import MachineType
from twin.needs import BASIC_RESOURCES, PodNeeds
from twin.provisioners.karpenter.existing import Existing, ExistingNodes
from twin.provisioners.karpenter.instance_types import (
    InstanceTypes,
    capacity,
    is_within,
    less_most,
)
from twin.provisioners.karpenter.names import (
    HOSTNAME,
    ZONE,
)
from twin.provisioners.karpenter.pools import Pool, open_requirements
from twin.provisioners.karpenter.preferences import PodPreferences, wishes_of
from twin.provisioners.karpenter.requirements import (
    Requirements,
    add,
    conflict,
    one_of,
)
from twin.provisioners.karpenter.zones import narrow_zones
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.records import NodeRecord, Object, PodRecord

MOST_TYPES = 600
"""MaxInstanceTypes (scheduling/nodeclaimtemplate.go)."""
NewNode = Callable[[str, dict[str, str]], NodeRecord]
"""(name, labels): an empty node record for a machine in thought."""


@dataclass(slots=True, eq=False)
class NewMachine:
    """A machine that is to be ordered."""

    pool: Pool
    place: NodeInfo
    requirements: Requirements
    types: list[MachineType]
    used: list[int]
    """Of BASIC_RESOURCES: what its pods and those of DaemonSets ask for."""
    pods: list[PodRecord] = field(default_factory=list)

    most: list[int] = field(default_factory=list)
    """Of BASIC_RESOURCES: what the types have at most, each for itself."""

    def has_room(self, needs: PodNeeds) -> bool:
        """True when no amount alone keeps a pod away: a quick look before the thorough one."""
        used, most = self.used, self.most
        for line, amount in needs.asked:
            if used[line] + amount > most[line]:
                return False
        return not needs.extra


@dataclass(slots=True)
class Solution:
    """What a run comes to."""

    machines: list[NewMachine]
    existing: list[Existing]
    """Those that got pods."""
    errors: dict[str, tuple[PodRecord, str]]
    """By pod uid: why it fits nowhere."""


@dataclass(slots=True)
class Solver:
    """One run over a snapshot of the cluster, which is as before when it is over."""

    types: InstanceTypes
    pools: Sequence[Pool]
    """By weight, heaviest first."""
    snapshot: ClusterSnapshot
    existing: ExistingNodes
    daemons: Sequence[PodRecord]
    room: dict[str, dict[str, int]]
    """What each pool with limits may still add."""
    new_node: NewNode
    respect: bool = True
    machines: list[NewMachine] = field(default_factory=list)
    _ranks: list[tuple[int, int]] = field(default_factory=list)
    """(pods, number) of the machines, in the order in which they are tried."""
    _templates: dict[str, tuple[NodeRecord, list[int]]] = field(default_factory=dict)
    """By pool: an empty node, and what pods of DaemonSets take of it."""

    def solve(self, pods: Iterable[PodRecord]) -> Solution:
        """Place all pods; those that fail are tried again as long as others make progress."""
        queue = deque(sorted(pods, key=_largest_first))
        errors: dict[str, tuple[PodRecord, str]] = {}
        left_at: dict[str, int] = {}
        mark = self.snapshot.mark()
        while queue:
            pod = queue[0]
            if left_at.get(pod.uid) == len(queue):
                break
            queue.popleft()
            error = self._try(pod)
            if error:
                errors[pod.uid] = (pod, error)
                queue.append(pod)
                left_at[pod.uid] = len(queue)
            else:
                errors.pop(pod.uid, None)
        self.snapshot.revert(mark)
        return Solution(self.machines, self.existing.used(), errors)

    def _try(self, pod: PodRecord) -> str:
        error = ""
        for wish in wishes_of(pod, respect=self.respect):
            error = self._add(wish)
            if not error:
                return ""
        return error

    def _add(self, wish: PodPreferences) -> str:
        pod, wanted = wish.pod, wish.requirements()
        for number in self.existing.with_room(pod):
            entry = self.existing[number]
            if self._fits_existing(wish, wanted, entry):
                self.existing.put(number, pod)
                self.snapshot.place(pod, entry.place)
                return ""
        for place, (count, number) in enumerate(self._ranks):
            machine = self.machines[number]
            if machine.has_room(pod.shape.needs) and not self._extend(wish, wanted, machine):
                del self._ranks[place]
                insort(self._ranks, (count + 1, number))
                return ""
        return self._open(wish, wanted)

    # ---- nodes that are there

    def _fits_existing(self, wish: PodPreferences, wanted: Requirements, entry: Existing) -> bool:
        """True for a node with room that takes a pod."""
        place, pod = entry.place, wish.pod
        if any(amount > place.extra.get(name, 0) for name, amount in pod.shape.needs.extra):
            return False
        if entry.taints and wish.intolerable(entry.taints) is not None:
            return False
        if wanted and conflict(entry.requirements, wanted, open_keys=False):
            return False
        return self._relates(wish, place, entry.requirements)

    def _relates(self, wish: PodPreferences, place: NodeInfo, requirements: Requirements) -> bool:
        """True when host ports and the wishes about other pods agree with a node."""
        pod = wish.pod
        if _port_taken(pod, place):
            return False
        spread = wish.spread or wish.soft_spread
        if (
            spread
            and narrow_zones(self.snapshot, wish, place, requirements, self.types.zones) is None
        ):
            return False
        affinity = (*wish.affinity, *wish.soft_affinity)
        anti_affinity = (*wish.anti_affinity, *wish.soft_anti_affinity)
        return not self.snapshot.relations(pod, place, affinity, anti_affinity)

    # ---- machines in thought

    def _extend(self, wish: PodPreferences, wanted: Requirements, machine: NewMachine) -> str:
        """Add a pod to a machine; return why not."""
        pod, pool = wish.pod, machine.pool
        taint = wish.intolerable(pool.taints)
        if taint is not None:
            return f"did not tolerate taint (taint={_taint_text(taint)})"
        if _port_taken(pod, machine.place):
            return "checking host port usage, a port is taken"
        requirements = dict(machine.requirements)
        why = conflict(requirements, wanted, open_keys=True)
        if why:
            return f"incompatible requirements, {why}"
        add(requirements, wanted)
        zone: str | None = ""
        if wish.is_about_pods:
            zone = narrow_zones(self.snapshot, wish, machine.place, requirements, self.types.zones)
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
        extra = bool(pod.shape.needs.extra)
        types = [] if extra else self.types.filter(machine.types, requirements, used)
        if not types:
            return self.types.error(requirements, machine.types, used, extra=extra)
        if len(types) != len(machine.types) or not machine.most:
            machine.most = [max(line) for line in zip(*map(capacity, types), strict=True)]
        machine.types, machine.used, machine.requirements = types, used, requirements
        machine.pods.append(pod)
        if zone:
            machine.place.node.labels = {**machine.place.node.labels, ZONE: zone}
        self.snapshot.place(pod, machine.place)
        return ""

    def _open(self, wish: PodPreferences, wanted: Requirements) -> str:
        """Think of a new machine for a pod; return why no pool takes it."""
        if not self.pools:
            return "no nodepools found"
        errors = []
        for pool in self.pools:
            types = list(self.types.machines)
            room = self.room.get(pool.name)
            if room is not None:
                if room.get("nodes", 1) <= 0:
                    errors.append(
                        f"node limits have been exhausted for nodepool (NodePool={pool.name})"
                    )
                    continue
                types = [one for one in types if is_within(one, room)]
                if not types:
                    text = "all available instance types exceed limits for nodepool"
                    errors.append(f"{text} (NodePool={pool.name})")
                    continue
            machine = self._new_machine(pool, types)
            error = self._extend(wish, wanted, machine)
            if not error:
                insort(self._ranks, (1, len(self.machines)))
                self.machines.append(machine)
                if room is not None:
                    self.room[pool.name] = less_most(room, machine.types)
                return ""
            self.snapshot.remove(machine.place.name)
            errors.append(error)
        return "; ".join(errors)

    def _new_machine(self, pool: Pool, types: list[MachineType]) -> NewMachine:
        name = f"hostname-placeholder-{len(self.machines):04d}"
        template = self._templates.get(pool.name)
        if template is None:
            template = self._templates[pool.name] = self._template(pool)
        node = template[0].clone()
        node.name, node.labels = name, {**pool.labels, HOSTNAME: name}
        place = NodeInfo.of(node, template=True)
        place.free = [2**62] * len(BASIC_RESOURCES)  # the types decide what fits
        self.snapshot.add(place)
        return NewMachine(pool, place, open_requirements(pool), types, list(template[1]))

    def _template(self, pool: Pool) -> tuple[NodeRecord, list[int]]:
        used = [0] * len(BASIC_RESOURCES)
        for pod in self.daemons:
            if _daemon_joins(pod, pool):
                for line, amount in pod.shape.needs.asked:
                    used[line] += amount
        return self.new_node("template", dict(pool.labels)), used


def _largest_first(pod: PodRecord) -> tuple[int, int, int, str]:
    shape = pod.shape
    return (
        -shape.cpu_request_millicores,
        -shape.memory_request_bytes,
        int(pod.created_at),
        pod.uid,
    )


def _daemon_joins(pod: PodRecord, pool: Pool) -> bool:
    wish = next(wishes_of(pod, respect=False))
    if wish.intolerable(pool.taints) is not None:
        return False
    return not conflict(open_requirements(pool), wish.requirements(), open_keys=True)


def _port_taken(pod: PodRecord, place: NodeInfo) -> bool:
    """True when a pod on a node holds a host port that another one wants."""
    wanted = {(port.protocol, port.port) for port in pod.shape.needs.host_ports}
    return bool(wanted) and any(
        (port.protocol, port.port) in wanted
        for other in place.pods.values()
        for port in other.shape.needs.host_ports
    )


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"
