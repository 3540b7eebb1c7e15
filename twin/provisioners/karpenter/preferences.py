"""What a pod wants of its node, and how it wants less when that cannot be had.

Preferences count as requirements first and are given up one by one, the heaviest first
(pkg/controllers/provisioning/scheduling/preferences.go; scheduling/requirements.go, NewPodRequirements).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from twin.needs import PodTerm, SpreadConstraint
from twin.provisioners.karpenter.requirements import (
    Requirements,
    add,
    of_expressions,
    of_labels,
)
from twin.records import Object, PodRecord
from twin.scheduling.placement_rules import is_tolerated


@dataclass(frozen=True, slots=True, eq=False)
class PodPreferences:
    """One pod's wishes at one degree of modesty."""

    pod: PodRecord
    terms: tuple[Object, ...]
    """Required node affinity: the first counts."""
    preferred_nodes: tuple[tuple[int, Object], ...]
    affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    soft_affinity: tuple[PodTerm, ...]
    soft_anti_affinity: tuple[PodTerm, ...]
    spread: tuple[SpreadConstraint, ...]
    soft_spread: tuple[SpreadConstraint, ...]
    tolerates_soft_taints: bool = False

    @property
    def is_about_pods(self) -> bool:
        """True when it is about other pods, by spreading or affinity."""
        return bool(
            self.spread
            or self.soft_spread
            or self.affinity
            or self.soft_affinity
            or self.anti_affinity
            or self.soft_anti_affinity
        )

    def requirements(self, *, strict: bool = False) -> Requirements:
        """Return what the node's labels have to be; `strict` leaves preferences out."""
        found = of_labels(dict(self.pod.shape.node_selector))
        if self.terms:
            add(found, of_expressions(self.terms[0].get("matchExpressions") or ()))
        if self.preferred_nodes and not strict:
            wish = self.preferred_nodes[0][1]
            add(found, of_expressions(wish.get("matchExpressions") or ()))
        return found

    def intolerable(self, taints: Sequence[Object]) -> Object | None:
        """Return the first taint that keeps the pod away."""
        for taint in taints:
            if self.tolerates_soft_taints and taint["effect"] == "PreferNoSchedule":
                continue
            if not is_tolerated(taint, self.pod.shape.tolerations):
                return taint
        return None


def wishes_of(pod: PodRecord, *, respect: bool) -> Iterator[PodPreferences]:
    """Yield what a pod wants, then what it would settle for."""
    needs = pod.shape.needs
    soft = sorted(needs.preferred_pods, key=lambda term: -abs(term.weight))
    wish = PodPreferences(
        pod,
        pod.shape.node_affinity,
        tuple(sorted(needs.preferred_nodes, key=lambda entry: -entry[0])) if respect else (),
        needs.affinity,
        needs.anti_affinity,
        tuple(term for term in soft if term.weight > 0) if respect else (),
        tuple(term for term in soft if term.weight < 0) if respect else (),
        needs.hard_spread,
        needs.soft_spread if respect else (),
    )
    while True:
        yield wish
        less = _relaxed(wish)
        if less is None:
            return
        wish = less


def _relaxed(wish: PodPreferences) -> PodPreferences | None:
    if len(wish.terms) > 1:
        return replace(wish, terms=wish.terms[1:])
    for name in ("soft_affinity", "soft_anti_affinity", "preferred_nodes", "soft_spread"):
        held = getattr(wish, name)
        if held:
            return replace(wish, **{name: held[1:]})
    if not wish.tolerates_soft_taints:
        return replace(wish, tolerates_soft_taints=True)
    return None
