"""Incidents of a log without end: those that are over are packed, and what they were made of is held no more."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from projections.incidents.chain import LOOK_BACK_SECONDS, incidents
from projections.incidents.compact import kept_places
from projections.incidents.damage import waits
from projections.incidents.history import ClusterHistory, Crossing, LoggedReaction
from projections.incidents.incident import Incident, IncidentKind
from schemas.envelope import Event
from schemas.reaction import ReactionKind

MOST_REACTIONS = 1_000
"""After which, or after so many looks at the cluster, all but the newest half of so many is gone through."""
LASTING_SECONDS = 3_600.0
"""An incident that goes on for longer loses points of its curves."""
MOST_OVER = 500
"""Incidents that are over and are held, the newest ones."""
CAPACITY = (ReactionKind.NODE_REQUESTED, ReactionKind.NODE_READY)


@dataclass
class IncidentBook:
    """Incidents up to the newest event, in bounded memory: the same as of the whole log, but for what goes on for
    longer than `LASTING_SECONDS`. Its curves then lose every second point of their past each time, and where it comes
    to another place, what happened there before is no step of it.
    """

    history: ClusterHistory = field(default_factory=ClusterHistory)
    """What the incidents since `_over_seconds` are made of."""
    forgotten: int = 0
    """Incidents that are not held any more, the oldest ones."""
    most: int = MOST_REACTIONS
    _over: list[bytes] = field(default_factory=list)
    """Packed, oldest first."""
    _over_seconds: float = -math.inf
    """Cluster time before which whatever ended is among them."""
    _next: int = 0
    """Reactions, or looks, at which history is gone through again."""

    def add(self, event: Event[Any]) -> None:
        """Take one event of the log into account."""
        self.history.add(event)
        size = max(len(self.history.reactions), len(self.history.queue))
        if size > max(self.most, self._next):
            self._settle()
            size = max(len(self.history.reactions), len(self.history.queue))
            self._next = 2 * size

    def copy(self) -> IncidentBook:
        """Return a copy of its own, which events to come do not change."""
        return replace(self, history=self.history.copy(), _over=self._over[:])

    def incidents(self) -> list[Incident]:
        """Return every incident that is held, oldest first, numbered from 1 with those that are forgotten."""
        over = [Incident.model_validate_json(zlib.decompress(one)) for one in self._over]
        found = sorted([*over, *self._live()], key=lambda one: one.damage_seconds)
        last = self.history.last_seconds
        return [
            one.model_copy(update={"number": number, "last_seconds": last})
            for number, one in enumerate(found, start=self.forgotten + 1)
        ]

    def _live(self) -> list[Incident]:
        """Return what is not over, or was not when history was last gone through."""
        return [one for one in incidents(self.history) if _end(one) >= self._over_seconds]

    def _settle(self) -> None:
        """Pack what ended in the older part of history, and hold only what the rest is made of."""
        times = [one.item.time_seconds for one in self.history.reactions]
        looks = [at for at, _ in self.history.queue]
        longer = sorted(times) if len(times) > len(looks) else looks
        until = min(longer[-self.most // 2], self.history.last_seconds - LOOK_BACK_SECONDS)
        if until <= self._over_seconds:
            return
        live = self._live()
        over = sorted(
            (one for one in live if _end(one) < until), key=lambda one: one.damage_seconds
        )
        self._over += [zlib.compress(one.model_dump_json().encode()) for one in over]
        self.forgotten += max(0, len(self._over) - MOST_OVER)
        del self._over[:-MOST_OVER]
        self._over_seconds = until
        forget(self.history, until, [one for one in live if _begin(one) < until <= _end(one)])


def _begin(one: Incident) -> float:
    return min([one.begin_seconds, one.damage_seconds, *(step.time_seconds for step in one.steps)])


def _end(one: Incident) -> float:
    return math.inf if one.end_seconds is None else one.end_seconds


def forget(history: ClusterHistory, until_seconds: float, lasting: Sequence[Incident]) -> None:
    """Hold no more what no incident needs that ends after a time.

    Args:
        history: is changed.
        until_seconds: cluster time; what an incident looks back to from there is held.
        lasting: incidents that began before that time and end after it, or have not ended.
    """
    recent = until_seconds - LOOK_BACK_SECONDS
    begins = [_begin(one) - LOOK_BACK_SECONDS for one in lasting]
    begin = min([recent, *begins])
    whole = min([recent, *(one for one in begins if one >= recent - LASTING_SECONDS)])
    _forget_reactions(history, whole, lasting)
    anchors = [whole, *(one.damage_seconds for one in lasting)]
    history.crossings = _crossings_around(history.crossings, anchors, whole)
    history.queue = [
        history.queue[place] for place in kept_places([at for at, _ in history.queue], begin, whole)
    ]
    usage = history.usage
    history.usage = [
        usage[place] for place in kept_places([one.time_seconds for one in usage], begin, whole)
    ]
    history.waiting_at = _changes(history.waiting_at, begin, whole)
    for samples in history.risks.values():
        samples.forget(begin, whole)
    history.differences.forget(begin, whole)
    history.executions = [
        one for one in history.executions if one.data.cluster_time_seconds >= begin
    ]
    history.verifications = [
        one for one in history.verifications if one.data.cluster_time_seconds >= begin
    ]
    settled = history.foresight.settled
    kept = tuple(one for one in settled if one.rise.over_seconds >= until_seconds)
    history.foresight = replace(history.foresight, settled=kept)


def _forget_reactions(
    history: ClusterHistory, whole_seconds: float, lasting: Sequence[Incident]
) -> None:
    waiting = {wait.pod for wait in waits(history) if wait.end_seconds is None}
    about = [(one, _begin(one) - LOOK_BACK_SECONDS, _places(one)) for one in lasting]
    kept: list[LoggedReaction] = []
    for reaction in history.reactions:
        item = reaction.item
        if (
            item.time_seconds >= whole_seconds
            or (item.kind is ReactionKind.POD_PENDING and item.object in waiting)
            or any(
                item.time_seconds >= since and _is_of(reaction, one, places)
                for one, since, places in about
            )
        ):
            kept.append(reaction)
        elif item.node and item.workload:
            since = history.ran_before.setdefault(item.workload, {})
            since[item.node] = min(since.get(item.node, math.inf), item.time_seconds)
    history.reactions = kept


def _places(one: Incident) -> frozenset[str]:
    return frozenset({*one.nodes, *one.workloads, *(span.subject for span in one.spans)})


def _is_of(reaction: LoggedReaction, one: Incident, places: frozenset[str]) -> bool:
    """Say whether an incident that goes on may be made of a reaction."""
    item = reaction.item
    capacity = one.kind is IncidentKind.HPA_LAG and item.kind in CAPACITY
    return capacity or not places.isdisjoint((item.workload, item.object, item.node))


def _crossings_around(
    crossings: Iterable[Crossing], anchors: Sequence[float], whole_seconds: float
) -> list[Crossing]:
    """Return all crossings from a time on, and of each node those that stood at some times or came first after them."""
    by_key: dict[tuple[str, str], list[Crossing]] = {}
    for one in crossings:
        by_key.setdefault((one.model_id, one.node), []).append(one)
    kept: set[int] = set()
    for mine in by_key.values():
        kept |= {id(one) for one in mine if one.time_seconds >= whole_seconds}
        for at in anchors:
            kept |= {id(one) for one in [one for one in mine if one.time_seconds <= at][-1:]}
            later = (one for one in mine if one.above and one.time_seconds > at)
            kept |= {id(one) for one in [next(later, None)] if one is not None}
    return [one for one in crossings if id(one) in kept]


def _changes(
    waiting_at: Sequence[tuple[float, frozenset[str]]], begin_seconds: float, whole_seconds: float
) -> list[tuple[float, frozenset[str]]]:
    """Return the looks from a second time on, and from a first one on those at which others waited than before."""
    kept: list[tuple[float, frozenset[str]]] = []
    for at, names in waiting_at:
        changed = not kept or kept[-1][1] != names
        if at >= whole_seconds or (at >= begin_seconds and changed):
            kept.append((at, names))
    return kept
