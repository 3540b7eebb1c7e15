"""Which zone a pod may go to when it spreads, or follows or avoids other pods, by zone.

A machine that is not chosen yet can still be in several zones; the zone with the fewest pods is taken
(pkg/controllers/provisioning/scheduling/topologygroup.go). Machines are without end, so a constraint on
hosts compares with an empty one.
"""

from __future__ import annotations

from twin.needs import PodTerm, SpreadConstraint
from twin.provisioners.karpenter.names import HOSTNAME, ZONE
from twin.provisioners.karpenter.preferences import PodPreferences
from twin.provisioners.karpenter.requirements import Requirements
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.scheduling.terms import selector_with_keys
from twin.selectors import matches


def narrow_zones(
    snapshot: ClusterSnapshot,
    wish: PodPreferences,
    place: NodeInfo,
    requirements: Requirements,
    known: list[str],
) -> str | None:
    """Return the zone that the machine has to be in, empty when nothing asks for one, None when none
    will do.
    """
    fixed = place.domain(ZONE)
    allowed = [fixed] if fixed is not None else _allowed(requirements, known)
    asked = False
    for constraint in (*wish.spread, *wish.soft_spread):
        if constraint.topology_key == HOSTNAME:
            if not _host_has_room(wish, place, constraint):
                return None
        elif constraint.topology_key == ZONE:
            asked = True
            allowed = _by_spread(snapshot, wish, constraint, allowed, known)
        elif not snapshot.spreads(wish.pod, place, (constraint,)):
            return None
    for term in (*wish.affinity, *wish.soft_affinity):
        if term.topology_key == ZONE:
            asked = True
            taken = _zones_with(snapshot, wish, term)
            allowed = [zone for zone in allowed if zone in taken] if taken else allowed
    for term in (*wish.anti_affinity, *wish.soft_anti_affinity):
        if term.topology_key == ZONE:
            asked = True
            taken = _zones_with(snapshot, wish, term)
            allowed = [zone for zone in allowed if zone not in taken]
    if not asked:
        return ""
    return allowed[0] if allowed else None


def _allowed(requirements: Requirements, known: list[str]) -> list[str]:
    entry = requirements.get(ZONE)
    return [zone for zone in known if entry is None or entry.has(zone)]


def _by_spread(
    snapshot: ClusterSnapshot,
    wish: PodPreferences,
    constraint: SpreadConstraint,
    allowed: list[str],
    known: list[str],
) -> list[str]:
    """Return the allowed zones within the skew, those with the fewest pods first."""
    pod = wish.pod
    counts = snapshot.spread_counts(pod, constraint)
    own = wish.requirements(strict=True).get(ZONE)
    for zone in known:
        if own is None or own.has(zone):
            counts.setdefault(zone, 0)
    selector = selector_with_keys(constraint.selector, pod.labels, constraint.label_keys)
    itself = int(matches(selector, pod.labels))
    least = min(counts.values(), default=0) if len(counts) >= constraint.min_domains else 0
    fine = [zone for zone in allowed if counts[zone] + itself - least <= constraint.max_skew]
    return sorted(fine, key=lambda zone: (counts[zone], zone))


def _host_has_room(wish: PodPreferences, place: NodeInfo, constraint: SpreadConstraint) -> bool:
    pod = wish.pod
    selector = selector_with_keys(constraint.selector, pod.labels, constraint.label_keys)
    itself = int(matches(selector, pod.labels))
    here = [
        other
        for other in place.pods.values()
        if other.namespace == pod.namespace and matches(selector, other.labels)
    ]
    return len(here) + itself <= constraint.max_skew


def _zones_with(snapshot: ClusterSnapshot, wish: PodPreferences, term: PodTerm) -> dict[str, None]:
    found: dict[str, None] = {}
    for place in snapshot.places.values():
        zone = place.domain(ZONE)
        if zone is not None and zone not in found and snapshot.term_hits(wish.pod, term, place):
            found[zone] = None
    return found
