"""From damage to incidents: what overlaps in time and shares a place is one incident.

Two damages are joined when not more than 60 s lie between them and they share a node, a workload
or the class of reason for which pods wait; a node that is down shares every workload that ran on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from projections.incidents.damage import CLASS
from projections.incidents.incident import Damage, DamageGroup, DamageKind, IncidentKind

JOIN_SECONDS = 60.0
BURST_PODS = 10
BURST_SECONDS = 120.0


def group_damages(damages: Sequence[Damage], last_seconds: float) -> list[DamageGroup]:
    """Return damages joined into incidents, oldest first.

    Args:
        damages: oldest first.
        last_seconds: the newest cluster time, where what goes on still ends for now.
    """
    parents = list(range(len(damages)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    newest: dict[str, tuple[int, float]] = {}
    for number, damage in enumerate(damages):
        end = last_seconds if damage.end_seconds is None else damage.end_seconds
        for place in sorted(damage.places):
            before = newest.get(place)
            if before is not None and damage.begin_seconds <= before[1] + JOIN_SECONDS:
                parents[root(number)] = root(before[0])
                newest[place] = (number, max(end, before[1]))
            else:
                newest[place] = (number, end)
    groups: dict[int, DamageGroup] = {}
    for number, damage in enumerate(damages):
        group = groups.setdefault(root(number), DamageGroup([]))
        group.damages.append(damage)
        group.places |= damage.places
    return sorted(groups.values(), key=lambda group: (group.begin_seconds, sorted(group.places)))


def kind_of(group: DamageGroup) -> IncidentKind:
    """Return what an incident is called after: the first of node, autoscaler, waits, failures."""
    kinds = {damage.kind for damage in group.damages}
    if DamageKind.NODE_DOWN in kinds:
        return IncidentKind.NODE_FAILURE
    if DamageKind.SHORT in kinds:
        return IncidentKind.HPA_LAG
    if DamageKind.WAITING not in kinds:
        return IncidentKind.FAILING_PODS
    begins = sorted(
        damage.begin_seconds for damage in group.damages if damage.kind is DamageKind.WAITING
    )
    burst = any(
        later - begin <= BURST_SECONDS
        for begin, later in zip(begins, begins[BURST_PODS - 1 :], strict=False)
    )
    return IncidentKind.UNSCHEDULABLE_BURST if burst else IncidentKind.PODS_WAITING


def pending_class_of(damage: Damage) -> str:
    """Return the class of reason of a wait; empty for other damage."""
    return next(
        (place.removeprefix(CLASS) for place in damage.places if place.startswith(CLASS)), ""
    )
