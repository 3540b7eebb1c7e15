"""What every behaviour and controller shares: store, clock, settings, chance, live pods, reporter.

A behaviour never writes to the store from inside a change notice: it plans an event instead, so
that watchers see changes in order of version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from twin.chance import Chance
from twin.changes import Change
from twin.clock import Clock
from twin.config import TwinConfig
from twin.kube_events import Reporter
from twin.part import Part
from twin.pod_selections import PodSelections
from twin.records import NodeRecord, Object, PodRecord
from twin.store import Store


@dataclass(slots=True, eq=False)
class World(Part):
    """The shared parts of one simulated cluster."""

    KEEPS: ClassVar[tuple[str, ...]] = ("pods", "pods_on", "down")
    LEAVES: ClassVar[tuple[str, ...]] = ("selections",)
    config: TwinConfig
    seed: int
    clock: Clock
    store: Store
    chance: Chance
    reporter: Reporter
    pods: dict[str, PodRecord] = field(default_factory=dict)
    """Live pods by uid."""
    pods_on: dict[str, dict[str, PodRecord]] = field(default_factory=dict)
    """Live pods by node name and uid, in order of binding."""
    down: dict[str, float] = field(default_factory=dict)
    """Nodes whose machine has failed, with the time of the failure."""
    selections: PodSelections = field(default_factory=PodSelections)

    def restored(self) -> None:
        """Forget which pods were asked for: they were others."""
        self.selections.forget()

    @property
    def now(self) -> float:
        """Cluster time, unix seconds."""
        return self.clock.now

    def follow(self, change: Change) -> None:
        """Keep the pod indexes; has to see each change before the behaviours do."""
        if change.resource != "pods":
            return
        record = change.record
        assert isinstance(record, PodRecord)
        if change.type == "DELETED":
            self.pods.pop(record.uid, None)
            self.pods_on.get(record.node_name, {}).pop(record.uid, None)
            self.selections.follow(record, record.labels, gone=True)
            return
        before, live = change.before, self.pods.get(record.uid)
        if live is None:
            found = self.store.find("pods", record.namespace, record.name)
            assert isinstance(found, PodRecord)
            live = self.pods[record.uid] = found
            self.selections.follow(live, None)
        else:
            labels = change.previous_labels
            if labels is not None and labels != live.labels:
                self.selections.follow(live, labels)
            if isinstance(before, PodRecord) and before.node_name == live.node_name:
                return
        if live.node_name:
            self.pods_on.setdefault(live.node_name, {})[live.uid] = live

    def select_pods(self, namespace: str, selector: Object | None) -> list[PodRecord]:
        """Return the live pods of a namespace that a selector finds, by name; do not change the list."""
        if selector is None:
            return []
        return self.selections.find(namespace, selector, self._pods_in(namespace))

    def _pods_in(self, namespace: str) -> Iterator[PodRecord]:
        for record in self.store.records("pods", namespace):
            assert isinstance(record, PodRecord)
            yield record

    def node(self, name: str) -> NodeRecord | None:
        """Return the live node of that name."""
        found = self.store.find("nodes", "", name)
        assert found is None or isinstance(found, NodeRecord)
        return found

    def up(self, node_name: str) -> bool:
        """True when the node exists and its machine runs."""
        return node_name not in self.down and self.node(node_name) is not None
