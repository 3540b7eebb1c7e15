"""Placement in thought: what would fit where, if there were other nodes and other pods.

A snapshot holds nodes with their free amounts and pods; pods are placed and lifted, nodes added and
removed, and everything is undone to a mark. The filters are the scheduler's: its rules for nodes
(`scheduling.placement_rules`) and terms (`scheduling.terms`), free amounts, host ports, hard topology
spreading and required pod affinity, in its order and with its reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from twin.needs import BASIC_RESOURCES, HostPort, PodTerm, SpreadConstraint
from twin.records import NodeRecord, PodRecord
from twin.scheduling.placement_rules import refusal
from twin.scheduling.terms import selector_with_keys, term_matches
from twin.selectors import matches

PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
SPREAD = "node(s) didn't match pod topology spread constraints"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
_HOSTNAME = "kubernetes.io/hostname"
_BASIC = len(BASIC_RESOURCES)


@dataclass(slots=True, eq=False)
class NodeInfo:
    """One node, real or thought up."""

    node: NodeRecord
    free: list[int]
    """Of BASIC_RESOURCES: millicores, bytes, devices, pods."""
    extra: dict[str, int]
    pods: dict[str, PodRecord] = field(default_factory=dict)
    template: bool = False
    repels: bool = False
    """Whether a pod that was there from the start has anti-affinity (`hold`)."""

    @classmethod
    def of(cls, node: NodeRecord, *, template: bool = False) -> NodeInfo:
        """Return an empty place of a node."""
        free = [
            node.allocatable_cpu_millicores,
            node.allocatable_memory_bytes,
            node.gpus,
            node.allocatable_pods,
        ]
        return cls(node, free, dict(node.extended), {}, template)

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.node.name

    def domain(self, key: str) -> str | None:
        """Return the node's domain of a topology key."""
        return self.node.labels.get(key)

    def hold(self, pod: PodRecord) -> None:
        """Enter a pod that is there."""
        self.pods[pod.uid] = pod
        self.shift(pod, -1)
        if pod.shape.needs.anti_affinity:
            self.repels = True

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Give room for a pod (-1) or get it back (1)."""
        needs = pod.reserved_needs
        for line, amount in needs.asked:
            self.free[line] += sign * amount
        for name, amount in needs.extra:
            self.extra[name] = self.extra.get(name, 0) + sign * amount


class ClusterSnapshot:
    """Nodes and pods in thought."""

    def __init__(self, places: Mapping[str, NodeInfo] | None = None) -> None:
        self.places: dict[str, NodeInfo] = dict(places or {})
        self.touched: dict[str, None] = {}
        """Places whose pods or amounts were changed, though it may have been undone."""
        self._undo: list[Callable[[], None]] = []
        self._carriers: dict[str, tuple[PodRecord, NodeInfo]] = {}  # with anti-affinity, by uid
        for place in self.places.values():
            if place.repels:
                self._note_all(place)
        self._next = 0  # where `any_fit` goes on looking

    # ---- changes

    def add(self, place: NodeInfo) -> None:
        """Add a node with the pods that it holds already."""
        self.places[place.name] = place
        self._note_all(place)
        self._undo.append(lambda: self._forget(place.name))

    def remove(self, name: str) -> None:
        """Take a node away with its pods."""
        place = self._drop(name)
        if place is not None:
            self._undo.append(lambda: self._restore(place))

    def place(self, pod: PodRecord, place: NodeInfo) -> None:
        """Put a pod on a node, whatever the filters say."""
        self._put(pod, place)
        self._undo.append(lambda: self._take(pod, place))

    def lift(self, pod: PodRecord, place: NodeInfo) -> None:
        """Take a pod off a node."""
        self._take(pod, place)
        self._undo.append(lambda: self._put(pod, place))

    def mark(self) -> int:
        """Return where `revert` can go back to."""
        return len(self._undo)

    def revert(self, mark: int) -> None:
        """Undo everything since a mark."""
        while len(self._undo) > mark:
            self._undo.pop()()

    def _put(self, pod: PodRecord, place: NodeInfo) -> None:
        self.touched[place.name] = None
        place.pods[pod.uid] = pod
        place.shift(pod, -1)
        self._note(pod, place)

    def _take(self, pod: PodRecord, place: NodeInfo) -> None:
        self.touched[place.name] = None
        del place.pods[pod.uid]
        place.shift(pod, 1)
        self._carriers.pop(pod.uid, None)

    def _note(self, pod: PodRecord, place: NodeInfo) -> None:
        if pod.shape.needs.anti_affinity:
            self._carriers[pod.uid] = (pod, place)

    def _forget(self, name: str) -> None:
        self._drop(name)

    def _drop(self, name: str) -> NodeInfo | None:
        place = self.places.pop(name, None)
        for uid in place.pods if place is not None else ():
            self._carriers.pop(uid, None)
        return place

    def _restore(self, place: NodeInfo) -> None:
        self.places[place.name] = place
        self._note_all(place)

    def _note_all(self, place: NodeInfo) -> None:
        for pod in place.pods.values():
            self._note(pod, place)

    # ---- questions

    def fits(self, pod: PodRecord, place: NodeInfo) -> bool:
        """True when the scheduler would let the pod go there."""
        return not self.reasons(pod, place, first=True)

    def reasons(self, pod: PodRecord, place: NodeInfo, *, first: bool = False) -> list[str]:
        """Return what stands in the way, in the scheduler's words; the first filter that refuses
        speaks, several resources may lack.
        """
        lacking = _lacking(pod, place, first=first)
        if lacking and first:
            return lacking
        rule = refusal(place.node, pod.shape)
        if rule:
            return [rule]
        needs = pod.shape.needs
        if needs.host_ports and _ports_taken(needs.host_ports, place):
            return [PORTS]
        if lacking:
            return lacking
        if needs.hard_spread and not self.spreads(pod, place, needs.hard_spread):
            return [SPREAD]
        return self.relations(pod, place, needs.affinity, needs.anti_affinity)

    def any_fit(self, pod: PodRecord, places: Sequence[NodeInfo]) -> NodeInfo | None:
        """Return a place that takes a pod, looking round robin from behind the last that was found
        (cluster-autoscaler simulator/clustersnapshot/predicate/plugin_runner.go, lastIndex).
        """
        count = len(places)
        for step in range(count):
            index = (self._next + step) % count
            if self.fits(pod, places[index]):
                self._next = index + 1
                return places[index]
        return None

    def spreads(
        self, pod: PodRecord, place: NodeInfo, constraints: Iterable[SpreadConstraint]
    ) -> bool:
        """True when a pod on a node keeps within the skew of hard spreading constraints."""
        for constraint in constraints:
            domain = place.domain(constraint.topology_key)
            if domain is None:
                return False
            selector = selector_with_keys(constraint.selector, pod.labels, constraint.label_keys)
            counts = self.spread_counts(pod, constraint)
            counts.setdefault(domain, 0)
            enough = len(counts) >= constraint.min_domains
            least = min(counts.values()) if enough else 0
            own = int(matches(selector, pod.labels))
            if counts[domain] + own - least > constraint.max_skew:
                return False
        return True

    def spread_counts(self, pod: PodRecord, constraint: SpreadConstraint) -> Counter[str]:
        """Return the pods that a constraint counts, by domain of nodes that the pod may go to."""
        key = constraint.topology_key
        selector = selector_with_keys(constraint.selector, pod.labels, constraint.label_keys)
        counts: Counter[str] = Counter()
        for place in self.places.values():
            domain = place.domain(key)
            if domain is None:
                continue
            if constraint.honors_affinity and refusal(place.node, pod.shape, ("NodeAffinity",)):
                continue
            counts[domain] += len(
                [
                    other
                    for other in place.pods.values()
                    if other.namespace == pod.namespace
                    and other.deletion_at is None
                    and matches(selector, other.labels)
                ]
            )
        return counts

    def relations(
        self,
        pod: PodRecord,
        place: NodeInfo,
        affinity: Iterable[PodTerm],
        anti_affinity: Iterable[PodTerm],
    ) -> list[str]:
        """Return what terms of the pod, or anti-affinity of pods that are there, have against it."""
        here = (pod.namespace, pod.labels)
        for term in affinity:
            if not self._attracted(pod, term, place):
                return [AFFINITY]
        for term in anti_affinity:
            if self.term_hits(pod, term, place):
                return [ANTI_AFFINITY]
        for other, where in self._carriers.values():
            for term in other.shape.needs.anti_affinity:
                key = term.topology_key
                domain = where.domain(key)
                if domain is None or place.domain(key) != domain:
                    continue
                if term_matches(term, (other.namespace, other.labels), here, _no_labels):
                    return [EXISTING_ANTI_AFFINITY]
        return []

    def _attracted(self, pod: PodRecord, term: PodTerm, place: NodeInfo) -> bool:
        if place.domain(term.topology_key) is None:
            return False
        if self.term_hits(pod, term, place):
            return True
        here = (pod.namespace, pod.labels)
        if not term_matches(term, here, here, _no_labels):
            return False
        return not any(self.term_hits(pod, term, other) for other in self.places.values())

    def term_hits(self, pod: PodRecord, term: PodTerm, place: NodeInfo) -> bool:
        """True when a pod that a term selects is in the place's domain."""
        key = term.topology_key
        domain = place.domain(key)
        if domain is None:
            return False
        here = (pod.namespace, pod.labels)
        same = (
            (place,)
            if key == _HOSTNAME
            else [one for one in self.places.values() if one.domain(key) == domain]
        )
        return any(
            other.uid != pod.uid
            and term_matches(term, here, (other.namespace, other.labels), _no_labels)
            for one in same
            for other in one.pods.values()
        )


def _lacking(pod: PodRecord, place: NodeInfo, *, first: bool) -> list[str]:
    found = []
    for line, amount in pod.shape.needs.asked:
        if amount > place.free[line]:
            name = BASIC_RESOURCES[line]
            found.append(TOO_MANY_PODS if name == "pods" else f"Insufficient {name}")
            if first:
                return found
    for name, amount in pod.shape.needs.extra:
        if amount > place.extra.get(name, 0):
            found.append(f"Insufficient {name}")
    return sorted(found, key=lambda text: text != TOO_MANY_PODS)


def _ports_taken(wanted: tuple[HostPort, ...], place: NodeInfo) -> bool:
    held = {
        (port.protocol, port.port)
        for pod in place.pods.values()
        for port in pod.shape.needs.host_ports
    }
    return any((port.protocol, port.port) in held for port in wanted)


def _no_labels(namespace: str) -> dict[str, str]:
    del namespace  # terms with a namespaceSelector are taken as selecting no further namespace
    return {}
