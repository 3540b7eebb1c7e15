"""From damage to incidents: what overlaps in time and shares a place is one incident. Pure.

Two damages are joined when not more than 60 s lie between them and they share a node, a workload
or the class of reason for which pods wait; a node that is down shares every workload that ran on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from foresail.timeline.damage import CLASS
from foresail.timeline.incident import Damage, DamageKind, Found, IncidentKind

JOIN_SECONDS = 60.0
BURST_PODS = 10
BURST_SECONDS = 120.0


def found_in(damages: Sequence[Damage], last_seconds: float) -> list[Found]:
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
    groups: dict[int, Found] = {}
    for number, damage in enumerate(damages):
        found = groups.setdefault(root(number), Found([]))
        found.damages.append(damage)
        found.places |= damage.places
    return sorted(groups.values(), key=lambda one: (one.begin_seconds, sorted(one.places)))


def kind_of(found: Found) -> IncidentKind:
    """Return what an incident is called after: the first of node, autoscaler, waits, failures."""
    kinds = {one.kind for one in found.damages}
    if DamageKind.NODE_DOWN in kinds:
        return IncidentKind.NODE_FAILURE
    if DamageKind.SHORT in kinds:
        return IncidentKind.HPA_LAG
    if DamageKind.WAITING not in kinds:
        return IncidentKind.FAILING_PODS
    begins = sorted(one.begin_seconds for one in found.damages if one.kind is DamageKind.WAITING)
    burst = any(
        later - begin <= BURST_SECONDS
        for begin, later in zip(begins, begins[BURST_PODS - 1 :], strict=False)
    )
    return IncidentKind.UNSCHEDULABLE_BURST if burst else IncidentKind.PODS_WAITING


def classes_of(damage: Damage) -> str:
    """Return the class of reason of a wait; empty for other damage."""
    return next((one.removeprefix(CLASS) for one in damage.places if one.startswith(CLASS)), "")
