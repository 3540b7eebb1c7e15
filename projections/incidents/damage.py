"""The damage that can be seen in a log, by stated rules (docs/timeline.md).

1. **node_down**: from `node_not_ready` (or `node_gone`, if pods ran on it) until `node_ready`.
2. **waiting**: a pod that waited for a node for 30 s or more, from its creation until it was scheduled
   or was gone. Pods held by a scheduling gate do not count.
3. **short**: from the moment an autoscaler raises its replicas until that many pods became ready; not where it follows
   our own raise of its least number.
4. **failing**: three or more pods of one workload or node that failed or restarted within 120 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from projections.incidents.history import ClusterHistory, LoggedReaction, of_kind
from projections.incidents.incident import Damage, DamageKind
from schemas.actions import ReplicateAction
from schemas.outcome import ExecutionPhase
from schemas.reaction import ReactionItem, ReactionKind
from schemas.reasons import PendingClass

WAIT_SECONDS = 30.0
"""A pod that is scheduled sooner did not wait."""
FAILURES = 3
FAILURE_SECONDS = 120.0
FOLLOWED_SECONDS = 60.0
"""Within which an autoscaler has followed a new least number: it looks every 15 s."""
CLASS = "class:"
"""How places of waits begin."""
DELIBERATE = frozenset({PendingClass.GATED})
UNTRIED = PendingClass.NOT_YET_TRIED


@dataclass
class Wait:
    """One pod that waits for a node."""

    pod: str
    workload: str
    begin_seconds: float
    classes: list[tuple[float, PendingClass]] = field(default_factory=list)
    end_seconds: float | None = None
    scheduled: bool = False

    def pending_class(self, last_seconds: float) -> PendingClass:
        """Return the class that held longest, leaving out the time before the first try."""
        end = last_seconds if self.end_seconds is None else self.end_seconds
        starts = [at for at, _ in self.classes]
        lasted: dict[PendingClass, float] = {}
        for (at, kind), until in zip(self.classes, [*starts[1:], end], strict=True):
            if kind is not UNTRIED:
                lasted[kind] = lasted.get(kind, 0.0) + until - at
        return max(lasted, key=lambda kind: (lasted[kind], kind), default=UNTRIED)

    def seconds(self, last_seconds: float) -> float:
        """Return how long it has waited."""
        return (last_seconds if self.end_seconds is None else self.end_seconds) - self.begin_seconds


def damages(history: ClusterHistory) -> list[Damage]:
    """Return all damage, oldest first."""
    damage = [
        *_nodes_down(history),
        *_waiting(history),
        *_short(history),
        *_failing(history.reactions),
    ]
    return sorted(damage, key=lambda item: (item.begin_seconds, item.kind, item.subject))


def waits(history: ClusterHistory) -> list[Wait]:
    """Return every pod that waited for a node, however shortly."""
    open_: dict[str, Wait] = {}
    done: list[Wait] = []
    for reaction in of_kind(
        history.reactions,
        ReactionKind.POD_PENDING,
        ReactionKind.POD_SCHEDULED,
        ReactionKind.POD_FAILED,
    ):
        item = reaction.item
        if item.kind is ReactionKind.POD_PENDING and item.pending_class is not None:
            begin = item.time_seconds - (item.lag_seconds or 0.0)
            wait = open_.setdefault(item.object, Wait(item.object, item.workload, begin))
            wait.classes.append((item.time_seconds, item.pending_class))
        elif item.object in open_:
            wait = open_.pop(item.object)
            wait.end_seconds = item.time_seconds
            wait.scheduled = item.kind is ReactionKind.POD_SCHEDULED
            done.append(wait)
    _end_waits_of_deleted_pods(list(open_.values()), history)
    return [*done, *open_.values()]


def _end_waits_of_deleted_pods(open_: list[Wait], history: ClusterHistory) -> None:
    """End waits of pods that were deleted while they waited: the first look without them."""
    for wait in open_:
        begin = wait.classes[0][0]
        for at, names in history.waiting_at:
            if at > begin and wait.pod not in names:
                wait.end_seconds = at
                break


def _waiting(history: ClusterHistory) -> Iterator[Damage]:
    for wait in waits(history):
        kind = wait.pending_class(history.last_seconds)
        if wait.seconds(history.last_seconds) < WAIT_SECONDS or kind in DELIBERATE:
            continue
        places = {f"{CLASS}{kind}", wait.workload} - {""}
        yield Damage(
            DamageKind.WAITING, wait.begin_seconds, wait.end_seconds, frozenset(places), wait.pod
        )


def _nodes_down(history: ClusterHistory) -> Iterator[Damage]:
    down: dict[str, float] = {}
    kinds = (ReactionKind.NODE_NOT_READY, ReactionKind.NODE_GONE, ReactionKind.NODE_READY)
    for reaction in of_kind(history.reactions, *kinds):
        item = reaction.item
        gone = item.kind is ReactionKind.NODE_GONE
        gone_empty = gone and not history.ran_by(item.object, item.time_seconds)
        if item.kind is ReactionKind.NODE_READY:
            if item.object in down:
                yield _node_down(history, item.object, down.pop(item.object), item.time_seconds)
        elif not gone_empty:
            down.setdefault(item.object, item.time_seconds)
    for name, begin in down.items():
        yield _node_down(history, name, begin, None)


def _node_down(history: ClusterHistory, name: str, begin: float, end: float | None) -> Damage:
    places = frozenset({name, *history.ran_by(name, begin)})
    return Damage(DamageKind.NODE_DOWN, begin, end, places, name)


def _raises(history: ClusterHistory) -> dict[str, list[tuple[float, int]]]:
    """Return by workload when we raised its replicas, and to how many."""
    raises: dict[str, list[tuple[float, int]]] = {}
    for event in history.executions:
        data = event.data
        finished = data.phase is ExecutionPhase.FINISHED and data.succeeded
        if isinstance(data.action, ReplicateAction) and finished:
            done = (data.cluster_time_seconds, data.action.replicas or 0)
            raises.setdefault(data.action.target.name, []).append(done)
    return raises


def _follows(item: ReactionItem, raises: list[tuple[float, int]]) -> bool:
    """Say whether an autoscaler only followed a number of replicas that we had asked for."""
    return any(
        (item.after or 0.0) <= replicas and 0.0 <= item.time_seconds - at <= FOLLOWED_SECONDS
        for at, replicas in raises
    )


def _short(history: ClusterHistory) -> Iterator[Damage]:
    reactions, raises = history.reactions, _raises(history)
    changes = list(of_kind(reactions, ReactionKind.HPA_CHANGE))
    for place, change in enumerate(changes):
        item = change.item
        added = round((item.after or 0.0) - (item.before or 0.0))
        if added <= 0 or _follows(item, raises.get(item.workload, [])):
            continue
        later = [after.item for after in changes[place + 1 :] if after.item.object == item.object]
        until = later[0].time_seconds if later else float("inf")
        ready = sorted(
            pod.item.time_seconds
            for pod in of_kind(reactions, ReactionKind.POD_READY)
            if pod.item.workload == item.workload and item.time_seconds <= pod.item.time_seconds
        )
        end = ready[added - 1] if len(ready) >= added else None
        if later and (end is None or end > until):
            end = until
        places = frozenset({item.workload})
        yield Damage(DamageKind.SHORT, item.time_seconds, end, places, item.workload)


def _failing(reactions: list[LoggedReaction]) -> Iterator[Damage]:
    by_place: dict[str, list[LoggedReaction]] = {}
    for failure in of_kind(reactions, ReactionKind.POD_FAILED, ReactionKind.POD_RESTARTED):
        for place in {failure.item.workload, failure.item.node} - {""}:
            by_place.setdefault(place, []).append(failure)
    for place in sorted(by_place):
        for run in _runs(by_place[place]):
            if len(run) >= FAILURES:
                first, last = run[0].item.time_seconds, run[-1].item.time_seconds
                yield Damage(DamageKind.FAILING, first, last, frozenset({place}), place)


def _runs(failures: list[LoggedReaction]) -> list[list[LoggedReaction]]:
    """Split failures where more than `FAILURE_SECONDS` lie between two of them."""
    runs: list[list[LoggedReaction]] = []
    for failure in failures:
        at = failure.item.time_seconds
        if runs and at - runs[-1][-1].item.time_seconds <= FAILURE_SECONDS:
            runs[-1].append(failure)
        else:
            runs.append([failure])
    return runs
