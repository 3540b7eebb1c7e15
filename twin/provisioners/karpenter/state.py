"""Nodes and NodeClaims seen as one: what there is, what is on its way, and what is leaving
(pkg/controllers/state/statenode.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from twin.config.provisioning import KarpenterConfig
from twin.intake import new_record
from twin.machines.catalogue import Offering
from twin.machines.cloud import Cloud
from twin.provisioners.client import Client, is_daemon, waits_for_room
from twin.provisioners.daemons import daemon_templates, runs_on
from twin.provisioners.karpenter.names import (
    CAPACITY_TYPE,
    DISRUPTED,
    DO_NOT_DISRUPT,
    EPHEMERAL,
    INITIALIZED,
    INSTANCE_TYPE,
    POOL,
    REGISTERED,
    ZONE,
)
from twin.provisioners.karpenter.pools import Pool, read_duration, read_pool
from twin.provisioners.karpenter.requirements import of_labels
from twin.provisioners.karpenter.solver import Existing, Solver
from twin.provisioners.placement import Place, Snapshot
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord
from twin.scheduling.placement_rules import UNSCHEDULABLE_TAINT, is_tolerated

_STUCK_SECONDS = 60.0  # utils/pod/scheduling.go IsStuckTerminating
_BASIC = ("cpu", "memory", "nvidia.com/gpu", "pods")


@dataclass(frozen=True, slots=True, eq=False)
class StateNode:
    """A node, its NodeClaim, or both."""

    node: NodeRecord | None
    claim: ObjectRecord | None
    marked: bool
    """Chosen by a disruption command that has begun."""

    @property
    def name(self) -> str:
        """Name of the node, or of the NodeClaim while there is no node."""
        return self.node.name if self.node is not None else self.record.name

    @property
    def record(self) -> NodeRecord | ObjectRecord:
        """The node if there is one, else the NodeClaim."""
        found = self.node if self.node is not None else self.claim
        assert found is not None
        return found

    @property
    def registered(self) -> bool:
        """True when the node has joined; always, for one that Karpenter does not manage."""
        if self.claim is None:
            return True
        return self.node is not None and self.node.labels.get(REGISTERED) == "true"

    @property
    def initialized(self) -> bool:
        """True when the node is ready for good; always, for one that Karpenter does not manage."""
        if self.claim is None:
            return True
        return self.node is not None and self.node.labels.get(INITIALIZED) == "true"

    @property
    def deleting(self) -> bool:
        """True when the node is on its way out."""
        return self.marked or any(
            record is not None and record.deletion_at is not None
            for record in (self.node, self.claim)
        )

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the node once it is registered, of the NodeClaim before."""
        use_node = self.node is not None and self.registered
        source = self.node if use_node else self.claim
        assert source is not None
        return dict(source.labels)

    def taints(self) -> tuple[Object, ...]:
        """Return what keeps pods away for good, not what goes when the node has started."""
        if self.claim is not None and not self.registered:
            return tuple(self.claim.body["spec"].get("taints") or ())
        assert self.node is not None
        taints = self.node.taints
        if self.node.unschedulable:
            taints = (*taints, UNSCHEDULABLE_TAINT)
        if self.claim is None or self.initialized:
            return taints
        starting = self.claim.body["spec"].get("startupTaints") or ()
        keys = EPHEMERAL | {taint["key"] for taint in starting}
        return tuple(taint for taint in taints if taint["key"] not in keys)


