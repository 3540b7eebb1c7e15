"""PodTopologySpread: pods of one kind are kept even over the domains of a topology.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring,plugin}.go.
Hard constraints filter; soft ones score; a pod without any of its own, but with a Service,
ReplicaSet or StatefulSet, is scored by the cluster's default constraints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twin.needs import SpreadConstraint
from twin.records import Object, PodRecord
from twin.scheduling.masks import either
from twin.scheduling.node_rules import NodeRules
from twin.scheduling.node_table import Flags, Ints, NodeTable
from twin.scheduling.pod_index import PodIndex
from twin.scheduling.terms import selector_with_keys
from twin.scheduling.topology import HOSTNAME, Domains, Topology, by_row, domain_sums
from twin.selectors import matches

REASON = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{REASON} (missing required label)"
_NO_DOMAIN = 2**31 - 1  # upstream's least count when there is no domain at all


@dataclass(frozen=True, slots=True)
class Spreading:
    """What both halves of the plugin look things up in."""

    nodes: NodeTable
    topology: Topology
    index: PodIndex
    rules: NodeRules

    def selector(self, constraint: SpreadConstraint, pod: PodRecord) -> Object | None:
        """Return which pods a constraint of `pod` counts."""
        return selector_with_keys(constraint.selector, pod.labels, constraint.label_keys)

    def pods_by_row(self, selector: Object | None, namespace: str) -> Ints:
        """Return how many selected pods, not being deleted, are on each row."""
        groups = self.index.matching(selector, namespace)
        return self.index.counts(group for group in groups if not group.terminating)

    def included_rows(self, constraint: SpreadConstraint, pod: PodRecord) -> Flags:
        """Return the rows that a constraint's node inclusion policies let count."""
        rows: Flags = self.nodes.present[: self.nodes.count]
        affine = self.rules.affine(pod.shape) if constraint.honors_affinity else None
        if affine is not None:
            rows = rows & affine
        if constraint.honors_taints:
            rows = rows & self.rules.tolerable(pod.shape)
        return rows

    def rows_with_labels(self, keys: list[str]) -> Flags:
        """Return the rows whose nodes have all of the labels."""
        rows: Flags = self.nodes.present[: self.nodes.count]
        for key in keys:
            rows = rows & self.topology.domains(key).shown
        return rows


@dataclass(slots=True)
class HardConstraint:
    """One hard constraint of one pod, counted."""

    constraint: SpreadConstraint
    selector: Object | None
    domains: Domains
    eligible: Flags
    exists: Flags
    """By domain: whether it has an eligible node."""
    counts: Ints
    """By domain: selected pods on its eligible nodes."""
    own: int
    """1 when the pod itself is selected."""

    def least(self, counts: Ints) -> int:
        """Return the smallest count of a domain, 0 when there are fewer than minDomains."""
        known = counts[self.exists]
        if len(known) < self.constraint.min_domains:
            return 0
        return int(known.min()) if len(known) else _NO_DOMAIN

    def too_many(self, counts: Ints) -> Flags:
        """Return by domain whether one more pod there would skew too far."""
        limit = self.constraint.max_skew - self.own + self.least(counts)
        too_many: Flags = counts > limit
        return too_many


class SpreadFilter:
    """The hard constraints of one pod on all nodes."""

    plugin = "PodTopologySpread"

    def __init__(self, spreading: Spreading, pod: PodRecord) -> None:
        self._pod = pod
        constraints = pod.shape.needs.hard_spread
        labelled = spreading.rows_with_labels([entry.topology_key for entry in constraints])
        self.counted = [_count(spreading, entry, pod, labelled) for entry in constraints]

    def passing(self) -> Flags:
        """Return the rows that no constraint refuses."""
        return ~either(rows for _, rows, _ in self.reasons())

    def reasons(self) -> list[tuple[str, Flags, bool]]:
        """Return (reason, rows, whether taking pods away could help); the first that fails."""
        unlabelled = skewed = np.zeros(len(self.counted[0].eligible), np.bool_)
        for entry in self.counted:
            open_rows = ~(unlabelled | skewed)
            shown = entry.domains.shown
            unlabelled = unlabelled | (open_rows & ~shown)
            if entry.domains.size:
                bad = entry.too_many(entry.counts)[entry.domains.codes] & shown
                skewed = skewed | (open_rows & bad)
        return [(NO_LABEL, unlabelled, False), (REASON, skewed, True)]

    def trial(self, row: int) -> SpreadTrial:
        """Return one node to try changes on."""
        return SpreadTrial(self._pod, self.counted, row)


