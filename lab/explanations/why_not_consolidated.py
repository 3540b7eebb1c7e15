"""The answer to `explain node NAME --why-not consolidate`: what keeps a node, and whether its pods fit elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any

from lab.explanations.frozen_cluster import FrozenCluster, Object, record_of, unix_seconds
from lab.explanations.keepers import (
    Keeper,
    cluster_autoscaler_keepers,
    karpenter_keepers,
    moving_pods,
)
from lab.explanations.moving import Homeless, Objects, homeless_pods
from lab.explanations.waits import Said, event_seconds
from projections.figures import percent
from twin.config.provisioning import ClusterAutoscalerConfig
from twin.provisioners.cluster_autoscaler.scale_down import SCALE_DOWN_DISABLED
from twin.provisioners.cluster_autoscaler.taints import DELETION_CANDIDATE
from twin.provisioners.karpenter.names import DO_NOT_DISRUPT, POOL
from twin.provisioners.karpenter.pools import Pool, read_pool
from twin.records import NodeRecord, ObjectRecord, PodRecord

KARPENTER, CLUSTER_AUTOSCALER = "Karpenter", "Cluster Autoscaler"
WORDS = ("DisruptionBlocked", "Unconsolidatable", "ScaleDownFailed", "DisruptionTerminating")
_UNKNOWN: Mapping[str, tuple[str, ...]] = {
    KARPENTER: (
        "prices: whether a cheaper machine would do for pods that do not fit elsewhere",
        "which of several candidates it takes first, and nodes that it removes together",
    ),
    CLUSTER_AUTOSCALER: (
        "its flags, which are taken to be at their defaults, and the least size of the node's group",
        "since when it counts the node as unneeded, which it holds in memory alone",
        "whether it runs here at all",
    ),
}


@dataclass(frozen=True, slots=True)
class WhyNotConsolidated:
    """What keeps a node."""

    node: str
    as_of_seconds: float
    autoscaler: str
    """Whose node it is: Karpenter's by its label, else judged by Cluster Autoscaler's rules."""
    pool: str
    """Its NodePool; empty where it has none."""
    pods: int
    """How many of its pods would be made again elsewhere."""
    keepers: tuple[Keeper, ...]
    homeless: tuple[Homeless, ...]
    said: tuple[Said, ...]
    """What the autoscaler itself says of the node, the newest first; it agrees where that keeps the node now."""
    unknown: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AutoscalerObjects:
    """What was read of a node's autoscaler."""

    claims: Sequence[Object] = ()
    """NodeClaims."""
    pools: Sequence[Object] = ()
    """NodePools."""
    events: Sequence[Object] = ()
    """Events about the node and its NodeClaim."""


def why_not_consolidated(
    cluster: FrozenCluster,
    objects: Objects,
    node: NodeRecord,
    around: AutoscalerObjects,
    now: float,
) -> WhyNotConsolidated:
    """Answer for one node.

    Args:
        cluster: a copy of the cluster.
        objects: the same as Kubernetes JSON.
        node: one of its nodes.
        around: what was read of its autoscaler.
        now: the cluster's clock, unix seconds.
    """
    pods = sorted(
        (pod for pod in cluster.world.pods.values() if pod.node_name == node.name),
        key=lambda pod: (pod.namespace, pod.name),
    )
    moving = moving_pods(pods)
    whose = KARPENTER if POOL in node.labels else CLUSTER_AUTOSCALER
    if whose == KARPENTER:
        keepers = [
            *_karpenter_node(objects["nodes"], node, around, bool(moving), now),
            *karpenter_keepers(cluster, pods, now),
        ]
    else:
        keepers = [
            *_autoscaler_node(node, pods, now),
            *cluster_autoscaler_keepers(cluster, pods, now),
        ]
    return WhyNotConsolidated(
        node.name,
        now,
        whose,
        node.labels.get(POOL, ""),
        len(moving),
        tuple(keepers),
        homeless_pods(objects, node.name, moving, now),
        _said(around.events, {keeper.words for keeper in keepers}),
        _UNKNOWN[whose],
    )


