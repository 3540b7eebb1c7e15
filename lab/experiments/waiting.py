"""Who waits, and for how long, from changes alone: exact to the microsecond of cluster time.

A pod waits while it has no node and has not ended; it is held while a scheduling gate keeps it from being placed,
and so is a suspended Job, which stands for as many pods as it would run. Replicas are removed while a Deployment
asks for fewer than it was created with; they are withheld where no request shows what that cost anybody: without
a Service with traffic, and without the mark by which the outcome score counts them itself.
"""

from __future__ import annotations

from lab.experiments.payers import Payers, payer_of
from services.held import HELD
from twin.port.engine import Change
from twin.port.objects import TRAFFIC, ObjectRecord, PodRecord, Record


class Waiting:
    """Integrals in pod-seconds since the last `reset`; times are unix seconds of cluster time."""

    def __init__(self, now: float) -> None:
        """Begin with nobody waiting."""
        self._waiting: set[str] = set()
        self._held: dict[str, int] = {}  # pods held, by uid of the pod or Job
        self._removed: dict[str, int] = {}  # replicas fewer than created, by uid of the Deployment
        self._withheld: dict[str, int] = {}
        self._with_traffic: set[str] = set()  # Deployments, by uid
        self._created: dict[str, int] = {}
        self._now = now
        self._waited_from: float | None = None
        self.payers = Payers()
        """The same by who asked for it."""
        self.reset(now)

    def reset(self, now: float) -> None:
        """Forget what was; who waits now goes on waiting from now."""
        self._now = now
        self.waiting_seconds = self.held_seconds = 0.0
        self.removed_seconds = self.withheld_seconds = 0.0
        self.most = len(self._waiting)
        """Most pods that waited at one moment."""
        self.longest_seconds = 0.0
        """Longest stretch in which some pod waited."""
        self._waited_from = now if self._waiting else None
        self.payers.reset(now)

    def advance(self, now: float) -> None:
        """Let the integrals reach `now`."""
        passed, self._now = now - self._now, now
        self.waiting_seconds += len(self._waiting) * passed
        self.held_seconds += sum(self._held.values()) * passed
        self.removed_seconds += sum(self._removed.values()) * passed
        self.withheld_seconds += sum(self._withheld.values()) * passed
        if self._waited_from is not None:
            self.longest_seconds = max(self.longest_seconds, now - self._waited_from)

    def follow(self, change: Change, now: float) -> None:
        """Take in a change of a pod, Job, Deployment or Service."""
        record, gone, resource = change.record, change.type == "DELETED", change.resource
        if isinstance(record, PodRecord):
            self._follow_pod(record, now, gone=gone)
        elif isinstance(record, ObjectRecord) and resource == "jobs":
            spec = record.body["spec"]
            suspended = bool(spec.get("suspend")) and not gone
            held = int(spec.get("parallelism", 1)) if suspended else 0
            self._set_held(record, resource, held, now)
        elif isinstance(record, ObjectRecord) and resource == "deployments":
            replicas = record.body["spec"].get("replicas", 1)
            created = self._created.setdefault(record.uid, replicas)
            removed = 0 if gone else max(0, created - replicas)
            by = self._set(self._removed, record.uid, removed, now)
            if by:
                self.payers.change(payer_of(record, resource), "removed_pod_hours", by, now)
            counted = record.uid in self._with_traffic or HELD in record.annotations
            self._set(self._withheld, record.uid, 0 if counted else removed, now)
            if gone:
                del self._created[record.uid]
        elif resource == "services" and TRAFFIC in record.annotations:
            self._with_traffic |= {str(owner["uid"]) for owner in record.owners}

    def _follow_pod(self, pod: PodRecord, now: float, *, gone: bool) -> None:
        unplaced = not gone and not pod.node_name and not pod.terminal and pod.deletion_at is None
        gated = unplaced and bool(pod.shape.needs.gates)
        self._set_held(pod, "pods", int(gated), now)
        waits = unplaced and not gated
        if waits == (pod.uid in self._waiting):
            return
        self.advance(now)
        self.payers.change(payer_of(pod, "pods"), "waiting_pod_hours", 1 if waits else -1, now)
        if waits:
            self._waiting.add(pod.uid)
            self.most = max(self.most, len(self._waiting))
            self._waited_from = now if self._waited_from is None else self._waited_from
        else:
            self._waiting.remove(pod.uid)
            if not self._waiting:
                self._waited_from = None

    def _set_held(self, record: Record, resource: str, pods: int, now: float) -> None:
        by = self._set(self._held, record.uid, pods, now)
        if by:
            self.payers.change(payer_of(record, resource), "held_pod_hours", by, now)

    def _set(self, counts: dict[str, int], uid: str, count: int, now: float) -> int:
        """Return by how much it changed."""
        by = count - counts.get(uid, 0)
        if not by:
            return 0
        self.advance(now)
        if count:
            counts[uid] = count
        else:
            del counts[uid]
        return by