class ClusterState:
    """Reads the API; keeps nothing of its own but `marked`, which the queue of commands owns."""

    def __init__(
        self,
        client: Client,
        cloud: Cloud,
        config: KarpenterConfig,
        available: Callable[[Offering], bool],
        marked: Callable[[], Iterable[str]],
    ) -> None:
        self._client = client
        self._cloud = cloud
        self._config = config
        self._available = available
        self._marked = marked

    def nodes(self) -> list[StateNode]:
        """Return all nodes and the NodeClaims that are no nodes yet, by name."""
        marked = frozenset(self._marked())
        claims = {claim.name: claim for claim in self._client.objects("nodeclaims")}
        found = [
            StateNode(node, claims.pop(node.name, None), node.name in marked)
            for node in self._client.nodes()
        ]
        found += [StateNode(None, claim, claim.name in marked) for claim in claims.values()]
        return found

    def pools(self) -> list[Pool]:
        """Return the NodePools that can be used, the heaviest first."""
        found = [
            read_pool(record)
            for record in self._client.objects("nodepools")
            if record.deletion_at is None and self.has_class(record)
        ]
        return sorted(found, key=lambda pool: (-pool.weight, pool.name))

    def has_class(self, record: ObjectRecord) -> bool:
        """True when the node class that a NodePool names is there."""
        reference = record.body["spec"]["template"]["spec"].get("nodeClassRef") or {}
        return self._client.find("kwoknodeclasses", "", reference.get("name", "")) is not None

    def waiting_pods(self) -> list[PodRecord]:
        """Return the pods that may be given a new machine."""
        return [
            pod
            for pod in self._client.pods()
            if waits_for_room(pod) and not pod.nominated_node and not is_daemon(pod)
        ]

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
        """Return a solver over everything that stays, but for some nodes."""
        left_out = frozenset(without)
        nodes = self.nodes()
        daemons = daemon_templates(self._client)
        snapshot = Snapshot()
        existing = []
        for state in nodes:
            place = self._place(state)
            snapshot.add(place)
            if state.deleting or state.name in left_out:
                snapshot.remove(place.name)
                continue
            self._reserve_daemons(place, daemons)
            labels = state.labels
            claim = "" if state.claim is None else state.claim.name
            node = state.node.name if state.node is not None and state.registered else ""
            existing.append(
                Existing(
                    place,
                    state.taints(),
                    of_labels(labels),
                    state.initialized,
                    labels.get(POOL, ""),
                    claim,
                    node,
                )
            )
        existing.sort(key=lambda one: (not one.initialized, one.place.name))
        pools = self.pools()
        return Solver(
            self._cloud.catalogue,
            pools,
            snapshot,
            existing,
            daemons,
            self._room(pools, nodes),
            self._available,
            new_node,
            self._config.respect_preferences,
        )

    def resources_of(self, pool: str, nodes: Iterable[StateNode]) -> dict[str, int]:
        """Return what the machines of a pool add up to: cpu in millicores, others in whole units."""
        total = {"cpu": 0, "memory": 0, "nvidia.com/gpu": 0, "pods": 0, "nodes": 0}
        for state in nodes:
            if state.labels.get(POOL) != pool:
                continue
            machine = self._cloud.catalogue.by_name.get(state.labels.get(INSTANCE_TYPE, ""))
            if machine is None:
                continue
            total["cpu"] += machine.cpu_millicores
            total["memory"] += machine.memory_bytes
            total["nvidia.com/gpu"] += machine.gpus
            total["pods"] += machine.pods
            total["nodes"] += 1
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

    def _place(self, state: StateNode) -> Place:
        if state.node is None:
            assert state.claim is not None
            amounts = (state.claim.body.get("status") or {}).get("allocatable") or {}
            return Place.of(new_node(state.claim.name, state.labels, amounts))
        place = Place.of(state.node)
        for pod in self._client.pods_on(state.node.name):
            if not pod.terminal:
                place.pods[pod.uid] = pod
                place.shift(pod, -1)
        return place

    def _reserve_daemons(self, place: Place, daemons: Iterable[PodRecord]) -> None:
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


def new_node(name: str, labels: dict[str, str], amounts: Object | None = None) -> NodeRecord:
    """Return a node that does not exist, with these labels and amounts."""
    obj: Object = {"metadata": {"name": name, "labels": labels}, "spec": {}}
    obj["status"] = {"allocatable": amounts or {}}
    node = new_record("nodes", obj)
    assert isinstance(node, NodeRecord)
    return node


def is_protected(pod: PodRecord, now: float) -> bool:
    """True while do-not-disrupt holds for a running pod: for good, or for a time after its start."""
    value = pod.annotations.get(DO_NOT_DISRUPT)
    if value is None or pod.terminal or pod.deletion_at is not None:
        return False
    if value == "true":
        return True
    seconds = read_duration(value)
    if not seconds:
        return False
    return pod.started_at is None or now < pod.started_at + seconds


def is_evictable(pod: PodRecord, now: float) -> bool:
    """True for a pod that a drain evicts (utils/pod/scheduling.go IsEvictable)."""
    return (
        not pod.terminal
        and pod.deletion_at is None
        and not is_tolerated(DISRUPTED, pod.shape.tolerations)
        and not is_protected(pod, now)
    )


def is_awaited(pod: PodRecord, now: float) -> bool:
    """True for a pod that a drain waits for (IsWaitingEviction)."""
    stuck = pod.deletion_at is not None and now - pod.deletion_at > _STUCK_SECONDS
    return not (pod.terminal or stuck or is_tolerated(DISRUPTED, pod.shape.tolerations))


def _comes_back(pod: PodRecord) -> bool:
    stateful = any(owner["kind"] == "StatefulSet" for owner in pod.owners)
    return pod.deletion_at is None or stateful


def _blocks_for_ever(budget: ObjectRecord) -> bool:
    """True for a budget that can never allow an eviction (utils/pdb/pdb.go isFullyBlocking)."""
    spec = budget.body["spec"]
    return str(spec.get("maxUnavailable", "")) in ("0", "0%") or spec.get("minAvailable") == "100%"
