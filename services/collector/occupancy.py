"""Nodes that somebody may want to empty or relieve: lightly loaded ones, ones that are about to go, and ones on which
a pod that waits nearly fits; with why not.

What is not seen here is seen by the executor right before it writes: marks of namespaces and of owners further
up. A pod that asks for certain nodes may go to those that have it. What other pods or volumes decide (affinity
to pods, spread, a volume on the node) is taken for a reason to leave it alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from schemas.occupancy import Occupancy, Occupant, OccupiedNode
from services.collector.headroom import nearly_fitting
from services.collector.pod_rows import pod_facts, ready_time
from services.collector.reading import CycleReads
from services.kept_results import kept
from services.kube_budgets import PodDisruptionBudget, covering
from services.kube_objects import Node, Pod
from services.node_selection import asks_for_nodes, has_other_rules, may_run_on
from services.notices import NOTICE_TAINTS
from services.ordinals import ordinal_of
from services.pod_requests import count_gpus, effective_request
from services.protection import (
    DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_DISRUPT,
    OWN_NAMESPACES,
    SAFE_TO_EVICT,
    control_plane_mark,
    do_not_disrupt_mark,
)

LIGHT_PODS = 4
"""A node with more of them is not light."""
MOST_LIGHT = 16
"""Light nodes listed, those with the fewest pods and requests first: about 20 kB."""
MOST_GOING = 16
"""Nodes listed that are about to go."""
MOST_PODS = 40
"""Pods listed of one of them."""
MOST_PLACES = 64
"""Nodes listed to which a pod may go that asks for certain ones."""
MOST_CLOSED = 1_000
"""With more nodes closed by taints, where a pod could go is not known and nothing light is listed."""
RISK = "foresail.dev/risk"
"""Our own taint, of a node that is being emptied."""
OTHERS_AT_WORK = frozenset(("ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"))
"""Taints of node autoscalers that empty a node themselves."""
FAULTS = frozenset(("KernelDeadlock", "ReadonlyFilesystem", "PreemptScheduled", "VMEventScheduled"))
"""Conditions of node-problem-detector that say, where true, that a machine will not recover or is about to go."""


def occupancy_of(reading: CycleReads) -> Occupancy | None:
    """Return the nodes that may be emptied; None where pods or nodes could not be read.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    if not (reading.nodes.source.ok and reading.pods.source.ok):
        return None
    nodes = {node.metadata.name: node for node in reading.nodes.items}
    closed = tuple(sorted(name for name, node in nodes.items() if _keeps_away(node)))
    marked = tuple(sorted(name for name, node in nodes.items() if _is_marked(node)))
    chosen = _chosen(nodes, reading.pods.items, closed)
    open_nodes = {
        name: node
        for name, node in nodes.items()
        if name not in {*closed, *marked} and _is_open(node) and not _notices(node)
    }
    nearly = nearly_fitting(open_nodes, reading.pods.items)
    chosen |= {name for names in nearly.values() for name in names}
    if not chosen:
        return Occupancy(nodes=(), closed=closed, marked=marked)
    pods_on: dict[str, list[Pod]] = defaultdict(list)
    for pod in reading.pods.items:
        if pod.spec.node_name in chosen and _occupies(pod):
            pods_on[pod.spec.node_name].append(pod)
    owners = _Owners(reading, [nodes[name] for name in sorted(nodes) if name not in closed])
    listed = tuple(
        OccupiedNode(
            node=name,
            notices=_notices(nodes[name]),
            kept_by=_node_kept_by(nodes[name]),
            pods=_one_of_each_set(
                owners.occupant(pod)
                for pod in sorted(pods_on[name], key=lambda pod: pod.key)[:MOST_PODS]
            ),
        )
        for name in sorted(chosen)
    )
    asked = any(pod.gpus_requested for node in listed for pod in node.pods)
    return Occupancy(
        nodes=listed,
        closed=closed,
        waiting=tuple(nearly),
        marked=marked,
        free_gpus=_free_gpus(nodes, reading.pods.items) if asked else {},
    )


