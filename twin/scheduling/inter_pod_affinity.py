"""InterPodAffinity: pods that must or should run near others, or away from them, and the others' terms about them.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go. A required
anti-affinity of a pod that is already there keeps the pods that it selects away as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from twin.config.scheduling import SchedulerConfig
from twin.needs import PodTerm
from twin.records import PodRecord
from twin.scheduling.masks import either
from twin.scheduling.node_table import Flags, Ints
from twin.scheduling.pod_index import PodGroup, PodIndex
from twin.scheduling.terms import in_namespaces, term_matches, term_selector
from twin.scheduling.topology import Topology, by_row, domain_sums
from twin.world import World

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"
MAX_SCORE = 100.0
Sort = tuple[str, Mapping[str, str]]
"""(namespace, labels) of a pod: what a term can distinguish."""


class PodRelations:
    """Terms and pods of one world."""

    def __init__(self, world: World, topology: Topology, index: PodIndex) -> None:
        self._world = world
        self.topology = topology
        self.index = index

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace, none for one that is not there."""
        record = self._world.store.find("namespaces", "", namespace)
        return {} if record is None else record.labels

    def matches(self, term: PodTerm, carrier: Sort, target: Sort) -> bool:
        """True when a term of `carrier` selects `target`."""
        return term_matches(term, carrier, target, self.namespace_labels)

    def selected_groups(self, term: PodTerm, carrier: Sort) -> list[PodGroup]:
        """Return the groups of bound pods that a term of `carrier` selects."""
        selector = term_selector(term, carrier[1])
        if not term.namespaces and term.namespace_selector is None:
            return self.index.matching(selector, carrier[0])

        def is_selected_namespace(namespace: str) -> bool:
            return in_namespaces(term, carrier[0], namespace, self.namespace_labels)

        return self.index.matching(selector, is_selected_namespace)

    def near(self, key: str, groups: Iterable[PodGroup]) -> Ints:
        """Return how many pods of the groups are in each row's domain."""
        domains = self.topology.domains(key)
        return by_row(domains, domain_sums(domains, self.index.counts(groups)))

    def refusing_groups(self, pod: PodRecord) -> dict[str, list[PodGroup]]:
        """Return, by topology key, the groups whose anti-affinity is against `pod`.

        A group is listed once for each such term.
        """
        target = term_view(pod)
        groups_by_key: dict[str, list[PodGroup]] = {}
        for group in self.index.carriers_about(pod.labels):
            for term in group.needs.anti_affinity:
                if self.matches(term, (group.namespace, group.labels), target):
                    groups_by_key.setdefault(term.topology_key, []).append(group)
        return groups_by_key


def term_view(pod: PodRecord) -> Sort:
    """Return what terms see of a pod."""
    return pod.namespace, pod.labels


class AffinityFilter:
    """The required terms of one pod, and those of others that concern it, on all nodes."""

    plugin = "InterPodAffinity"

    def __init__(self, relations: PodRelations, pod: PodRecord) -> None:
        self._relations = relations
        self._pod = pod
        self.needs = pod.shape.needs
        mine = term_view(pod)
        together = _common([relations.selected_groups(term, mine) for term in self.needs.affinity])
        self.near = [relations.near(term.topology_key, together) for term in self.needs.affinity]
        self.placed = _any(self.shown(term.topology_key) for term in self.needs.affinity)
        self.attracting = 0  # pods that match all affinity terms, wherever they are
        if self.placed is not None:
            self.attracting = int(relations.index.counts(together)[self.placed].sum())
        self.far = [
            relations.near(term.topology_key, relations.selected_groups(term, mine))
            for term in self.needs.anti_affinity
        ]
        against = relations.refusing_groups(pod)
        self.others = {key: relations.near(key, groups) for key, groups in against.items()}
        self.own = bool(self.needs.affinity) and self.attracts(pod)

    def idle(self) -> bool:
        """True when nothing here can refuse a node."""
        return not (self.near or self.far or self.others)

    def attracts(self, pod: PodRecord) -> bool:
        """True when `pod` matches all required affinity terms."""
        mine = term_view(self._pod)
        return all(
            self._relations.matches(term, mine, term_view(pod)) for term in self.needs.affinity
        )

    def repels(self, term: PodTerm, pod: PodRecord) -> bool:
        """True when an anti-affinity term is against `pod`."""
        return self._relations.matches(term, term_view(self._pod), term_view(pod))

    def opposing_keys(self, pod: PodRecord) -> list[str]:
        """Return the topology keys in whose domains `pod` does not suffer this one."""
        return [
            term.topology_key
            for term in pod.shape.needs.anti_affinity
            if self._relations.matches(term, term_view(pod), term_view(self._pod))
        ]

    def shown(self, key: str) -> Flags:
        """Return the rows that have a label."""
        return self._relations.topology.domains(key).shown

    def passing(self) -> Flags:
        """Return the rows that nothing refuses."""
        return ~either(rows for _, rows, _ in self.reasons())

    def reasons(self) -> list[tuple[str, Flags, bool]]:
        """Return (reason, rows, whether taking pods away could help); the first that fails."""
        count = self._relations.topology.count
        lonely = np.zeros(count, np.bool_)
        missing = np.zeros(count, np.bool_)
        for term, near in zip(self.needs.affinity, self.near, strict=True):
            missing |= ~self.shown(term.topology_key)
            lonely |= near <= 0
        if self.own and not self.attracting:  # the first pod of a group with affinity to itself
            lonely[:] = False
        alone = missing | lonely
        crowded = np.zeros(count, np.bool_)
        for far in self.far:
            crowded |= far > 0
        unwelcome = np.zeros(count, np.bool_)
        for against in self.others.values():
            unwelcome |= against > 0
        return [
            (AFFINITY, alone, False),
            (ANTI_AFFINITY, crowded & ~alone, True),
            (OTHERS, unwelcome & ~alone & ~crowded, True),
        ]

    def trial(self, row: int) -> AffinityTrial:
        """Return one node to try changes on."""
        return AffinityTrial(self, row)


