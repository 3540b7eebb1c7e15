"""Nodes as columns: what each offers, what is requested of it, and how it is set.

Rows are never reused for another name, so a row number stays valid for a run. Resources beyond CPU,
memory, GPUs and pods get a line of their own when the first node or pod names them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from twin.chance import Draws, Keys, key_of
from twin.changes import Change
from twin.needs import BASIC_RESOURCES, GPU, MOST_AMOUNT
from twin.node_settings import NodeSettings, read_settings
from twin.part import Part
from twin.records import NodeRecord, PodRecord

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_BASIC = len(BASIC_RESOURCES)
_TOUCHES_KEPT = 65_536


class NodeTable(Part):
    """Columns by node row; `free` and `offered` have one line per entry of `resources`."""

    KEEPS = (
        "names",
        "row_of",
        "count",
        "settings",
        "existing",
        "resources",
        "generation",
        "label_generation",
        "changed_at",
        "_looks",
        "_size",
        "offered",
        "free",
        "scored",
        "present",
        "priorities",
        "_counted",
    )
    LEAVES = (
        "keys",
        "_held",
        "altered",
        "_complete",
        "_complete_generation",
        "touched",
        "touch_epoch",
    )

    def __init__(self) -> None:
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.keys: Keys = np.zeros(0, np.uint64)  # of the names, for draws
        self.count = 0
        self.settings: list[NodeSettings] = []
        self.touched: list[int] = []  # rows whose amounts or presence changed, within one epoch
        self.touch_epoch = 0
        self.existing = 0  # nodes that are there, of `count` that ever were
        self.resources: list[str] = list(BASIC_RESOURCES)
        self.generation = 0  # raised when labels, taints, amounts or readiness change
        self.label_generation = 0  # the generation in which a node came, went or changed labels
        self.changed_at: Ints = np.zeros(0, np.int64)  # by row: generation of its last change
        self._looks: list[
            tuple[object, ...] | None
        ] = []  # by row: what placement depends on, as last seen
        self._size = 0
        self.offered: Ints = np.zeros((_BASIC, 0), np.int64)
        self.free: Ints = np.zeros((_BASIC, 0), np.int64)
        self.scored: Ints = np.zeros((2, 0), np.int64)  # requested cpu, memory as scoring counts
        self.present: Flags = np.zeros(0, np.bool_)
        self.priorities: dict[int, int] = {}  # how many pods hold something, by priority
        self._counted: dict[str, tuple[int, PodRecord]] = {}  # by pod uid
        self.altered: tuple[str, ...] = ()
        """What the node change just taken in altered: added, removed, labels, rules, more, less."""
        self._complete = False
        self._complete_generation = -1
        self._held: dict[int, Ints] | None = None  # basic amounts by priority, once asked for

    def follow(self, change: Change) -> None:
        """Take in one change of a node or pod."""
        record = change.record
        if isinstance(record, NodeRecord):
            self._follow_node(record, gone=change.type == "DELETED")
        elif isinstance(record, PodRecord):
            holds = change.type != "DELETED" and bool(record.node_name) and not record.terminal
            self._follow_pod(record, holds)

    def resource_row(self, name: str) -> int:
        """Return the line of a resource in `free` and `offered`; a new one gets one."""
        if name not in self.resources:
            self.resources.append(name)
            added = ((0, 1), (0, 0))
            self.offered, self.free = np.pad(self.offered, added), np.pad(self.free, added)
        return self.resources.index(name)

    def complete(self) -> bool:
        """True when every node that is there offers CPU and memory."""
        if self._complete_generation != self.generation:
            self._complete_generation = self.generation
            shown = self.offered[:2, : self.count][:, self.present[: self.count]]
            self._complete = bool(shown.all())
        return self._complete

    def held_below(self, priority: int) -> Ints:
        """Return the basic amounts that pods of lower priority hold, by line and row."""
        if self._held is None:
            self._held = {}
            for row, pod in self._counted.values():
                self._hold(self._held, row, pod, 1)
        total = np.zeros((_BASIC, self.count), np.int64)
        for held, amounts in self._held.items():
            if held < priority:
                total += amounts[:, : self.count]
        return total

    def first_drawn(self, draws: Draws, entity: str, rows: Ints) -> int:
        """Return the place in `rows` of the node that `entity` draws first of them.

        Each node has its own draw, so that one more or less leaves the order of the others.
        """
        salted = self.keys[rows] ^ np.uint64(key_of(entity))
        return int(draws.bits_of(salted).argmax())

    def restored(self) -> None:
        """Let nobody trust what was counted from the rows before."""
        self.keys = np.zeros(self._size, np.uint64)
        self.keys[: self.count] = [key_of(name) for name in self.names]
        self._held = None
        self.touch_epoch += 1
        self._complete_generation = -1

    def _follow_node(self, node: NodeRecord, *, gone: bool) -> None:
        row = self.row_of.get(node.name)
        if row is None:
            row = self._new_row(node.name)
        amounts = {
            "cpu": node.allocatable_cpu_millicores,
            "memory": node.allocatable_memory_bytes,
            GPU: node.gpus,
            "pods": node.allocatable_pods,
            **node.extended,
        }
        known = self._looks[row]
        if known is None or known[-1] != amounts:
            self._offer(row, amounts)
        self._touch(row)
        self.settings[row] = read_settings(node.annotations)
        self.existing += int(not gone) - int(self.present[row])
        self.present[row] = not gone
        self._note_looks(node, row, (gone, node.labels), amounts)

    def _offer(self, row: int, amounts: dict[str, int]) -> None:
        lines = {self.resource_row(name): amount for name, amount in amounts.items()}
        for line in range(len(self.resources)):
            amount = min(lines.get(line, 0), MOST_AMOUNT)
            self.free[line, row] += amount - self.offered[line, row]
            self.offered[line, row] = amount

    def _note_looks(
        self, node: NodeRecord, row: int, shown: tuple[object, object], amounts: dict[str, int]
    ) -> None:
        """Raise the generations when something changed that placement depends on."""
        before = self._looks[row]
        looks = (*shown, node.taints, node.unschedulable, node.ready_status, amounts)
        self.altered = () if looks == before else _find_changes(before, looks)
        if looks == before:
            return
        self._looks[row] = looks
        self.generation += 1
        self.changed_at[row] = self.generation
        if before is None or before[:2] != shown:
            self.label_generation = self.generation

    def _new_row(self, name: str) -> int:
        row = self.count
        if row == self._size:
            self._grow(max(64, 2 * self._size))
        self.count += 1
        self.names.append(name)
        self.keys[row] = key_of(name)
        self.row_of[name] = row
        self.settings.append(NodeSettings())
        self._looks.append(None)
        return row

    def _grow(self, size: int) -> None:
        added = size - self._size
        self.offered = np.pad(self.offered, ((0, 0), (0, added)))
        self.free = np.pad(self.free, ((0, 0), (0, added)))
        self.scored = np.pad(self.scored, ((0, 0), (0, added)))
        self.present = np.pad(self.present, (0, added))
        self.changed_at = np.pad(self.changed_at, (0, added))
        self.keys = np.pad(self.keys, (0, added))
        self._held = None
        self._size = size

    def _follow_pod(self, pod: PodRecord, holds: bool) -> None:
        counted = self._counted.get(pod.uid)
        if holds and counted is None:
            row = self.row_of.get(pod.node_name)
            if row is None:  # bound by hand to a node that does not exist
                return
            self._counted[pod.uid] = (row, pod)
            self._add(row, pod, 1)
        elif counted is not None:
            row, before = counted
            if holds and before.reserved_needs is pod.reserved_needs:
                return
            self._add(row, before, -1)
            if holds:  # resized in place
                self._counted[pod.uid] = (row, pod)
                self._add(row, pod, 1)
            else:
                del self._counted[pod.uid]

    def _touch(self, row: int) -> None:
        if len(self.touched) >= _TOUCHES_KEPT:
            self.touched.clear()
            self.touch_epoch += 1
        self.touched.append(row)

    def _add(self, row: int, pod: PodRecord, sign: int) -> None:
        self._touch(row)
        needs, priority = pod.reserved_needs, pod.shape.priority
        for line, amount in needs.asked:
            self.free[line, row] -= sign * amount
        for name, amount in needs.extra:
            line = self.resource_row(name)
            self.free[line, row] -= sign * amount
        self.scored[0, row] += sign * needs.scored[0]
        self.scored[1, row] += sign * needs.scored[1]
        left = self.priorities.get(priority, 0) + sign
        if left:
            self.priorities[priority] = left
        else:
            del self.priorities[priority]
        if self._held is not None:
            self._hold(self._held, row, pod, sign)

    def _hold(self, held: dict[int, Ints], row: int, pod: PodRecord, sign: int) -> None:
        amounts = held.get(pod.shape.priority)
        if amounts is None:
            amounts = held[pod.shape.priority] = np.zeros((_BASIC, self._size), np.int64)
        amounts[:, row] += sign * pod.reserved_needs.amounts


def _find_changes(before: tuple[Any, ...] | None, now: tuple[Any, ...]) -> tuple[str, ...]:
    """Name the differences between two looks: (gone, labels, three rules, amounts)."""
    if now[0]:
        return ("removed",)
    if before is None or before[0]:
        return ("added",)
    found = ["labels"] if now[1] != before[1] else []
    if now[2:5] != before[2:5]:
        found.append("rules")
    names = {**before[5], **now[5]}
    changes = [now[5].get(name, 0) - before[5].get(name, 0) for name in names]
    found += ["more"] * any(change > 0 for change in changes)
    found += ["less"] * any(change < 0 for change in changes)
    return tuple(found)


def node_sums(rows: Ints, values: Floats, count: int) -> Floats:
    """Return the sum of `values` per node row, added in order, for rows 0 to `count` - 1."""
    return np.bincount(rows, weights=values, minlength=count).astype(np.float64)