def _one_of_each_set(pods: Iterable[Occupant]) -> tuple[Occupant, ...]:
    """Return a node's pods; of a StatefulSet with several that may move, all but the highest ordinal stay."""
    listed = tuple(pods)
    first: dict[str, str] = {}
    for one in sorted(listed, key=lambda one: ordinal_of(one.pod)):
        if "/StatefulSet/" in one.workload and not one.kept_by:
            first[one.workload] = one.pod
    return tuple(
        one.model_copy(update={"kept_by": "its StatefulSet moves one pod at a time"})
        if first.get(one.workload, one.pod) != one.pod and not one.kept_by
        else one
        for one in listed
    )


def _free_gpus(nodes: Mapping[str, Node], pods: Iterable[Pod]) -> dict[str, int]:
    free = {name: count_gpus(node.status.allocatable) for name, node in nodes.items()}
    for pod in pods:
        facts = pod_facts(pod)
        if facts.gpus and pod.spec.node_name in free:
            free[pod.spec.node_name] -= facts.gpus
    return {name: count for name, count in sorted(free.items()) if count > 0}


def _chosen(nodes: Mapping[str, Node], pods: Sequence[Pod], closed: Sequence[str]) -> set[str]:
    """Return nodes that are about to go, and the lightest of those that are open."""
    going = sorted(name for name, node in nodes.items() if _notices(node))[:MOST_GOING]
    if len(closed) > MOST_CLOSED:
        return set(going)
    counts = Counter([pod.spec.node_name for pod in pods if _occupies(pod)])
    shut = {*closed, *going}
    light = sorted(
        (count, name)
        for name, count in counts.items()
        if count <= LIGHT_PODS and name in nodes and name not in shut and _is_open(nodes[name])
    )
    return {*going, *(name for _, name in light[:MOST_LIGHT])}


@kept
def _occupies(pod: Pod) -> bool:
    """Say whether a pod holds something on a node and does not go with it."""
    return bool(pod.spec.node_name) and not pod.finished and not _is_daemon(pod)


def _is_daemon(pod: Pod) -> bool:
    return any(
        owner.controller and owner.kind == "DaemonSet" for owner in pod.metadata.owner_references
    )


def _is_open(node: Node) -> bool:
    return node.ready and not node.spec.unschedulable


@kept
def _notices(node: Node) -> tuple[str, ...]:
    taints = [taint.key for taint in node.spec.taints if taint.key in NOTICE_TAINTS]
    faults = [
        condition.type
        for condition in node.status.conditions
        if condition.type in FAULTS and condition.status == "True"
    ]
    return tuple(sorted({*taints, *faults}))


@kept
def _keeps_away(node: Node) -> bool:
    return any(taint.effect in {"NoSchedule", "NoExecute"} for taint in node.spec.taints)


@kept
def _is_marked(node: Node) -> bool:
    return any(taint.key == RISK for taint in node.spec.taints)


def _node_kept_by(node: Node) -> str:
    metadata, taints = node.metadata, [taint.key for taint in node.spec.taints]
    others = sorted(OTHERS_AT_WORK.intersection(taints))
    return (
        do_not_disrupt_mark(metadata.annotations, metadata.labels)
        or control_plane_mark(metadata.labels, taints)
        or (f"{others[0]}: a node autoscaler empties it" if others else "")
    )


