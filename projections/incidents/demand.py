"""Causes: use that rose before an autoscaler acted, or work that arrived."""

from __future__ import annotations

from projections.figures import duration, number
from projections.incidents.history import ClusterHistory, LoggedReaction, of_kind
from projections.incidents.incident import DamageGroup, DamageKind, Lane, Occurrence
from projections.incidents.onset import rise_before
from schemas.reaction import ReactionKind

ARRIVAL_SECONDS = 60.0
"""Work that arrived so long before the first wait, or later, is what waits."""


def demand_rise(
    history: ClusterHistory, group: DamageGroup, nodes: frozenset[str], since_seconds: float
) -> list[Occurrence]:
    """Return the rise of demand that came before the damage, if there was one."""
    short = [damage for damage in group.damages if damage.kind is DamageKind.SHORT]
    if short:
        return _use(history, nodes, short[0].begin_seconds, since_seconds)
    if all(damage.kind is DamageKind.WAITING for damage in group.damages):
        return _arrivals(history.reactions, group)
    return []


def _use(
    history: ClusterHistory, nodes: frozenset[str], until: float, since: float
) -> list[Occurrence]:
    rise = rise_before(history.usage_of(nodes), until, until - since)
    if rise is None:
        return []
    text = (
        f"measured CPU use of {', '.join(sorted(nodes))} rises from {number(rise.floor)} to "
        f"{number(rise.peak)} cores, seen {duration(rise.seen_seconds - rise.time_seconds)} later"
    )
    return [
        Occurrence(rise.time_seconds, Lane.DEMAND, "use_rise", text, seq=0, cycle=0, group="use")
    ]


def _arrivals(reactions: list[LoggedReaction], group: DamageGroup) -> list[Occurrence]:
    """Return scale-ups of the workloads that wait, from shortly before the first wait on."""
    begin = group.begin_seconds - ARRIVAL_SECONDS
    workloads = set(group.workloads)
    arrivals = [
        reaction
        for reaction in of_kind(reactions, ReactionKind.SCALE_UP)
        if reaction.item.workload in workloads
        and begin <= reaction.item.time_seconds <= group.begin_seconds
    ]
    pods = sum(
        round((reaction.item.after or 0) - (reaction.item.before or 0)) for reaction in arrivals
    )
    return [
        Occurrence(
            time_seconds=reaction.item.time_seconds,
            lane=Lane.DEMAND,
            kind=str(reaction.item.kind),
            text=f"{{of}} want {pods} more pods",
            seq=reaction.seq,
            cycle=reaction.cycle,
            workload=reaction.item.workload,
            group="arrivals",
        )
        for reaction in arrivals
    ]
