"""Bound pods by what selectors can distinguish: how many of each group are on each node.

Pods of one namespace with equal labels and terms are one group; a group counts its pods by node
row, and each change of a pod moves one count. Nothing is counted until the first pod comes that
needs it, so a world of pods with nothing but requests pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from twin.changes import Change
from twin.needs import HostPort, PodNeeds
from twin.part import Part
from twin.records import Object, PodRecord, PodShape
from twin.scheduling.node_table import Ints, NodeTable
from twin.selectors import matches
from twin.world import World

Key = tuple[str, bool, tuple[tuple[str, str], ...], bytes]
"""(namespace, terminating, labels, terms)"""
_Pair = tuple[str, str] | None
_At = TypeVar("_At", str, tuple[str, str, str], _Pair)
_DENSE = 128  # rows beyond which a group keeps an array


class PodGroup:
    """Pods that no selector and no term can distinguish, counted by node row."""

    __slots__ = ("_dense", "key", "labels", "namespace", "needs", "rows", "terminating")

    def __init__(self, key: Key, labels: Mapping[str, str], needs: PodNeeds) -> None:
        self.key = key
        self.namespace, self.terminating = key[0], key[1]
        self.labels = labels
        self.needs = needs
        self.rows: dict[int, int] = {}
        self._dense: Ints | None = None

    def move(self, row: int, sign: int) -> None:
        """Count one pod more or less on a row."""
        left = self.rows.get(row, 0) + sign
        if left:
            self.rows[row] = left
        else:
            del self.rows[row]
        if self._dense is not None:
            if row < len(self._dense):
                self._dense[row] += sign
            else:
                self._dense = None

    def add_to(self, counts: Ints) -> None:
        """Add the counts to an array by row."""
        rows = self.rows
        if len(rows) <= _DENSE:
            for row, count in rows.items():
                counts[row] += count
            return
        dense = self._dense
        if dense is None or len(dense) < len(counts):
            dense = np.zeros(len(counts), np.int64)
            dense[np.fromiter(rows, np.int64, len(rows))] = np.fromiter(
                rows.values(), np.int64, len(rows)
            )
            self._dense = dense
        counts += dense[: len(counts)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was counted for a pod: live records change, this does not."""

    key: Key
    row: int
    labels: Mapping[str, str]
    shape: PodShape


