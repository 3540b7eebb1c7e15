"""What the state of the cluster remembers of the API, and which change makes what of it untrue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from twin.changes import Change
from twin.needs import BASIC_RESOURCES
from twin.provisioners.karpenter.candidate import DisruptionCandidate, Facts
from twin.provisioners.karpenter.existing import Amounts, Existing, free_amounts
from twin.provisioners.karpenter.pools import Pool
from twin.provisioners.karpenter.ranking import Ranking
from twin.provisioners.karpenter.state_node import StateNode
from twin.provisioners.placement import NodeInfo
from twin.records import ObjectRecord, PodRecord, Record

_DECISIVE = frozenset(
    {
        "daemonsets",
        "kwoknodeclasses",
        "nodeclaims",
        "nodepools",
        "nodes",
        "poddisruptionbudgets",
        "pods",
    }
)
"""Resources on which a simulation depends."""
_METADATA = ("labels", "annotations", "owners", "finalizers", "deletion_at")
_OF_PODS = ("node_name", "shape", "resize", "nominated_node")
_OF_NODES = (
    "allocatable_cpu_millicores",
    "allocatable_memory_bytes",
    "allocatable_pods",
    "gpus",
    "extended",
    "unschedulable",
    "taints",
)


class KnownCandidates:
    """Known facts about NodeClaims as candidates of a disruption."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.everybody: list[DisruptionCandidate] | None = None
        """All candidates, when nothing keeps any NodeClaim and none of them has changed since."""
        self._ranking: Ranking | None = None
        self._drifted: bool | None = None

    def forget(self, name: str) -> None:
        """Forget one."""
        self.facts.pop(name, None)
        self.everybody = self._drifted = None

    def forget_all(self) -> None:
        """Forget all of them."""
        self.facts.clear()
        self.everybody = self._drifted = None

    def learn(self, name: str, facts: Facts) -> Facts:
        """Remember the facts of one, and return them."""
        self.facts[name] = facts
        self._drifted = None
        return facts

    def ranking(self, found: list[DisruptionCandidate]) -> Ranking:
        """Return candidates as columns: those of the last time, when it is the same list."""
        if self._ranking is None or self._ranking.candidates is not found:
            self._ranking = Ranking(found)
        return self._ranking

    def any_drifted(self) -> bool:
        """True when a NodeClaim of which facts are known has drifted."""
        if self._drifted is None:
            self._drifted = any(facts.drifted for facts in self.facts.values())
        return self._drifted


class Memory:
    """Empty at the beginning; everything in it can be worked out anew."""

    def __init__(self) -> None:
        self.nodes: list[StateNode] | None = None
        self.by_name: dict[str, StateNode] = {}
        self.marked_names: frozenset[str] = frozenset()
        """What the disruption commands had marked when `nodes` were read."""
        self.leaving: list[StateNode] | None = None
        self.disrupted: list[StateNode] | None = None
        self.pools: list[Pool] | None = None
        self.daemons: list[PodRecord] | None = None
        """One pod of each DaemonSet; without them nothing is known of any place."""
        self.dirty: dict[str, None] = {}
        """Nodes and NodeClaims whose entry is not true any more."""
        self.entries: dict[str, Existing] = {}
        self.places: dict[str, NodeInfo] = {}
        self.existing: Sequence[Existing] = ()
        """The entries in the order in which pods try them."""
        self.index: dict[str, int] = {}
        self.candidates = KnownCandidates()
        self.failures: dict[tuple[str, ...], str] = {}
        """Why nodes, by their names, could not be consolidated when this was last tried."""
        self.offered: tuple[bool, ...] = ()
        """Which offerings could be had then."""
        self.counts: dict[str, tuple[int, int]] | None = None
        """By pool: nodes that count for its budgets, and those of them that are being disrupted."""
        self.free: Amounts = np.zeros((len(BASIC_RESOURCES), 0), np.int64)

    def follow(self, change: Change) -> None:
        """Forget what a change makes untrue."""
        if change.resource not in _DECISIVE:
            return
        moving = moves_pods(change)
        if moving:
            self.failures.clear()
        match change.resource:
            case "pods" if moving:
                self._follow_pod(change)
            case "nodes" | "nodeclaims":
                self._follow_node(change, moving=moving)
            case "nodepools" | "kwoknodeclasses" if is_respecified(change):
                self.pools = None
                self.candidates.forget_all()
            case "poddisruptionbudgets" if change.type != "MODIFIED":
                self.candidates.forget_all()  # whether there are any is known to each
            case "daemonsets":
                self.daemons = None

    def _follow_pod(self, change: Change) -> None:
        for pod in (change.record, change.before):
            if isinstance(pod, PodRecord) and pod.node_name:
                self.dirty[pod.node_name] = None
                self.candidates.forget(pod.node_name)

    def _follow_node(self, change: Change, *, moving: bool) -> None:
        record = change.record
        self.candidates.forget(record.name)
        if moving:
            self.dirty[record.name] = None
        self.disrupted = self.counts = None
        if change.type != "MODIFIED":
            self.nodes = None
        if record.deletion_at is not None:
            self.leaving = None

    def arrange(self, entries: Sequence[Existing]) -> None:
        """Take over the entries in the order in which pods try them."""
        self.existing = entries
        self.index = {entry.place.name: number for number, entry in enumerate(entries)}
        self.free = free_amounts(entries)


def moves_pods(change: Change) -> bool:
    """False for a change that leaves alone what decides where pods fit: metadata, what a node offers and keeps
    away, specs, whether a pod takes or waits for room, and what a NodeClaim's node will have.
    """
    record, before = change.record, change.before
    if change.type != "MODIFIED" or before is None or _differ(record, before, _METADATA):
        return True
    if isinstance(record, PodRecord) and isinstance(before, PodRecord):
        terminal, waiting = record.terminal, bool(record.unschedulable)
        return (
            terminal != before.terminal
            or waiting != bool(before.unschedulable)
            or _differ(record, before, _OF_PODS)
        )
    if isinstance(record, ObjectRecord) and isinstance(before, ObjectRecord):
        has, had = (one.body.get("status") or {} for one in (record, before))
        return is_respecified(change) or has.get("allocatable") != had.get("allocatable")
    return _differ(record, before, _OF_NODES)


def _differ(record: Record, before: Record, names: Iterable[str]) -> bool:
    for name in names:
        now, then = getattr(record, name), getattr(before, name)
        if now is not then and now != then:
            return True
    return False


def is_respecified(change: Change) -> bool:
    """False for a change of an object's status or annotations alone."""
    record, before = change.record, change.before
    if not isinstance(record, ObjectRecord) or not isinstance(before, ObjectRecord):
        return True
    return (record.deletion_at, record.body["spec"]) != (before.deletion_at, before.body["spec"])