class _Owners:
    """Owners of pods, and the budgets that cover them."""

    def __init__(self, reading: CycleReads, open_nodes: Sequence[Node]) -> None:
        self._nodes = [node for node in open_nodes if _is_open(node)]
        self._places: dict[str, tuple[str, ...]] = {}
        self._lacking: set[str] = set()
        self._budgets: Iterable[PodDisruptionBudget] | None = reading.budgets
        self._ready: dict[str, int] = {}
        self._marks: dict[str, str] = {}
        for kind, items in (("Deployment", reading.deployments.items), ("Job", reading.jobs.items)):
            for item in items:
                name = f"{item.metadata.namespace}/{kind}/{item.metadata.name}"
                self._marks[name] = do_not_disrupt_mark(
                    item.metadata.annotations, item.metadata.labels
                )
        for item in reading.stateful_sets or ():
            name = f"{item.metadata.namespace}/StatefulSet/{item.metadata.name}"
            self._marks[name] = do_not_disrupt_mark(item.metadata.annotations, item.metadata.labels)
            self._ready[name] = item.status.ready_replicas
            if item.status.ready_replicas < item.spec.replicas:
                self._lacking.add(name)
        for item in reading.deployments.items:
            name = f"{item.metadata.namespace}/Deployment/{item.metadata.name}"
            self._ready[name] = item.status.ready_replicas

    def occupant(self, pod: Pod) -> Occupant:
        """Return a pod with what it takes to move it."""
        amounts, workload = effective_request(pod), pod.workload()
        places = self._places_for(pod) if asks_for_nodes(pod.spec) else None
        return Occupant(
            pod=pod.key,
            workload=workload,
            cpu_request_cores=amounts.cpu_cores,
            memory_request_bytes=amounts.memory_bytes,
            started_time_seconds=ready_time(pod),
            checkpoint_seconds=_checkpoint(pod),
            ready_replicas=self._ready.get(workload, 0),
            gpus_requested=amounts.gpus,
            places=places,
            kept_by=self._kept_by(pod, workload, places),
        )

    def _places_for(self, pod: Pod) -> tuple[str, ...]:
        """Return other open nodes that have what a pod asks for, the first by name."""
        asked = repr((pod.spec.node_selector, pod.spec.affinity))
        if asked not in self._places:
            fitting = (one.metadata.name for one in self._nodes if may_run_on(pod.spec, one))
            self._places[asked] = tuple(islice(fitting, MOST_PLACES + 1))
        others = (name for name in self._places[asked] if name != pod.spec.node_name)
        return tuple(others)[:MOST_PLACES]

    def _kept_by(self, pod: Pod, workload: str, places: tuple[str, ...] | None) -> str:
        metadata = pod.metadata
        mark = do_not_disrupt_mark(_marks_of(pod), metadata.labels)
        if mark or metadata.annotations.mirror is not None:
            return mark or "a static pod"
        if not workload:
            return "a bare pod would be lost"
        if workload not in self._marks:
            return f"a pod of a {workload.split('/')[1]} stays"
        if metadata.namespace in OWN_NAMESPACES:
            return f"namespace {metadata.namespace} is protected"
        if metadata.deletion_timestamp is not None:
            return "it is ending"
        if workload in self._lacking:
            return "its StatefulSet lacks replicas"
        if places == ():
            return "no other open node has what it asks for"
        return self._marks[workload] or _placement(pod) or self._budget(pod)

    def _budget(self, pod: Pod) -> str:
        """Return why the Eviction API would refuse; empty where it would not."""
        if self._budgets is None:
            return "PodDisruptionBudgets could not be read"
        found = covering(self._budgets, pod.metadata.namespace, pod.metadata.labels)
        if len(found) > 1:
            return f"{len(found)} PodDisruptionBudgets cover it"
        if found and found[0].status.disruptions_allowed <= 0:
            return f"PodDisruptionBudget {found[0].metadata.name} allows no disruption"
        return ""


def _marks_of(pod: Pod) -> dict[str, str]:
    marks = pod.metadata.annotations
    named = (
        (DO_NOT_DISRUPT, marks.do_not_disrupt),
        (KARPENTER_DO_NOT_DISRUPT, marks.karpenter),
        (SAFE_TO_EVICT, marks.safe_to_evict),
    )
    return {name: value for name, value in named if value is not None}


def _placement(pod: Pod) -> str:
    spec = pod.spec
    if has_other_rules(spec):
        return "it has rules of where it may be placed"
    return "it has a volume on its node" if any(volume.binds for volume in spec.volumes) else ""


def _checkpoint(pod: Pod) -> float | None:
    """Return the seconds of work done again at most; None where the pod does not say, or not in a number."""
    try:
        seconds = float(pod.metadata.annotations.checkpoint or "")
    except ValueError:
        return None
    return seconds if 0.0 <= seconds < float("inf") else None