def _karpenter_node(
    nodes: Sequence[Object], node: NodeRecord, around: AutoscalerObjects, occupied: bool, now: float
) -> Iterator[Keeper]:
    """Yield what keeps a node besides its pods: marks, its pool's policy, time and budgets."""
    if node.annotations.get(DO_NOT_DISRUPT) == "true":
        text = f"the node itself is annotated {DO_NOT_DISRUPT}=true"
        words = f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
        yield Keeper("do-not-disrupt", text, who="who annotated the node", words=words)
    claim = next((one for one in around.claims if _node_of(one) == node.name), None)
    if claim is None:
        yield Keeper("NodeClaim", "no NodeClaim names it, so Karpenter does not touch it")
        return
    initialized = _condition_since(claim, "Initialized")
    if initialized is None:
        yield Keeper("NodeClaim", "its NodeClaim is not initialized")
    pool = next((_pool(one) for one in around.pools if _name(one) == node.labels[POOL]), None)
    if pool is None:
        yield Keeper("NodePool", f"its NodePool {node.labels[POOL]} is not there")
        return
    who = f"spec.disruption of NodePool {pool.name}"
    after = pool.consolidate_after_seconds
    if after is None:
        words = f'NodePool "{pool.name}" has consolidation disabled'
        text = f"NodePool {pool.name} never consolidates"
        yield Keeper("consolidateAfter", text, who=who, words=words)
    elif occupied and pool.policy != "WhenEmptyOrUnderutilized":
        text = f"NodePool {pool.name} consolidates empty nodes only (consolidationPolicy {pool.policy})"
        words = f'NodePool "{pool.name}" has non-empty consolidation disabled'
        yield Keeper("policy", text, who=who, words=words)
    if after is not None and initialized is not None:
        last = unix_seconds((claim.get("status") or {}).get("lastPodEventTime")) or initialized
        if now - last < after:
            text = f"a pod came or went less than consolidateAfter {after:g} s ago"
            yield Keeper("consolidateAfter", text, last + after, who)
    yield from _budget(nodes, pool, around, occupied, now)


def _budget(
    nodes: Sequence[Object], pool: Pool, around: AutoscalerObjects, occupied: bool, now: float
) -> Iterator[Keeper]:
    """Yield a budget that is used up: nodes that go and nodes that are not ready count."""
    own = [
        one
        for one in around.claims
        if (one["metadata"].get("labels") or {}).get(POOL) == pool.name
        and _condition_since(one, "Initialized") is not None
        and _condition_since(one, "InstanceTerminating") is None
    ]
    going = sum(not _is_settled(nodes, one) for one in own)
    reason = "Underutilized" if occupied else "Empty"
    allowed = pool.allowed_disruptions(len(own), reason, now)
    if allowed - going > 0:
        return
    text = (
        f"the budgets of NodePool {pool.name} let {allowed} of its {len(own)} nodes go at once for reason {reason} "
        f"now, and {going} are going or not ready"
    )
    yield Keeper("budget", text, who=f"spec.disruption.budgets of NodePool {pool.name}")


def _is_settled(nodes: Sequence[Object], claim: Object) -> bool:
    """Say whether a claim's node is ready and stays."""
    node = next((one for one in nodes if _name(one) == _node_of(claim)), None)
    if node is None or "deletionTimestamp" in {*claim["metadata"], *node["metadata"]}:
        return False
    return _condition_since(node, "Ready") is not None


def _autoscaler_node(node: NodeRecord, pods: Sequence[PodRecord], now: float) -> Iterator[Keeper]:
    config = ClusterAutoscalerConfig()
    if node.annotations.get(SCALE_DOWN_DISABLED) == "true":
        text = f"the node is annotated {SCALE_DOWN_DISABLED}=true"
        yield Keeper("annotation", text, who="who annotated the node")
    share = utilization(node, pods)
    if share >= (least := config.utilization_threshold):
        text = f"its pods request {percent(share)} of its cores or memory: in use from {percent(least)} on"
        yield Keeper(
            "utilization", text, who="--scale-down-utilization-threshold, or fewer requests"
        )
    for taint in node.taints:
        if taint["key"] == DELETION_CANDIDATE and str(taint.get("value", "")).isdigit():
            until = float(taint["value"]) + config.unneeded_seconds
            if until > now:
                text = "it counts as unneeded, not yet for long enough"
                yield Keeper("unneeded time", text, until, "--scale-down-unneeded-time")


def utilization(node: NodeRecord, pods: Sequence[PodRecord]) -> float:
    """Return the larger share of cores and memory that pods request, as Cluster Autoscaler does."""
    living = [pod.shape for pod in pods if not pod.terminal]
    cpu = sum(shape.cpu_request_millicores for shape in living)
    memory = sum(shape.memory_request_bytes for shape in living)
    return max(
        cpu / max(1, node.allocatable_cpu_millicores),
        memory / max(1, node.allocatable_memory_bytes),
    )


def _said(events: Sequence[Object], known: AbstractSet[str]) -> tuple[Said, ...]:
    """Return each thing that was said once, as it was said last."""
    newest: dict[str, float | None] = {}
    for event in sorted(events, key=lambda one: event_seconds(one) or 0.0):
        if event.get("reason") in WORDS and event.get("message"):
            newest[str(event["message"])] = event_seconds(event)
    said = (Said(text, seconds, text in known) for text, seconds in newest.items())
    return tuple(sorted(said, key=lambda one: -(one.time_seconds or 0.0)))


def _pool(obj: Object) -> Pool:
    record = record_of("nodepools", obj)
    assert isinstance(record, ObjectRecord)
    return read_pool(record)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _node_of(claim: Object) -> str:
    return str((claim.get("status") or {}).get("nodeName") or "")


def _condition_since(obj: Object, kind: str) -> float | None:
    """Return since when a condition is True; None where it is not."""
    for one in (obj.get("status") or {}).get("conditions") or ():
        if one["type"] == kind and one["status"] == "True":
            return unix_seconds(one.get("lastTransitionTime")) or 0.0
    return None
