"""What Kubernetes did about an incident: its reactions, sorted by who reacted."""

from __future__ import annotations

from collections.abc import Iterator

from foresail.timeline.damage import CLASS, DELIBERATE
from foresail.timeline.gathered import Gathered, Told, happening
from foresail.timeline.incident import DamageKind, Found, Happening, Lane
from schemas.reaction import ReactionKind
from schemas.reasons import PendingClass

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
"""Who does what; a rise of requests follows from the rest and is not told again."""
SETTLE_SECONDS = 30.0
"""What follows within so long after the last damage still belongs to it."""


def reactions_of(
    gathered: Gathered, found: Found, begin: float, until: float
) -> Iterator[Happening]:
    """Yield what Kubernetes did at the incident's places, from its beginning until it was over."""
    workloads, nodes = set(found.workloads), set(found.nodes)
    waited = {one.subject for one in found.damages if one.kind is DamageKind.WAITING}
    short = any(one.kind is DamageKind.SHORT for one in found.damages)
    arrival = all(one.kind is DamageKind.WAITING for one in found.damages)
    for told in gathered.told:
        item = told.item
        lane = LANES.get(item.kind)
        if lane is None or not begin <= item.time_seconds <= until + SETTLE_SECONDS:
            continue
        about = item.workload in workloads or item.object in nodes or item.object in waited
        requested = short and item.kind in (ReactionKind.NODE_REQUESTED, ReactionKind.NODE_READY)
        if arrival and item.kind is ReactionKind.SCALE_UP:
            continue  # it is the demand itself
        if about or requested:
            yield from _told(told, lane)


def _told(told: Told, lane: Lane) -> Iterator[Happening]:
    item = told.item
    kind = item.kind
    match kind:
        case ReactionKind.POD_PENDING:
            yield from _pending(told, lane)
        case ReactionKind.POD_SCHEDULED:
            yield happening(told, lane, "a node for {n} pods of {of}", group="scheduled")
        case ReactionKind.POD_READY:
            yield happening(told, lane, "{n} pods ready: {of}", group="ready")
        case ReactionKind.POD_FAILED | ReactionKind.POD_RESTARTED:
            word = "failed" if kind is ReactionKind.POD_FAILED else "restarted"
            yield happening(told, lane, f"{{n}} pods {word}: {{of}}", group=kind, damage=True)
        case ReactionKind.HPA_CHANGE | ReactionKind.SCALE_UP | ReactionKind.SCALE_DOWN:
            yield happening(told, lane, _counts(told), group=f"{told.seq} {item.object}")
        case _:
            down = kind in (ReactionKind.NODE_NOT_READY, ReactionKind.NODE_GONE)
            yield happening(told, lane, item.text, group=f"{kind} {item.object}", damage=down)


def _counts(told: Told) -> str:
    item = told.item
    what = "sets" if item.kind is ReactionKind.HPA_CHANGE else "wants"
    after, before = round(item.after or 0), round(item.before or 0)
    return f"{item.object} {what} {after} pods instead of {before}"


def _pending(told: Told, lane: Lane) -> Iterator[Happening]:
    kind = told.item.pending_class
    if kind is None or kind in DELIBERATE or kind is PendingClass.NOT_YET_TRIED:
        return
    text = f"no node for {{n}} pods of {{of}}: {kind}"
    yield happening(told, lane, text, group=f"{CLASS}{kind}", damage=True)
