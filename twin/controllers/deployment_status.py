"""The conditions of a Deployment: Available, Progressing with its deadline, ReplicaFailure.

Sources: kubernetes/kubernetes pkg/controller/deployment/progress.go and
util/deployment_util.go. Guarantee: pure functions of the old status, the new counts and the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.controllers.conditions import find, remove_condition
from twin.records import Object
from twin.timestamps import rfc3339, unix

_NO_DEADLINE = 2**31 - 1  # upstream's MaxInt32: no deadline
TIMED_OUT = "ProgressDeadlineExceeded"
_AVAILABLE, _PAUSED = "NewReplicaSetAvailable", "DeploymentPaused"


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a status."""

    replicas: int
    updated: int
    ready: int
    available: int

    @classmethod
    def of(cls, status: Object) -> Counts:
        """Read a stored status."""
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        return cls(*(int(status.get(name, 0)) for name in names))


@dataclass(frozen=True, slots=True)
class ObservedSets:
    """State that one reconciliation saw."""

    name: str
    wanted: int
    least_available: int
    new_set: str  # name of the current ReplicaSet, empty without one
    event: str  # "created" or "found" or nothing
    counts: Counts
    paused: bool
    resized: bool
    deadline_seconds: int
    failure: Object | None
    now: float


def conditions(stored: Object, look: ObservedSets) -> list[Object]:
    """Return the new list of conditions."""
    known: list[Object] = list(stored.get("conditions") or [])
    endless = look.deadline_seconds == _NO_DEADLINE
    known = remove_condition(known, "Progressing") if endless else _begin(known, look)
    good = look.counts.available >= look.least_available
    reason = "MinimumReplicasAvailable" if good else "MinimumReplicasUnavailable"
    text = f"Deployment {'has' if good else 'does not have'} minimum availability."
    known = _set_condition(known, "Available", str(good), reason, text, look.now)
    if not (endless or look.paused or look.resized):
        known = _rollout(known, Counts.of(stored), look)
    if look.failure is None:
        return remove_condition(known, "ReplicaFailure")
    failure = look.failure
    return _set_condition(
        known, "ReplicaFailure", "True", failure["reason"], failure["message"], look.now
    )


def _begin(known: list[Object], look: ObservedSets) -> list[Object]:
    """Say that the Deployment was paused or resumed, and which ReplicaSet is its new one."""
    current = find(known, "Progressing")
    reason = "" if current is None else current["reason"]
    if reason != TIMED_OUT and look.paused != (reason == _PAUSED):
        if look.paused:
            return _set_condition(
                known, "Progressing", "Unknown", _PAUSED, "Deployment is paused", look.now
            )
        known = _set_condition(known, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed",
                     look.now)  # fmt: skip
    if look.event == "created":
        text = f'Created new replica set "{look.new_set}"'
        known = _set_condition(known, "Progressing", "True", "NewReplicaSetCreated", text, look.now)
    elif look.event == "found" and current is None:
        text = f'Found new replica set "{look.new_set}"'
        known = _set_condition(known, "Progressing", "True", "FoundNewReplicaSet", text, look.now)
    return known


def _rollout(known: list[Object], before: Counts, look: ObservedSets) -> list[Object]:
    counts, current = look.counts, find(known, "Progressing")
    if current and current["reason"] == _AVAILABLE and counts.replicas == counts.updated:
        return known
    if counts.updated == counts.replicas == counts.available == look.wanted:
        text = f'ReplicaSet "{look.new_set}" has successfully progressed.'
        return _set_condition(known, "Progressing", "True", _AVAILABLE, text, look.now)
    if _has_progressed(before, counts):
        text = f'ReplicaSet "{look.new_set}" is progressing.'
        fresh = _condition("Progressing", "True", "ReplicaSetUpdated", text, look.now)
        if current and current["status"] == "True":
            fresh["lastTransitionTime"] = current["lastTransitionTime"]
        return [*remove_condition(known, "Progressing"), fresh]
    if current and _is_late(current, look):
        text = f'ReplicaSet "{look.new_set}" has timed out progressing.'
        return _set_condition(known, "Progressing", "False", TIMED_OUT, text, look.now)
    return known


def _has_progressed(before: Counts, counts: Counts) -> bool:
    fewer_old = counts.replicas - counts.updated < before.replicas - before.updated
    return (
        counts.updated > before.updated
        or fewer_old
        or counts.ready > before.ready
        or counts.available > before.available
    )


def _is_late(current: Object, look: ObservedSets) -> bool:
    if current["reason"] in (_AVAILABLE, TIMED_OUT):
        return bool(current["reason"] == TIMED_OUT)
    return unix(current["lastUpdateTime"]) + look.deadline_seconds < look.now


def _condition(kind: str, status: str, reason: str, message: str, at: float) -> Object:
    now = rfc3339(at)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _set_condition(
    known: list[Object], kind: str, status: str, reason: str, message: str, at: float
) -> list[Object]:
    """Return the list with a condition set, at its end; same status and reason leave it as it is."""
    fresh = _condition(kind, status, reason, message, at)
    for place, entry in enumerate(known):
        if entry["type"] == kind:
            if entry["status"] == status and entry["reason"] == reason:
                return known
            if entry["status"] == status:
                fresh["lastTransitionTime"] = entry["lastTransitionTime"]
            return [*known[:place], *known[place + 1 :], fresh]
    return [*known, fresh]
