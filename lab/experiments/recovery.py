"""How long workloads are short of a pod that they had: from the loss of a ready pod to the readiness of the next.

A pod serves while it is ready and nobody has deleted it, as endpoints of Services have it. A loss is a pod that
serves no more since it was evicted or preempted, failed, or is not ready; a pod that was simply deleted, or has
done its work, is none. It is over when that pod is ready again or when another pod of its workload becomes ready.
A workload that is deleted, ends, or is asked for fewer replicas stops waiting for as many.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque

from twin.port.engine import Change
from twin.port.objects import ObjectRecord, PodRecord, is_finished

OWNERS = frozenset({"replicasets", "statefulsets", "jobs"})
_KINDS = frozenset({"ReplicaSet", "StatefulSet", "Job"})
_HOUR = 3_600.0


class Recovery:
    """Lengths since the last `reset`; times are unix seconds of cluster time."""

    def __init__(self, now: float) -> None:
        """Begin with nothing lost."""
        self._down: dict[str, float] = {}  # since when, by uid of a pod that may be ready again
        self._owed: defaultdict[str, deque[float]] = defaultdict(deque)  # by uid of the workload
        self._lengths: list[float] = []
        self._now = now

    def reset(self, now: float) -> None:
        """Forget what was; what is lost now counts from now."""
        self._lengths = []
        self._down = dict.fromkeys(self._down, now)
        for owner, since in self._owed.items():
            self._owed[owner] = deque([now] * len(since))

    def follow(self, change: Change, now: float) -> None:
        """Take in a change of a pod, or of what owns pods."""
        record, before = change.record, change.before
        if isinstance(record, PodRecord):
            owner = _owner_of(record)
            if owner is not None and isinstance(before, PodRecord):
                self._follow_pod(change, before, owner, now)
        elif change.resource in OWNERS and isinstance(record, ObjectRecord):
            if change.type == "DELETED" or is_finished(record.body.get("status") or {}):
                self._owed.pop(record.uid, None)
            elif isinstance(before, ObjectRecord):
                self._ask_for_fewer(record.uid, _replicas(before) - _replicas(record))

    def _follow_pod(self, change: Change, before: PodRecord, owner: str, now: float) -> None:
        pod = change.record
        assert isinstance(pod, PodRecord)
        gone = change.type == "DELETED" or pod.terminal
        leaves = gone or pod.deletion_at is not None
        disturbed = bool(pod.disruption) or pod.phase == "Failed"
        was, serves = _serves(before), _serves(pod) and not gone
        if serves and not was:
            since = self._down.pop(pod.uid, None)
            if since is None and self._owed.get(owner):
                since = self._owed[owner].popleft()
            if since is not None:
                self._lengths.append(now - since)
        elif was and not serves:
            if not leaves:
                self._down[pod.uid] = now
            elif disturbed:
                self._owed[owner].append(now)
        elif leaves and pod.uid in self._down:
            since = self._down.pop(pod.uid)
            if disturbed:
                self._owed[owner].append(since)

    def _ask_for_fewer(self, owner: str, fewer: int) -> None:
        owed = self._owed.get(owner)
        while owed and fewer > 0:
            owed.pop()
            fewer -= 1

    def metrics(self, now: float) -> dict[str, float]:
        """Return pod-hours lost, and the mean length where there was a loss; what is still lost counts until now."""
        still = [now - since for since in self._down.values()]
        still += [now - since for owed in self._owed.values() for since in owed]
        lengths = [*self._lengths, *still]
        total = math.fsum(lengths)
        values = {"recovery_pod_hours": total / _HOUR}
        if lengths:
            values["recovery_seconds_mean"] = total / len(lengths)
        return values


def _serves(pod: PodRecord) -> bool:
    return pod.ready and pod.deletion_at is None and not pod.terminal


def _owner_of(pod: PodRecord) -> str | None:
    for owner in pod.owners:
        if owner.get("controller") and owner["kind"] in _KINDS:
            return str(owner["uid"])
    return None


def _replicas(record: ObjectRecord) -> int:
    spec = record.body["spec"]
    return int(spec.get("replicas", spec.get("parallelism", 1)))