class SpreadTrial:
    """The counts as they would be while pods of one node are taken away and put back."""

    def __init__(self, pod: PodRecord, counted: list[HardConstraint], row: int) -> None:
        self._pod = pod
        self._row = row
        self._counted = [(entry, entry.counts.copy()) for entry in counted]

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1); one being deleted never counted."""
        if pod.namespace != self._pod.namespace or pod.deletion_at is not None:
            return
        for entry, counts in self._counted:
            if entry.eligible[self._row] and matches(entry.selector, pod.labels):
                counts[entry.domains.codes[self._row]] += sign

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against the node as of now."""
        for entry, counts in self._counted:
            code = int(entry.domains.codes[self._row])
            if code < 0:
                return (NO_LABEL,)
            if entry.too_many(counts)[code]:
                return (REASON,)
        return ()


def _count(
    spreading: Spreading, constraint: SpreadConstraint, pod: PodRecord, labelled: Flags
) -> HardConstraint:
    selector = spreading.selector(constraint, pod)
    domains = spreading.topology.domains(constraint.topology_key)
    eligible = labelled & spreading.included_rows(constraint, pod)
    pods = np.where(eligible, spreading.pods_by_row(selector, pod.namespace), 0)
    exists = np.zeros(domains.size, np.bool_)
    exists[domains.codes[eligible]] = True
    own = int(matches(selector, pod.labels))
    return HardConstraint(
        constraint, selector, domains, eligible, exists, domain_sums(domains, pods), own
    )


def spread_scores(
    spreading: Spreading,
    pod: PodRecord,
    constraints: tuple[SpreadConstraint, ...],
    rows: Ints,
    *,
    every_label: bool,
) -> Ints | None:
    """Return 0 to 100 by candidate row; None when all candidates score alike.

    With `every_label`, nodes that lack the label of any constraint get 0 and do not count.
    """
    keys = [entry.topology_key for entry in constraints]
    labelled = spreading.rows_with_labels(keys if every_label else [])
    scored = labelled[rows]
    raw = np.zeros(len(rows))
    for constraint in constraints:
        raw += _soft_points(spreading, pod, constraint, rows, scored, labelled)
    points = np.floor(raw + 0.5).astype(np.int64)
    if not scored.all():
        points = np.where(scored, points, 0)
    counted = points[scored]
    if not len(counted):
        return None
    most, least = int(counted.max()), int(counted.min())
    if scored.all() and most == least:
        return None
    scores = 100 * (most + least - points) // most if most else np.full(len(rows), 100, np.int64)
    answer: Ints = np.where(scored, scores, 0)
    return answer


def _soft_points(
    spreading: Spreading,
    pod: PodRecord,
    constraint: SpreadConstraint,
    rows: Ints,
    scored: Flags,
    labelled: Flags,
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    domains = spreading.topology.domains(constraint.topology_key)
    pods = spreading.pods_by_row(spreading.selector(constraint, pod), pod.namespace)
    codes = domains.codes[rows]
    if constraint.topology_key == HOSTNAME:
        size = int(np.count_nonzero(scored))
        counts = pods[rows]
    else:
        size = len(np.unique(codes[scored]))
        eligible = labelled & spreading.included_rows(constraint, pod)
        sums = domain_sums(domains, np.where(eligible, pods, 0))
        counts = by_row(domains, sums)[rows]
    weight = math.log(size + 2)
    return np.where(codes >= 0, counts * weight + (constraint.max_skew - 1), 0.0)


def default_selector(labels: Sequence[Mapping[str, str]], owner: Object | None) -> Object | None:
    """Return what the selectors of a pod's Services and its owner's select together, if any do."""
    selector_labels: dict[str, str] = {}
    for entry in labels:
        selector_labels.update(entry)
    rules: list[Object] = []
    if owner is not None:
        selector_labels.update(owner.get("matchLabels") or {})
        rules = list(owner.get("matchExpressions") or ())
    if not selector_labels and not rules:
        return None
    return {"matchLabels": selector_labels, "matchExpressions": rules}
