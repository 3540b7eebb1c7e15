"""What there is, what is on its way, and what is leaving (pkg/controllers/state/cluster.go)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping

from twin.changes import Change
from twin.config.provisioning import KarpenterConfig
from twin.intake import new_record
from twin.machines.cloud import Cloud
from twin.part import Part
from twin.provisioners.client import Client, is_daemon, waits_for_room
from twin.provisioners.daemons import daemon_templates, runs_on
from twin.provisioners.karpenter.claims import is_true
from twin.provisioners.karpenter.evictability import is_protected
from twin.provisioners.karpenter.existing import Existing, ExistingNodes
from twin.provisioners.karpenter.instance_types import Available, InstanceTypes
from twin.provisioners.karpenter.memory import KnownCandidates, Memory
from twin.provisioners.karpenter.names import CAPACITY_TYPE, DISRUPTED, INSTANCE_TYPE, POOL, ZONE
from twin.provisioners.karpenter.pools import Pool, read_pool
from twin.provisioners.karpenter.requirements import of_labels
from twin.provisioners.karpenter.solver import Solver
from twin.provisioners.karpenter.state_node import StateNode
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord


class ClusterState(Part):
    """Reads the API and `marked`, which the queue of commands owns; all that it remembers follows from them.

    Problem: a look every ten seconds, and a hundred simulations in some, cannot read a thousand nodes each
    time. So what follows from a node, its pods and its NodeClaim is worked out again only after one of them has
    changed.
    """

    LEAVES = ("_memory", "_waiting", "_changed_pods")

    def __init__(
        self,
        client: Client,
        cloud: Cloud,
        config: KarpenterConfig,
        available: Available,
        marked: Callable[[], Iterable[str]],
    ) -> None:
        self._client = client
        self._cloud = cloud
        self._config = config
        self._available = available
        self._marked = marked
        self._memory = Memory()
        self._waiting: tuple[int, list[PodRecord]] | None = None
        self._changed_pods = 0  # changes of pods so far

    # ---- keeping up

    def follow(self, change: Change) -> None:
        """Note what a change makes untrue."""
        if change.resource == "pods":
            self._changed_pods += 1
        self._memory.follow(change)

    def restored(self) -> None:
        """Know nothing of what was."""
        self._memory, self._waiting = Memory(), None

    # ---- what there is

    @property
    def candidates(self) -> KnownCandidates:
        """Known facts about NodeClaims as candidates of a disruption."""
        return self._memory.candidates

    def nodes(self) -> list[StateNode]:
        """Return all nodes and the NodeClaims that are no nodes yet, by name; do not change the list."""
        marked, memory = frozenset(self._marked()), self._memory
        if memory.nodes is None or marked != memory.marked_names:
            claims = {claim.name: claim for claim in self._client.objects("nodeclaims")}
            found = [
                StateNode(node, claims.pop(node.name, None), node.name in marked)
                for node in self._client.nodes()
            ]
            found += [StateNode(None, claim, claim.name in marked) for claim in claims.values()]
            memory.nodes, memory.marked_names, memory.leaving = found, marked, None
            memory.candidates.everybody = memory.disrupted = memory.counts = None
            memory.failures.clear()
            memory.by_name = {state.name: state for state in found}
        return memory.nodes

    def names(self) -> Container[str]:
        """Return the names of all of them."""
        self.nodes()
        return self._memory.by_name.keys()

    def leaving(self) -> list[StateNode]:
        """Return the nodes that are on their way out."""
        nodes, memory = self.nodes(), self._memory
        if memory.leaving is None:
            memory.leaving = [state for state in nodes if state.deleting]
        return memory.leaving

    def failures(self) -> dict[tuple[str, ...], str] | None:
        """Return why nodes could not be consolidated as things are now, by their names; None when that
        depends on the time or on budgets of pods, so that nothing can be remembered.
        """
        memory, catalogue = self._memory, self._cloud.catalogue
        if memory.candidates.everybody is None:
            return None
        offered = tuple(
            self._available(one)
            for machine in catalogue.machines
            for one in catalogue.offerings(machine.name)
        )
        if offered != memory.offered:
            memory.failures.clear()
            memory.offered = offered
        return memory.failures

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by pool how many nodes count for its budgets, and how many of them are disrupted already."""
        nodes, memory = self.nodes(), self._memory
        if memory.counts is None:
            total, busy = Counter[str](), Counter[str]()
            for state in nodes:
                if state.claim is None or not state.initialized:
                    continue
                if is_true(state.claim, "InstanceTerminating"):
                    continue
                name = state.labels.get(POOL, "")
                total[name] += 1
                assert state.node is not None
                busy[name] += int(state.node.ready_status != "True" or state.deleting)
            memory.counts = {name: (count, busy[name]) for name, count in total.items()}
        return memory.counts

    def disrupted(self) -> list[StateNode]:
        """Return the nodes with a NodeClaim that carry the taint of a disruption, or a reason for one."""
        nodes, memory = self.nodes(), self._memory
        if memory.disrupted is None:
            memory.disrupted = [
                state
                for state in nodes
                if state.node is not None
                and state.claim is not None
                and (
                    any(taint["key"] == DISRUPTED["key"] for taint in state.node.taints)
                    or is_true(state.claim, "DisruptionReason")
                )
            ]
        return memory.disrupted

    def pools(self) -> list[Pool]:
        """Return the NodePools that can be used, the heaviest first."""
        if self._memory.pools is None:
            found = [
                read_pool(record)
                for record in self._client.objects("nodepools")
                if record.deletion_at is None and self.has_class(record)
            ]
            self._memory.pools = sorted(found, key=lambda pool: (-pool.weight, pool.name))
        return self._memory.pools

    def has_class(self, record: ObjectRecord) -> bool:
        """True when the node class that a NodePool names is there."""
        reference = record.body["spec"]["template"]["spec"].get("nodeClassRef") or {}
        return self._client.find("kwoknodeclasses", "", reference.get("name", "")) is not None

    def waiting_pods(self) -> list[PodRecord]:
        """Return the pods that may be given a new machine."""
        if self._waiting is None or self._waiting[0] != self._changed_pods:
            found = [
                pod
                for pod in self._client.pods()
                if pod.unschedulable
                and waits_for_room(pod)
                and not pod.nominated_node
                and not is_daemon(pod)
            ]
            self._waiting = (self._changed_pods, found)
        return list(self._waiting[1])

    def reschedulable(self, node_name: str) -> list[PodRecord]:
        """Return the pods of a node that would be made again elsewhere."""
        return [
            pod
            for pod in self._client.pods_on(node_name)
            if not pod.terminal and not is_daemon(pod) and _comes_back(pod)
        ]

    def movable(self, node_name: str) -> list[PodRecord]:
        """Return those of them that nothing keeps from being evicted for good."""
        return [
            pod
            for pod in self.reschedulable(node_name)
            if not is_protected(pod, self._client.now)
            and not any(_blocks_for_ever(budget) for budget in self._client.budgets(pod))
        ]

    def solver(self, without: Iterable[str] = ()) -> Solver:
        """Return a solver over everything that stays, but for some nodes; it has to be used before anything
        changes.
        """
        memory, pools = self._refresh(), self.pools()
        gone = [*without, *(state.name for state in self.leaving())]
        places = dict(memory.places)
        for name in gone:
            places.pop(name, None)
        assert memory.daemons is not None
        return Solver(
            InstanceTypes(self._cloud.catalogue, self._available),
            pools,
            ClusterSnapshot(places),
            ExistingNodes(memory.existing, memory.free, memory.index, gone),
            memory.daemons,
            self._room(pools, self.nodes()),
            new_node,
            self._config.respect_preferences,
        )

    def _refresh(self) -> Memory:
        """Bring places and what pods see of nodes up to date."""
        nodes, memory = self.nodes(), self._memory
        if memory.daemons is None:
            memory.daemons = daemon_templates(self._client)
            memory.dirty.update(dict.fromkeys(memory.by_name))
        for name in memory.dirty:
            state = memory.by_name.get(name)
            memory.places.pop(name, None)
            memory.entries.pop(name, None)
            if state is not None:
                entry = memory.entries[name] = self._existing(state, memory.daemons)
                memory.places[name] = entry.place
        if memory.dirty or len(memory.existing) != len(nodes):
            entries = sorted(
                memory.entries.values(), key=lambda one: (not one.initialized, one.place.name)
            )
            memory.arrange(entries)
        memory.dirty = {}
        return memory

    def _existing(self, state: StateNode, daemons: Iterable[PodRecord]) -> Existing:
        place, labels = self._place(state), state.labels
        self._reserve_daemons(place, daemons)
        return Existing(
            place,
            state.taints(),
            of_labels(labels),
            state.initialized,
            labels.get(POOL, ""),
            "" if state.claim is None else state.claim.name,
            state.node.name if state.node is not None and state.registered else "",
        )

    def resources_of(self, pool: str, nodes: Iterable[StateNode]) -> dict[str, int]:
        """Return what the machines of a pool add up to: cpu in millicores, others in whole units."""
        total = {"cpu": 0, "memory": 0, "nvidia.com/gpu": 0, "pods": 0, "nodes": 0}
        counts: Counter[str] = Counter()
        for state in nodes:
            labels = state.labels
            if labels.get(POOL) == pool:
                counts[labels.get(INSTANCE_TYPE, "")] += 1
        for name, count in counts.items():
            machine = self._cloud.catalogue.by_name.get(name)
            if machine is None:
                continue
            total["cpu"] += machine.cpu_millicores * count
            total["memory"] += machine.memory_bytes * count
            total["nvidia.com/gpu"] += machine.gpus * count
            total["pods"] += machine.pods * count
            total["nodes"] += count
        return total

    def price(self, state: StateNode) -> float | None:
        """Return what a node costs an hour, None when its offering is not known."""
        labels = state.labels
        if labels.get(INSTANCE_TYPE, "") not in self._cloud.catalogue.by_name:
            return None
        for one in self._cloud.catalogue.offerings(labels[INSTANCE_TYPE]):
            if one.zone == labels.get(ZONE) and one.capacity_type == labels.get(CAPACITY_TYPE):
                return one.price
        return None

    def _place(self, state: StateNode) -> NodeInfo:
        if state.node is None:
            assert state.claim is not None
            amounts = (state.claim.body.get("status") or {}).get("allocatable") or {}
            return NodeInfo.of(new_node(state.claim.name, state.labels, amounts))
        place = NodeInfo.of(state.node)
        for pod in self._client.pods_on(state.node.name):
            if not pod.terminal:
                place.hold(pod)
        return place

    def _reserve_daemons(self, place: NodeInfo, daemons: Iterable[PodRecord]) -> None:
        """Keep room for the DaemonSet pods that are still to come."""
        here = {owner["uid"] for pod in place.pods.values() for owner in pod.owners}
        for pod in daemons:
            if pod.owners[0]["uid"] not in here and runs_on(pod, place.node):
                place.shift(pod, -1)

    def _room(self, pools: Iterable[Pool], nodes: list[StateNode]) -> dict[str, dict[str, int]]:
        room = {}
        for pool in pools:
            if pool.limits:
                used = self.resources_of(pool.name, nodes)
                room[pool.name] = {
                    name: limit - used.get(name, 0) for name, limit in pool.limits.items()
                }
        return room


def new_node(name: str, labels: Mapping[str, str], amounts: Object | None = None) -> NodeRecord:
    """Return a node that does not exist, with these labels and amounts."""
    obj: Object = {"metadata": {"name": name, "labels": labels}, "spec": {}}
    obj["status"] = {"allocatable": amounts or {}}
    node = new_record("nodes", obj)
    assert isinstance(node, NodeRecord)
    return node


def _comes_back(pod: PodRecord) -> bool:
    stateful = any(owner["kind"] == "StatefulSet" for owner in pod.owners)
    return pod.deletion_at is None or stateful


def _blocks_for_ever(budget: ObjectRecord) -> bool:
    """True for a budget that can never allow an eviction (utils/pdb/pdb.go isFullyBlocking)."""
    spec = budget.body["spec"]
    return str(spec.get("maxUnavailable", "")) in ("0", "0%") or spec.get("minAvailable") == "100%"