class AffinityTrial:
    """The counts in one node's domains while pods are taken from it and put back in thought."""

    def __init__(self, owner: AffinityFilter, row: int) -> None:
        self._owner = owner
        needs = owner.needs
        self._complete = all(bool(owner.shown(term.topology_key)[row]) for term in needs.affinity)
        self._near = [int(near[row]) for near in owner.near]
        self._attracting = owner.attracting
        self._far = [
            int(far[row]) if owner.shown(term.topology_key)[row] else None
            for term, far in zip(needs.anti_affinity, owner.far, strict=True)
        ]
        self._others = {key: int(against[row]) for key, against in owner.others.items()}
        self._row = row

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""
        owner = self._owner
        if owner.needs.affinity and owner.attracts(pod):
            self._near = [near + sign for near in self._near]
            if owner.placed is not None and owner.placed[self._row]:
                self._attracting += sign
        for index, term in enumerate(owner.needs.anti_affinity):
            far = self._far[index]
            if far is not None and owner.repels(term, pod):
                self._far[index] = far + sign
        for key in owner.opposing_keys(pod):
            if owner.shown(key)[self._row]:
                self._others[key] = self._others.get(key, 0) + sign

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against the node as of now."""
        if not self._complete:
            return (AFFINITY,)
        first = self._owner.own and self._attracting <= 0
        if any(near <= 0 for near in self._near) and not first:
            return (AFFINITY,)
        if any(far is not None and far > 0 for far in self._far):
            return (ANTI_AFFINITY,)
        if any(against > 0 for against in self._others.values()):
            return (OTHERS,)
        return ()


def affinity_scores(
    relations: PodRelations, pod: PodRecord, rows: Ints, config: SchedulerConfig
) -> Ints | None:
    """Return 0 to 100 by candidate row; None when all candidates score alike."""
    raw = np.zeros(len(rows), np.int64)
    mine, preferred = term_view(pod), pod.shape.needs.preferred_pods
    for term in preferred:
        near = relations.near(term.topology_key, relations.selected_groups(term, mine))
        raw += near[rows] * term.weight
    if preferred or not config.ignore_preferred_terms_of_existing_pods:
        for group in relations.index.carriers_about(pod.labels):
            for key, weight in _wishes(relations, group, mine, config.hard_pod_affinity_weight):
                raw += relations.near(key, [group])[rows] * weight
    least, most = int(raw.min()), int(raw.max())
    if least == most:
        return None
    scores: Ints = (MAX_SCORE * ((raw - least) / float(most - least))).astype(np.int64)
    return scores


def _wishes(
    relations: PodRelations, group: PodGroup, target: Sort, hard_weight: int
) -> list[tuple[str, int]]:
    """Return (topology key, weight) of the terms by which a group's pods want `target` near."""
    carrier = (group.namespace, group.labels)
    terms = [(term, term.weight) for term in group.needs.preferred_pods]
    if hard_weight > 0:
        terms += [(term, hard_weight) for term in group.needs.affinity]
    return [
        (term.topology_key, weight)
        for term, weight in terms
        if relations.matches(term, carrier, target)
    ]


def _any(masks: Iterable[Flags]) -> Flags | None:
    flags = list(masks)
    return either(flags) if flags else None


def _common(selected: list[list[PodGroup]]) -> list[PodGroup]:
    """Return the groups that are in all of the lists."""
    if not selected:
        return []
    rest = [{group.key for group in groups} for groups in selected[1:]]
    return [group for group in selected[0] if all(group.key in keys for keys in rest)]
