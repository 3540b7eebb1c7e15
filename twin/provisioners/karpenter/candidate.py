"""A node that may be disrupted, and what that would cost (pkg/controllers/disruption/types.go, utils/disruption)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

from twin.config.provisioning import MachineType
from twin.provisioners.karpenter.claims import INITIALIZED, since
from twin.provisioners.karpenter.pools import Pool
from twin.provisioners.karpenter.state_node import StateNode
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.timestamps import unix

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True, eq=False)
class DisruptionCandidate:
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
    eviction_cost: float
    """Of all its pods, by priority and deletion cost."""
    lifetime_seconds: float
    """Until it expires, from its creation; 0: never."""
    initialized: bool
    """Whether its NodeClaim says so."""
    quiet_since: float
    """When a pod last came to or left it (unix seconds)."""

    @property
    def name(self) -> str:
        """Name of the node and of its NodeClaim."""
        return self.node.name

    def cost(self, now: float) -> float:
        """Return the cost of the disruption: that of its pods, less with the node's age."""
        whole, left = self.lifetime_seconds, 1.0
        if whole:
            left = min(1.0, max(0.0, (whole - (now - self.claim.created_at)) / whole))
        return self.eviction_cost * left

    @property
    def is_plain(self) -> bool:
        """True when it may be consolidated by price as far as type and pool go."""
        return (
            self.machine is not None
            and self.pool.consolidate_after_seconds is not None
            and self.pool.policy == "WhenEmptyOrUnderutilized"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Known facts about a NodeClaim, so long as it, its node and their pods do not change."""

    barred: str
    """Why it is no candidate whatever its pods are; asked before a promise to a pod is."""
    barred_after: str
    """The same, asked after it."""
    pods_block: str | None
    """Why its pods keep it; None: that depends on the time or on budgets, and is asked each time."""
    bounded: bool
    """Whether a terminationGracePeriod bounds what pods can block."""
    drifted: bool
    candidate: DisruptionCandidate | None

    @property
    def is_open(self) -> bool:
        """True when nothing keeps it, and nothing has to be asked."""
        return not (self.barred or self.barred_after) and self.pods_block == ""


def is_consolidatable(candidate: DisruptionCandidate, now: float) -> bool:
    """True when no pod has come or gone for as long as the pool's consolidateAfter."""
    after = candidate.pool.consolidate_after_seconds
    return after is not None and candidate.initialized and now - candidate.quiet_since >= after


def quiet_since(claim: ObjectRecord) -> float:
    """Return when a pod last came to or left the node (unix seconds)."""
    last = (claim.body.get("status") or {}).get("lastPodEventTime")
    return since(claim, INITIALIZED) if last is None else unix(last)


def eviction_cost(pods: Iterable[PodRecord]) -> float:
    """Return what it costs to evict pods."""
    return fsum(map(_eviction_cost, pods))


def _eviction_cost(pod: PodRecord) -> float:
    cost = 1.0
    try:
        cost += float(pod.annotations.get(_DELETION_COST, "0")) / 2.0**27
    except ValueError:
        cost += 0.0
    cost += pod.shape.priority / 2.0**25
    return min(10.0, max(-10.0, cost))
