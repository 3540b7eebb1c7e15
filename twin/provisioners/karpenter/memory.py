"""What the state of the cluster remembers of the API, and which change makes what of it untrue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twin.changes import Change
from twin.needs import BASIC_RESOURCES
from twin.provisioners.karpenter.candidate import Candidate, Facts
from twin.provisioners.karpenter.existing import Amounts, Existing, free_amounts
from twin.provisioners.karpenter.pools import Pool
from twin.provisioners.karpenter.state_node import StateNode
from twin.provisioners.placement import Place
from twin.records import ObjectRecord, PodRecord

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


class KnownCandidates:
    """What is known of NodeClaims as candidates of a disruption."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.everybody: list[Candidate] | None = None
        """All candidates, when nothing keeps any NodeClaim and none of them has changed since."""

    def forget(self, name: str) -> None:
        """Forget one."""
        self.facts.pop(name, None)
        self.everybody = None

    def forget_all(self) -> None:
        """Forget all of them."""
        self.facts.clear()
        self.everybody = None


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
        self.places: dict[str, Place] = {}
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
        record = change.record
        if change.resource in _DECISIVE:
            self.failures.clear()
        match change.resource:
            case "pods":
                assert isinstance(record, PodRecord)
                before = change.before
                if record.node_name:
                    self._spoil(record.node_name)
                if isinstance(before, PodRecord) and before.node_name:
                    self._spoil(before.node_name)
            case "nodes" | "nodeclaims":
                self._spoil(record.name)
                self.disrupted = self.counts = None
                if change.type != "MODIFIED":
                    self.nodes = None
                if record.deletion_at is not None:
                    self.leaving = None
            case "nodepools" | "kwoknodeclasses" if is_respecified(change):
                self.pools = None
                self.candidates.forget_all()
            case "poddisruptionbudgets" if change.type != "MODIFIED":
                self.candidates.forget_all()  # whether there are any is known to each
            case "daemonsets":
                self.daemons = None

    def _spoil(self, name: str) -> None:
        self.dirty[name] = None
        self.candidates.forget(name)

    def arrange(self, entries: Sequence[Existing]) -> None:
        """Take over the entries in the order in which pods try them."""
        self.existing = entries
        self.index = {entry.place.name: number for number, entry in enumerate(entries)}
        self.free = free_amounts(entries)


def is_respecified(change: Change) -> bool:
    """False for a change of an object's status or annotations alone."""
    record, before = change.record, change.before
    if not isinstance(record, ObjectRecord) or not isinstance(before, ObjectRecord):
        return True
    return (record.deletion_at, record.body["spec"]) != (before.deletion_at, before.body["spec"])
