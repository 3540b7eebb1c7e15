"""What keeps a node: which pod, by which rule of Karpenter or of Cluster Autoscaler.

The rules are those that the simulated cluster's own autoscalers follow (`twin.provisioners`, which name their sources).
Each pod is asked, not only the first that the autoscaler would stop at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lab.explanations.frozen_cluster import FrozenCluster
from twin.config.provisioning import ClusterAutoscalerConfig
from twin.provisioners.client import controller_of, is_daemon
from twin.provisioners.cluster_autoscaler.drainability import Blocked, pods_to_move
from twin.provisioners.karpenter.evictability import is_evictable, is_protected
from twin.provisioners.karpenter.names import DO_NOT_DISRUPT
from twin.provisioners.karpenter.pools import read_duration
from twin.records import ObjectRecord, PodRecord
from twin.selectors import matches


@dataclass(frozen=True, slots=True)
class Keeper:
    """One thing that keeps a node."""

    rule: str
    """In a word or two: `do-not-disrupt`, `disruption budget`, `consolidateAfter` and so on."""
    text: str
    until_seconds: float | None = None
    """Unix seconds of when it ends by itself; None where it does not, or nobody knows."""
    who: str = ""
    """Who could change it."""
    words: str = ""
    """What Karpenter itself says of it in an Event, to the letter; empty where it says nothing."""


def karpenter_keepers(
    cluster: FrozenCluster, pods: Iterable[PodRecord], now: float
) -> Iterator[Keeper]:
    """Yield the pods that Karpenter does not disrupt."""
    for pod in pods:
        name = f"{pod.namespace}/{pod.name}"
        if is_protected(pod, now):
            yield _protected(pod, name)
        budgets = budgets_of(cluster, pod) if is_evictable(pod, now) else []
        if len(budgets) > 1:
            names = ", ".join(budget.name for budget in budgets)
            text = f"pod {name} is in several disruption budgets ({names}), which eviction refuses"
            who = "who set these budgets: one pod, one budget"
            listed = " ".join(f"{budget.namespace}/{budget.name}" for budget in budgets)
            words = f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{listed}])"
            yield Keeper("disruption budget", text, who=who, words=words)
        for budget in budgets[:1]:
            if not _allowed(budget):
                yield _exhausted(budget, name)


def cluster_autoscaler_keepers(
    cluster: FrozenCluster, pods: Iterable[PodRecord], now: float
) -> Iterator[Keeper]:
    """Yield the pods that Cluster Autoscaler, with its flags at their defaults, does not evict."""
    for pod in pods:
        name = f"{pod.namespace}/{pod.name}"
        budgets = budgets_of(cluster, pod)
        try:
            pods_to_move([pod], {pod.uid: budgets}, ClusterAutoscalerConfig(), now)
        except Blocked as blocked:
            exhausted = [budget for budget in budgets if not _allowed(budget)]
            if exhausted and "budget" in blocked.reason:
                yield _exhausted(exhausted[0], name)
                continue
            yield Keeper("pod", f"pod {name}: {blocked.reason}", who=_who(pod))


def budgets_of(cluster: FrozenCluster, pod: PodRecord) -> list[ObjectRecord]:
    """Return the disruption budgets that select a pod, in order of name."""
    found = [
        record
        for record in cluster.world.store.records("poddisruptionbudgets", pod.namespace)
        if isinstance(record, ObjectRecord)
        and record.body["spec"].get("selector")
        and matches(record.body["spec"]["selector"], pod.labels)
    ]
    return sorted(found, key=lambda record: record.name)


def moving_pods(pods: Iterable[PodRecord]) -> list[PodRecord]:
    """Return the pods that would be made again elsewhere: living ones, not of DaemonSets, not of the node itself."""
    return [
        pod
        for pod in pods
        if not pod.terminal
        and pod.deletion_at is None
        and not is_daemon(pod)
        and (owner := controller_of(pod)) is not None
        and owner["kind"] != "Node"
    ]


def _protected(pod: PodRecord, name: str) -> Keeper:
    value = pod.annotations[DO_NOT_DISRUPT]
    seconds = None if value == "true" else read_duration(value)
    until = None if seconds is None or pod.started_at is None else pod.started_at + seconds
    text = f"pod {name} is annotated {DO_NOT_DISRUPT}={value}"
    words = f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={name})'
    return Keeper("do-not-disrupt", text, until, _who(pod), words)


def _exhausted(budget: ObjectRecord, pod: str) -> Keeper:
    status = budget.body.get("status") or {}
    healthy, desired = status.get("currentHealthy", "?"), status.get("desiredHealthy", "?")
    text = (
        f"disruption budget {budget.namespace}/{budget.name} allows no eviction of pod {pod}: "
        f"{healthy} healthy, {desired} needed"
    )
    who = "the budget, or more or healthier pods behind it"
    words = f"Pdb prevents pod evictions (PodDisruptionBudget=[{budget.namespace}/{budget.name}])"
    return Keeper("disruption budget", text, who=who, words=words)


def _allowed(budget: ObjectRecord) -> int:
    return int((budget.body.get("status") or {}).get("disruptionsAllowed") or 0)


def _who(pod: PodRecord) -> str:
    owner = controller_of(pod)
    return (
        "who made it" if owner is None else f"the template behind {owner['kind']} {owner['name']}"
    )
