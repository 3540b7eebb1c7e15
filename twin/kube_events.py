"""KubeEvents: what the simulated components report, repeated ones counted, old ones dropped."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import count

from twin.config import TwinConfig
from twin.kinds import KINDS
from twin.names import object_uid
from twin.part import Part
from twin.records import Object, ObjectRecord, Record
from twin.store import Store
from twin.timestamps import rfc3339

_VERSIONS = {kind.kind: kind.api_version for kind in KINDS.values()}


@dataclass(frozen=True, slots=True)
class Topic:
    """What a KubeEvent is about."""

    kind: str
    namespace: str
    name: str
    uid: str


class Reporter(Part):
    """Writes core/v1 Events; (object, reason, message) that repeats raises the count."""

    KEEPS = ("_kept", "_latest")

    def __init__(self, store: Store, config: TwinConfig, seed: int) -> None:
        self._store = store
        self._config = config
        self._seed = seed
        self._kept: deque[tuple[float, ObjectRecord]] = deque()
        self._latest: dict[tuple[str, str], ObjectRecord] = {}  # by (uid of the object, reason)

    def report(self, record: Record, kind: str, reason: str, message: str, component: str) -> None:
        """Report something about a live object; Warning or Normal follows from the reason."""
        if not self._config.kube_events:
            return
        namespace = record.namespace or "default"
        topic = Topic(kind, record.namespace, record.name, record.uid)
        known = self._latest.get((record.uid, reason))
        if known is not None and known.body["message"] == message:
            self._repeat(known)
            return
        event = self._new(topic, namespace, reason, message, component)
        self._latest[(record.uid, reason)] = event
        self._kept.append((self._store.now(), event))
        self._store.insert("events", event)
        self._expire()

    def forget(self, uid: str) -> None:
        """Drop what is remembered for counting about an object that is gone."""
        for reason in _REPEATING:
            self._latest.pop((uid, reason), None)

    def _repeat(self, event: ObjectRecord) -> None:
        before = event.clone()
        body = event.body
        event.body = {
            **body,
            "count": body["count"] + 1,
            "lastTimestamp": rfc3339(self._store.now()),
        }
        self._store.touch("events", event, before)

    def _new(
        self, topic: Topic, namespace: str, reason: str, message: str, component: str
    ) -> ObjectRecord:
        now = self._store.now()
        event = ObjectRecord()
        event.namespace = namespace
        for attempt in count():
            uid = object_uid(self._seed, "events", topic.uid, reason, message, now, attempt)
            event.name = f"{topic.name[:230]}.{uid.replace('-', '')[:16]}"
            if self._store.find("events", namespace, event.name) is None:
                break
        event.uid, event.resource_version, event.created_at = uid, 0, now
        event.labels, event.annotations, event.owners, event.finalizers = {}, {}, (), ()
        event.managed = ()
        event.deletion_at, event.deletion_grace_seconds, event.generation = None, None, 0
        involved: Object = {"kind": topic.kind, "name": topic.name, "uid": topic.uid}
        involved["apiVersion"] = _VERSIONS.get(topic.kind, "apps/v1")
        if topic.namespace:
            involved["namespace"] = topic.namespace
        stamp = rfc3339(now)
        event.body = {
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "reportingComponent": component,
            "reportingInstance": "",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": "Warning" if reason in _WARNINGS else "Normal",
        }
        return event

    def _expire(self) -> None:
        horizon = self._store.now() - self._config.event_ttl_seconds
        kept = self._kept
        while kept and (len(kept) > self._config.event_limit or kept[0][0] < horizon):
            _, event = kept.popleft()
            topic = (event.body["involvedObject"]["uid"], event.body["reason"])
            if self._latest.get(topic) is event:
                del self._latest[topic]
            if self._store.find("events", event.namespace, event.name) is event:
                self._store.remove("events", event)


_WARNINGS = frozenset(
    {
        "FailedScheduling",
        "BackOff",
        "OOMKilling",
        "Failed",
        "Unhealthy",
        "SpotInterruption",
        "NodeHasInsufficientMemory",
        "NodeNotReady",
        "FailedCreate",
        "SystemOOM",
        "BackoffLimitExceeded",
        "Evicted",
        "DeadlineExceeded",
        "PodFailurePolicy",
        "FailedGetScale",
        "FailedGetResourceMetric",
        "FailedGetContainerResourceMetric",
        "FailedGetPodsMetric",
        "FailedGetObjectMetric",
        "FailedGetExternalMetric",
        "FailedComputeMetricsReplicas",
        "FailedDaemonPod",
        "MissSchedule",
        "TooManyMissedTimes",
        "UnexpectedJob",
        "UnparseableSchedule",
        "UnmanagedPods",
        "NotDeleted",
        "ScaleDownFailed",
        "FailedToScaleUpGroup",
        "ScaleUpTimedOut",
        "ClusterUnhealthy",
        "InsufficientCapacityError",
        "FailedDraining",
        "NoCompatibleInstanceTypes",
        "ResizeDeferred",
        "ResizeInfeasible",
        "ResizeError",
    }
)
_REPEATING = ("FailedScheduling", "BackOff", "OOMKilling", "Scheduled", "Started", "Killing",
              "Pulling", "Pulled", "Evicted", "TaintManagerEviction")  # fmt: skip
