"""Which nodes may be disrupted, and what that would cost
(pkg/controllers/disruption/{types,helpers}.go, controllers/state/statenode.go, utils/disruption).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum

from twin.config.provisioning import MachineType
from twin.machines.cloud import Cloud
from twin.provisioners.client import Client
from twin.provisioners.karpenter.claims import INITIALIZED, is_true, since
from twin.provisioners.karpenter.names import (
    CAPACITY_TYPE,
    DO_NOT_DISRUPT,
    INSTANCE_TYPE,
    POOL,
    ZONE,
)
from twin.provisioners.karpenter.pools import Pool, read_duration
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.state import ClusterState, StateNode, is_evictable, is_protected
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.timestamps import unix

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A node that may be disrupted."""

    state: StateNode
    node: NodeRecord
    claim: ObjectRecord
    pool: Pool
    machine: MachineType | None
    price: float
    capacity_type: str
    pods: tuple[PodRecord, ...]
    """Those that would be made again elsewhere."""
    cost: float
    """Of the disruption: pods by priority and deletion cost, less with the node's age."""

    @property
    def name(self) -> str:
        """Name of the node and of its NodeClaim."""
        return self.node.name


class Candidates:
    """Finds candidates; keeps nothing."""

    def __init__(
        self,
        client: Client,
        cloud: Cloud,
        state: ClusterState,
        recorder: Recorder,
        is_nominated: Callable[[str], bool],
        is_queued: Callable[[str], bool],
    ) -> None:
        self._client = client
        self._cloud = cloud
        self._state = state
        self._recorder = recorder
        self._is_nominated = is_nominated
        self._is_queued = is_queued

    def find(
        self, nodes: list[StateNode], pools: dict[str, Pool], *, eventual: bool
    ) -> list[Candidate]:
        """Return the candidates by name; blocked ones are said in events. `eventual`: a pool's
        terminationGracePeriod bounds what pods can block.
        """
        found = []
        for state in nodes:
            if state.claim is None or self._is_queued(state.name):
                continue
            why = self._node_block(state)
            if why:
                self.say_blocked(state, why)
                continue
            candidate = self._candidate(state, pools, eventual=eventual)
            if candidate is not None:
                found.append(candidate)
        return found

    def say_blocked(self, state: StateNode, why: str) -> None:
        """Say on node and NodeClaim that something keeps the node."""
        self._say(state, "DisruptionBlocked", _sentence(why))

    def say_unconsolidatable(self, candidate: Candidate, text: str) -> None:
        """Say on node and NodeClaim why the node is not consolidated."""
        self._say(candidate.state, "Unconsolidatable", text, 900.0)

    def _say(self, state: StateNode, reason: str, text: str, seconds: float = 120.0) -> None:
        if state.node is not None:
            self._recorder.say(state.node, "Node", reason, text, "", seconds)
        if state.claim is not None:
            self._recorder.say(state.claim, "NodeClaim", reason, text, "", seconds)

    def _node_block(self, state: StateNode) -> str:
        if state.node is None:
            return "nodeclaim does not have an associated node"
        if not state.initialized:
            return "node isn't initialized"
        if state.deleting:
            return "node is deleting or marked for deletion"
        if self._is_nominated(state.name):
            return "node is nominated for a pending pod"
        if state.node.annotations.get(DO_NOT_DISRUPT) == "true":
            return f'disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
        if POOL not in state.labels:
            return f"node doesn't have required label (label={POOL})"
        return ""

    def _candidate(
        self, state: StateNode, pools: dict[str, Pool], *, eventual: bool
    ) -> Candidate | None:
        assert state.node is not None
        assert state.claim is not None
        labels = state.labels
        pool = pools.get(labels[POOL])
        if pool is None:
            self.say_blocked(state, f"NodePool not found (NodePool={labels[POOL]})")
            return None
        pods = self._client.pods_on(state.name)
        why = self._pod_block(pods)
        bounded = eventual and bool(state.claim.body["spec"].get("terminationGracePeriod"))
        if why and not bounded:
            self.say_blocked(state, why)
            return None
        price = self._state.price(state)
        return Candidate(
            state,
            state.node,
            state.claim,
            pool,
            self._cloud.catalogue.by_name.get(labels.get(INSTANCE_TYPE, "")),
            0.0 if price is None or ZONE not in labels else price,
            labels.get(CAPACITY_TYPE, ""),
            tuple(self._state.reschedulable(state.name)),
            fsum(map(_eviction_cost, pods)) * self._lifetime_left(state.claim),
        )

    def _pod_block(self, pods: list[PodRecord]) -> str:
        now = self._client.now
        for pod in pods:
            if is_protected(pod, now):
                return f'pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.namespace}/{pod.name})'
        for pod in pods:
            budgets = self._client.budgets(pod) if is_evictable(pod, now) else []
            names = " ".join(f"{one.namespace}/{one.name}" for one in budgets)
            if len(budgets) > 1:
                return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{names}])"
            for budget in budgets:
                if not (budget.body.get("status") or {}).get("disruptionsAllowed", 0):
                    return f"pdb prevents pod evictions (PodDisruptionBudget=[{names}])"
        return ""

    def _lifetime_left(self, claim: ObjectRecord) -> float:
        whole = read_duration(claim.body["spec"].get("expireAfter", "Never"))
        if not whole:
            return 1.0
        left = (whole - (self._client.now - claim.created_at)) / whole
        return min(1.0, max(0.0, left))


def is_consolidatable(candidate: Candidate, now: float) -> bool:
    """True when no pod has come or gone for as long as the pool's consolidateAfter."""
    after = candidate.pool.consolidate_after_seconds
    if after is None or not is_true(candidate.claim, INITIALIZED):
        return False
    return now - quiet_since(candidate.claim) >= after


def quiet_since(claim: ObjectRecord) -> float:
    """Return when a pod last came to or left the node (unix seconds)."""
    last = (claim.body.get("status") or {}).get("lastPodEventTime")
    return since(claim, INITIALIZED) if last is None else unix(last)


def _eviction_cost(pod: PodRecord) -> float:
    cost = 1.0
    try:
        cost += float(pod.annotations.get(_DELETION_COST, "0")) / 2.0**27
    except ValueError:
        cost += 0.0
    cost += pod.shape.priority / 2.0**25
    return min(10.0, max(-10.0, cost))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