class PodIndex(Part):
    """Groups of bound pods that have not ended, and the host ports they hold."""

    LEAVES = (
        "_active",
        "_groups",
        "_by_pair",
        "_by_namespace",
        "_entries",
        "_carriers",
        "_carriers_by_pair",
        "_ports",
    )

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self._world = world
        self._nodes = nodes
        self._forget()

    def _forget(self) -> None:
        self._active = False
        self._groups: dict[Key, PodGroup] = {}
        self._by_pair: dict[tuple[str, str, str], dict[Key, PodGroup]] = {}
        self._by_namespace: dict[str, dict[Key, PodGroup]] = {}
        self._carriers: dict[Key, PodGroup] = {}
        self._carriers_by_pair: dict[_Pair, dict[Key, PodGroup]] = {}
        self._entries: dict[str, _Entry] = {}  # by pod uid
        self._ports: dict[int, dict[str, tuple[HostPort, ...]]] = {}  # by row and pod uid

    def restored(self) -> None:
        """Start empty; needed counts are taken again as soon as there are such pods."""
        self._forget()
        if any(_relates(pod) and pod.node_name for pod in self._world.pods.values()):
            self.activate()

    def follow(self, change: Change) -> None:
        """Take in one change of a pod, after the node table has seen it."""
        pod = change.record
        if not isinstance(pod, PodRecord):
            return
        if not self._active:
            if pod.node_name and _relates(pod):
                self.activate()
            return
        self._note(pod, removed=change.type == "DELETED")

    def activate(self) -> None:
        """Begin to count."""
        if not self._active:
            self._active = True
            for pod in self._world.pods.values():
                self._note(pod, removed=False)

    @property
    def carriers(self) -> Iterable[PodGroup]:
        """Groups whose pods have pod affinity or anti-affinity of their own."""
        return self._carriers.values()

    def carriers_about(self, labels: Mapping[str, str]) -> Iterable[PodGroup]:
        """Return the carriers of which some term may select a pod with these labels."""
        if not self._carriers:
            return ()
        carriers: dict[Key, PodGroup] = dict(self._carriers_by_pair.get(None, {}))
        for pair in labels.items():
            carriers.update(self._carriers_by_pair.get(pair, {}))
        return carriers.values()

    @property
    def ports(self) -> Mapping[int, Mapping[str, tuple[HostPort, ...]]]:
        """Host ports in use, by node row and pod uid."""
        return self._ports

    def matching(
        self, selector: Object | None, in_namespace: Callable[[str], bool] | str
    ) -> list[PodGroup]:
        """Return the groups that a selector takes in one namespace, or in those that are wanted."""
        if selector is None:
            return []
        self.activate()
        if isinstance(in_namespace, str):
            return [
                group
                for group in self._candidates(in_namespace, selector)
                if matches(selector, group.labels)
            ]
        return [
            group
            for namespace in self._by_namespace
            if in_namespace(namespace)
            for group in self._candidates(namespace, selector)
            if matches(selector, group.labels)
        ]

    def counts(self, groups: Iterable[PodGroup]) -> Ints:
        """Return how many pods of the groups are on each node row."""
        counts = np.zeros(self._nodes.count, np.int64)
        for group in groups:
            group.add_to(counts)
        return counts

    def _candidates(self, namespace: str, selector: Object) -> Iterable[PodGroup]:
        for key, value in (selector.get("matchLabels") or {}).items():
            return self._by_pair.get((namespace, key, value), {}).values()
        return self._by_namespace.get(namespace, {}).values()

    def _note(self, pod: PodRecord, *, removed: bool) -> None:
        row = self._nodes.row_of.get(pod.node_name) if pod.node_name else None
        holds = not removed and not pod.terminal and row is not None
        known = self._entries.get(pod.uid)
        if known is not None:
            leaving = pod.deletion_at is not None
            same = known.labels == pod.labels and known.shape is pod.shape
            if holds and same and known.key[1] == leaving:
                return
            self._drop(pod.uid, known)
        if holds and row is not None:
            self._add(pod, row)

    def _add(self, pod: PodRecord, row: int) -> None:
        needs = pod.shape.needs
        key = (
            pod.namespace,
            pod.deletion_at is not None,
            tuple(sorted(pod.labels.items())),
            needs.terms_key,
        )
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = PodGroup(key, pod.labels, needs)
            self._by_namespace.setdefault(pod.namespace, {})[key] = group
            for pair in key[2]:
                self._by_pair.setdefault((pod.namespace, *pair), {})[key] = group
            if needs.terms_key:
                self._carriers[key] = group
                for wanted_pair in _wanted_pairs(needs):
                    self._carriers_by_pair.setdefault(wanted_pair, {})[key] = group
        group.move(row, 1)
        self._entries[pod.uid] = _Entry(key, row, pod.labels, pod.shape)
        if needs.host_ports:
            self._ports.setdefault(row, {})[pod.uid] = needs.host_ports

    def _drop(self, uid: str, known: _Entry) -> None:
        key, row = known.key, known.row
        del self._entries[uid]
        group = self._groups[key]
        group.move(row, -1)
        if not group.rows:
            del self._groups[key]
            _discard(self._by_namespace, key[0], key)
            for pair in key[2]:
                _discard(self._by_pair, (key[0], *pair), key)
            if self._carriers.pop(key, None) is not None:
                for wanted_pair in _wanted_pairs(group.needs):
                    _discard(self._carriers_by_pair, wanted_pair, key)
        if known.shape.needs.host_ports:
            del self._ports[row][uid]
            if not self._ports[row]:
                del self._ports[row]


def _wanted_pairs(needs: PodNeeds) -> list[_Pair]:
    """Return for each term a label that it requires by matchLabels, None for a term without."""
    pairs: dict[_Pair, None] = {}
    for term in (*needs.affinity, *needs.anti_affinity, *needs.preferred_pods):
        match_labels = ((term.selector or {}).get("matchLabels") or {}).items()
        pairs[next(iter(match_labels), None)] = None
    return list(pairs)


def _relates(pod: PodRecord) -> bool:
    needs = pod.shape.needs
    return bool(needs.terms_key or needs.host_ports)


def _discard(index: dict[_At, dict[Key, PodGroup]], at: _At, key: Key) -> None:
    del index[at][key]
    if not index[at]:
        del index[at]
