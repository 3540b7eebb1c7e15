"""KubeEvents: what the simulated components report, repeated ones counted, old ones dropped."""

from __future__ import annotations

from collections import deque
from itertools import count

from twin.config import TwinConfig
from twin.kinds import KINDS
from twin.names import object_uid
from twin.part import Part
from twin.records import Object, ObjectRecord, Record
from twin.store import Store
from twin.timestamps import rfc3339

_VERSIONS = {kind.kind: kind.api_version for kind in KINDS.values()}


class Reporter(Part):
    """Writes core/v1 Events; (object, reason, message) that repeats raises the count."""

    KEEPS = ("_kept", "_latest")

    def __init__(self, store: Store, config: TwinConfig, seed: int) -> None:
        self._store = store
        self._config = config
        self._seed = seed
        self._kept: deque[tuple[float, ObjectRecord]] = deque()
        self._latest: dict[tuple[str, str], ObjectRecord] = {}  # by (uid of the object, reason)

    def report(
        self,
        record: Record,
        kind: str,
        reason: str,
        message: str,
        component: str,
        *,
        warns: bool = False,
    ) -> None:
        """Report something about a live object; Warning follows from the reason, unless it is said."""
        home = self._store.find("namespaces", "", record.namespace) if record.namespace else None
        if not self._config.kube_events or (home is not None and home.deletion_at is not None):
            return  # nothing is made in a namespace on its way out
        topic = (record.uid, reason)
        known = self._latest.get(topic)
        if known is not None and known.body["message"] == message:
            self._repeat(known)
            return
        event = self._new(record, kind, reason, message, component)
        if warns:
            event.body["type"] = "Warning"
        self._latest[topic] = event
        self._kept.append((event.created_at, event))
        self._store.insert("events", event)
        self._expire(event.created_at)

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
        self, about: Record, kind: str, reason: str, message: str, component: str
    ) -> ObjectRecord:
        now = self._store.now()
        event = ObjectRecord()
        event.namespace = about.namespace or "default"
        for attempt in count():
            uid = object_uid(self._seed, "events", about.uid, reason, message, now, attempt)
            event.name = f"{about.name[:230]}.{uid[:8]}{uid[9:13]}{uid[14:18]}"
            if self._store.find("events", event.namespace, event.name) is None:
                break
        event.uid, event.resource_version, event.created_at = uid, 0, now
        event.labels, event.annotations, event.owners, event.finalizers = {}, {}, (), ()
        event.managed, event.drawn_from = (), None
        event.deletion_at, event.deletion_grace_seconds, event.generation = None, None, 0
        involved: Object = {"kind": kind, "name": about.name, "uid": about.uid}
        said = about.body.get("apiVersion") if isinstance(about, ObjectRecord) else None
        involved["apiVersion"] = said or _VERSIONS.get(kind, "apps/v1")
        if about.namespace:
            involved["namespace"] = about.namespace
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

    def _expire(self, now: float) -> None:
        kept, most = self._kept, self._config.event_limit
        horizon = now - self._config.event_ttl_seconds
        while kept and (len(kept) > most or kept[0][0] < horizon):
            _, event = kept.popleft()
            topic = (event.body["involvedObject"]["uid"], event.body["reason"])
            if self._latest.get(topic) is event:
                del self._latest[topic]
            if self._store.find("events", event.namespace, event.name) is event:
                self._store.remove("events", event, named_here=False)


_WARNINGS = frozenset(
    {
        "FailedScheduling",
        "BackOff",
        "OOMKilling",
        "Failed",
        "Unhealthy",
        "SpotInterruption",
        "SpotInterrupted",
        "TerminatingOnInterruption",
        "NodeHasInsufficientMemory",
        "NodeNotReady",
        "FailedCreate",
        "SystemOOM",
        "BackoffLimitExceeded",
        "Evicted",
        "DeadlineExceeded",
        "PodFailurePolicy",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
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
        "TaskHung",
        "NotDeleted",
        "CalculateExpectedPodCountFailed",
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
