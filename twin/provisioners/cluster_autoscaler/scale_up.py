"""Scale-up: which group would help the pods that found no node, and by how many machines.

Pods are put on template nodes in thought, largest first, each on the first node that takes it
(estimator/binpacking_estimator.go); the expander chooses among the groups
(expander/waste/waste.go, expander/mostpods/mostpods.go). Pure: nothing is ordered here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from twin.config.provisioning import Expander, NodeGroup
from twin.provisioners.client import controller_of
from twin.provisioners.daemons import runs_on
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.records import NodeRecord, PodRecord

MOST_REACHED = "max node group size reached"
BACKED_OFF = "in backoff after failed scale-up"
MOST_NODES = 1_000
"""--max-nodes-per-scaleup."""
Template = Callable[[NodeGroup, str], NodeRecord]


@dataclass(frozen=True, slots=True)
class ScalableGroup:
    """A group that may grow."""

    group: NodeGroup
    target: int
    price_per_hour: float


@dataclass(slots=True)
class PodGroup:
    """Pods that are alike for placement: one controller, one spec, one set of labels."""

    pods: list[PodRecord]
    rejected: dict[str, list[str]] = field(default_factory=dict)
    """Why each group's template does not take them."""
    helped_by: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Option:
    """What one group would do."""

    candidate: ScalableGroup
    nodes: int
    pods: tuple[PodRecord, ...]
    waste: float


@dataclass(slots=True)
class Proposal:
    """What a look at the pending pods comes to."""

    best: Option | None
    pod_groups: list[PodGroup]
    skipped: dict[str, str]
    """Groups that could not be asked, with the reason."""

    def unhelped(self) -> list[tuple[PodRecord, str]]:
        """Return the pods that no group helps, each with the reasons, counted."""
        return [
            (pod, reasons_text(group.rejected, self.skipped))
            for group in self.pod_groups
            if not group.helped_by
            for pod in group.pods
        ]


@dataclass(frozen=True, slots=True)
class Estimator:
    """Asks template nodes of groups in a snapshot of the cluster."""

    snapshot: ClusterSnapshot
    template: Template
    daemons: Sequence[PodRecord]

    def propose(
        self,
        pods: Iterable[PodRecord],
        candidates: Sequence[ScalableGroup],
        skipped: dict[str, str],
        choose: Callable[[list[Option]], Option],
    ) -> Proposal:
        """Return what would help; `choose` picks one of the options."""
        groups = group_pods(pods)
        options = []
        for candidate in candidates:
            option = self._option(candidate, groups)
            if option is not None:
                options.append(option)
        return Proposal(choose(options) if options else None, groups, skipped)

    def _option(self, candidate: ScalableGroup, groups: list[PodGroup]) -> Option | None:
        name = candidate.group.name
        mark = self.snapshot.mark()
        sample = self._new_place(candidate.group, "sample")
        helped = []
        for group in groups:
            reasons = self.snapshot.reasons(group.pods[0], sample)
            if reasons:
                group.rejected[name] = reasons
            else:
                group.helped_by.append(name)
                helped.append(group)
        self.snapshot.revert(mark)
        if not helped:
            return None
        nodes, pods = self._estimate(candidate, _by_size(helped, sample))
        self.snapshot.revert(mark)
        return (
            None
            if not nodes
            else Option(candidate, nodes, tuple(pods), _waste(sample, nodes, pods))
        )

    def _estimate(
        self, candidate: ScalableGroup, groups: list[PodGroup]
    ) -> tuple[int, list[PodRecord]]:
        """Return how many nodes the pods need, at most those that the group may have: each on a node
        that is there already, or on the newest, or on another one.
        """
        most = min(candidate.group.most - candidate.target, MOST_NODES)
        places: list[NodeInfo] = []
        scheduled: list[PodRecord] = []
        for group in groups:
            left = list(group.pods)
            while left and (place := self.snapshot.any_fit(left[0], places)) is not None:
                self.snapshot.place(left[0], place)
                scheduled.append(left.pop(0))
            for pod in left:
                if not places or not self.snapshot.fits(pod, places[-1]):
                    if len(places) >= most or (places and not _used(places[-1])):
                        break
                    places.append(self._new_place(candidate.group, str(len(places))))
                    if not self.snapshot.fits(pod, places[-1]):
                        break
                self.snapshot.place(pod, places[-1])
                scheduled.append(pod)
        return len([place for place in places if _used(place)]), scheduled

    def _new_place(self, group: NodeGroup, number: str) -> NodeInfo:
        node = self.template(group, f"template-node-for-{group.name}-{number}")
        place = NodeInfo.of(node, template=True)
        self.snapshot.add(place)
        for pod in self.daemons:
            if runs_on(pod, node):
                place.pods[f"{pod.uid}/{number}"] = pod
                place.shift(pod, -1)
        return place


def group_pods(pods: Iterable[PodRecord]) -> list[PodGroup]:
    """Return the pods in groups of equals, in order of their first."""
    found: dict[tuple[object, ...], PodGroup] = {}
    for pod in pods:
        owner = controller_of(pod)
        key: tuple[object, ...] = (pod.uid,)
        if owner is not None:
            key = (owner["uid"], pod.shape, tuple(sorted(pod.labels.items())))
        found.setdefault(key, PodGroup([])).pods.append(pod)
    return list(found.values())


def best_options(options: list[Option], expander: Expander) -> list[Option]:
    """Return the options that an expander likes best; several are equally good."""
    match expander:
        case "least-waste":
            least = min(option.waste for option in options)
            return [option for option in options if option.waste == least]
        case "most-pods":
            most = max(len(option.pods) for option in options)
            return [option for option in options if len(option.pods) == most]
        case "price":
            cheapest = min(map(_price_per_pod, options))
            return [option for option in options if _price_per_pod(option) == cheapest]
        case _:
            return options


def reasons_text(rejected: dict[str, list[str]], skipped: dict[str, str]) -> str:
    """Return reasons as `2 Insufficient cpu, 1 max node group size reached`."""
    counts = Counter(reason for reasons in rejected.values() for reason in reasons)
    counts.update(skipped.values())
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _by_size(groups: list[PodGroup], sample: NodeInfo) -> list[PodGroup]:
    """Return groups by the share of a node that one pod takes, largest first."""
    node = sample.node
    cpu, memory = node.allocatable_cpu_millicores, node.allocatable_memory_bytes

    def score(group: PodGroup) -> float:
        shape = group.pods[0].shape
        return shape.cpu_request_millicores / cpu + shape.memory_request_bytes / memory

    return sorted(groups, key=score, reverse=True)


def _waste(sample: NodeInfo, nodes: int, pods: list[PodRecord]) -> float:
    """Return the idle share of cores plus the idle share of memory."""
    cpu = sample.node.allocatable_cpu_millicores * nodes
    memory = sample.node.allocatable_memory_bytes * nodes
    asked_cpu = sum(pod.shape.cpu_request_millicores for pod in pods)
    asked_memory = sum(pod.shape.memory_request_bytes for pod in pods)
    return (cpu - asked_cpu) / cpu + (memory - asked_memory) / memory


def _price_per_pod(option: Option) -> float:
    return option.candidate.price_per_hour * option.nodes / max(1, len(option.pods))


def _used(place: NodeInfo) -> bool:
    """True when a place holds a pod that is not of a DaemonSet."""
    return any(not uid.startswith("daemon/") for uid in place.pods)
