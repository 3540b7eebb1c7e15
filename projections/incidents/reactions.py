"""Reactions of Kubernetes to an incident: its reactions, sorted by who reacted."""

from __future__ import annotations

from collections.abc import Iterator

from projections.incidents.damage import CLASS, DELIBERATE
from projections.incidents.history import ClusterHistory, LoggedReaction, occurrence
from projections.incidents.incident import DamageGroup, DamageKind, Lane, Occurrence
from schemas.reaction import ReactionKind
from schemas.reasons import PendingClass
from schemas.wording import count_text

LANES = {
    ReactionKind.HPA_CHANGE: Lane.AUTOSCALER,
    ReactionKind.NODE_REQUESTED: Lane.AUTOSCALER,
    ReactionKind.SCALE_UP: Lane.CONTROLLER,
    ReactionKind.SCALE_DOWN: Lane.CONTROLLER,
    ReactionKind.POD_PENDING: Lane.SCHEDULER,
    ReactionKind.POD_SCHEDULED: Lane.SCHEDULER,
    ReactionKind.POD_READY: Lane.KUBELET,
    ReactionKind.POD_FAILED: Lane.KUBELET,
    ReactionKind.POD_RESTARTED: Lane.KUBELET,
    ReactionKind.NODE_READY: Lane.NODE,
    ReactionKind.NODE_NOT_READY: Lane.NODE,
    ReactionKind.NODE_GONE: Lane.NODE,
}
"""Who does what; a rise of requests follows from the rest and is not repeated."""
SETTLE_SECONDS = 30.0
"""What follows within so long after the last damage still belongs to it."""


def reactions_of(
    history: ClusterHistory, group: DamageGroup, begin: float, until: float
) -> Iterator[Occurrence]:
    """Yield what Kubernetes did at the incident's places, from its beginning until it was over."""
    workloads, nodes = set(group.workloads), set(group.nodes)
    waited = {damage.subject for damage in group.damages if damage.kind is DamageKind.WAITING}
    short = any(damage.kind is DamageKind.SHORT for damage in group.damages)
    arrival = all(damage.kind is DamageKind.WAITING for damage in group.damages)
    for reaction in history.reactions:
        item = reaction.item
        lane = LANES.get(item.kind)
        if lane is None or not begin <= item.time_seconds <= until + SETTLE_SECONDS:
            continue
        about = item.workload in workloads or item.object in nodes or item.object in waited
        requested = short and item.kind in (ReactionKind.NODE_REQUESTED, ReactionKind.NODE_READY)
        if arrival and item.kind is ReactionKind.SCALE_UP:
            continue  # it is the demand itself
        if about or requested:
            yield from _occurrences(reaction, lane)


def _occurrences(reaction: LoggedReaction, lane: Lane) -> Iterator[Occurrence]:
    item = reaction.item
    kind = item.kind
    match kind:
        case ReactionKind.POD_PENDING:
            yield from _pending(reaction, lane)
        case ReactionKind.POD_SCHEDULED:
            yield occurrence(reaction, lane, "a node for {n} pods of {of}", group="scheduled")
        case ReactionKind.POD_READY:
            yield occurrence(reaction, lane, "{n} pods ready: {of}", group="ready")
        case ReactionKind.POD_FAILED | ReactionKind.POD_RESTARTED:
            word = "failed" if kind is ReactionKind.POD_FAILED else "restarted"
            yield occurrence(reaction, lane, f"{{n}} pods {word}: {{of}}", group=kind, damage=True)
        case ReactionKind.HPA_CHANGE | ReactionKind.SCALE_UP | ReactionKind.SCALE_DOWN:
            yield occurrence(
                reaction, lane, _counts(reaction), group=f"{reaction.seq} {item.object}"
            )
        case _:
            down = kind in (ReactionKind.NODE_NOT_READY, ReactionKind.NODE_GONE)
            yield occurrence(reaction, lane, item.text, group=f"{kind} {item.object}", damage=down)


def _counts(reaction: LoggedReaction) -> str:
    item = reaction.item
    what = "sets" if item.kind is ReactionKind.HPA_CHANGE else "wants"
    after, before = round(item.after or 0), round(item.before or 0)
    return f"{item.object} {what} {count_text(after, 'pod')} instead of {before}"


def _pending(reaction: LoggedReaction, lane: Lane) -> Iterator[Occurrence]:
    kind = reaction.item.pending_class
    if kind is None or kind in DELIBERATE or kind is PendingClass.NOT_YET_TRIED:
        return
    text = f"no node for {{n}} pods of {{of}}: {kind}"
    yield occurrence(reaction, lane, text, group=f"{CLASS}{kind}", damage=True)
