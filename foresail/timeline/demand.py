"""What made it necessary: use that rose before an autoscaler acted, or work that arrived."""

from __future__ import annotations

from foresail.timeline.gathered import Gathered, Told, of_kind
from foresail.timeline.incident import DamageKind, Found, Happening, Lane
from foresail.timeline.onset import rise_before
from schemas.reaction import ReactionKind

ARRIVAL_SECONDS = 60.0
"""Work that arrived so long before the first wait, or later, is what waits."""


def demand_of(
    gathered: Gathered, found: Found, nodes: frozenset[str], since_seconds: float
) -> list[Happening]:
    """Return the rise of demand that came before the damage, if there was one."""
    short = [one for one in found.damages if one.kind is DamageKind.SHORT]
    if short:
        return _use(gathered, nodes, short[0].begin_seconds, since_seconds)
    if all(one.kind is DamageKind.WAITING for one in found.damages):
        return _arrivals(gathered.told, found)
    return []


def _use(gathered: Gathered, nodes: frozenset[str], until: float, since: float) -> list[Happening]:
    rise = rise_before(gathered.use_of(nodes), until, until - since)
    if rise is None:
        return []
    text = (
        f"measured CPU use of {', '.join(sorted(nodes))} rises from {rise.floor:.2f} to "
        f"{rise.peak:.2f} cores, seen {rise.seen_seconds - rise.time_seconds:g} s later"
    )
    return [
        Happening(rise.time_seconds, Lane.DEMAND, "use_rise", text, seq=0, cycle=0, group="use")
    ]


def _arrivals(told: list[Told], found: Found) -> list[Happening]:
    """Return scale-ups of the workloads that wait, from shortly before the first wait on."""
    begin = found.begin_seconds - ARRIVAL_SECONDS
    workloads = set(found.workloads)
    arrived = [
        one
        for one in of_kind(told, ReactionKind.SCALE_UP)
        if one.item.workload in workloads and begin <= one.item.time_seconds <= found.begin_seconds
    ]
    pods = sum(round((one.item.after or 0) - (one.item.before or 0)) for one in arrived)
    return [
        Happening(
            time_seconds=one.item.time_seconds,
            lane=Lane.DEMAND,
            kind=str(one.item.kind),
            text=f"{{of}} want {pods} more pods",
            seq=one.seq,
            cycle=one.cycle,
            workload=one.item.workload,
            group="arrivals",
        )
        for one in arrived
    ]
