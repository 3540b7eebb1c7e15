"""The pods, workloads, autoscalers and nodes that a log knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from projections.frame_states import FrameStates
from schemas.envelope import Event
from schemas.reaction import Reaction, ReactionItem, ReactionKind
from schemas.snapshot import AutoscalerState, SnapshotNodes, SnapshotWorkloads

NAME_SUBJECTS = ("snapshot.nodes", "snapshot.workloads", "reaction")
"""Subjects of the events that name objects."""


class ObjectKind(StrEnum):
    """Kinds of objects that can be asked about."""

    POD = "pod"
    WORKLOAD = "workload"
    HPA = "hpa"
    NODE = "node"


@dataclass(slots=True)
class ObjectNames:
    """Every name by kind, in full: `<namespace>/<pod>`, `<namespace>/<kind>/<name>`, a node's name."""

    names: dict[ObjectKind, set[str]] = field(
        default_factory=lambda: {kind: set() for kind in ObjectKind}
    )
    scale_targets: dict[str, str] = field(default_factory=dict)
    """The workload that an autoscaler scales, by the autoscaler's name."""
    _states: FrameStates = field(default_factory=FrameStates)

    def add(self, event: Event[Any]) -> None:
        """Take one event of the log into account."""
        match event.data:
            case SnapshotWorkloads(autoscalers=states):
                self._add_tables(event)
                self._add_autoscalers(states)
            case SnapshotNodes():
                self._add_tables(event)
            case Reaction(reactions=items):
                for item in items:
                    self._add_item(item)
            case _:
                pass

    def matching(self, kind: ObjectKind, short_name: str) -> list[str]:
        """Return the full names that a name means: itself, or those that end with it."""
        if short_name in self.names[kind]:
            return [short_name]
        return sorted(name for name in self.names[kind] if name.endswith(f"/{short_name}"))

    def _add_tables(self, event: Event[Any]) -> None:
        state = self._states.add(event)
        tables = {} if state is None else state.tables
        for table, kind in (
            ("nodes", ObjectKind.NODE),
            ("pods", ObjectKind.POD),
            ("workloads", ObjectKind.WORKLOAD),
        ):
            if table in tables:
                self.names[kind].update(tables[table].ids)

    def _add_autoscalers(self, states: tuple[AutoscalerState, ...]) -> None:
        for state in states:
            self.names[ObjectKind.HPA].add(state.object)
            self.scale_targets[state.object] = state.workload

    def _add_item(self, item: ReactionItem) -> None:
        if item.kind is ReactionKind.HPA_CHANGE:
            self.names[ObjectKind.HPA].add(item.object)
            self.scale_targets[item.object] = item.workload
        elif item.kind.startswith("pod_"):
            self.names[ObjectKind.POD].add(item.object)
        elif item.kind.startswith("node_"):
            self.names[ObjectKind.NODE].add(item.object)
        if item.workload:
            self.names[ObjectKind.WORKLOAD].add(item.workload)
