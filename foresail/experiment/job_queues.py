"""Kueue in an arm: one queue for every Job, with quota of the cluster's size, as its administrator would set it up.

The Jobs themselves stay as they came. What is suspended for want of quota is demand that is held, and costs so.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

from lab.experiments.arms import Queueing
from twin.port.engine import ApiError, Change, Engine
from twin.port.objects import (
    API_VERSION,
    CLUSTER_QUEUES,
    FLAVORS,
    LOCAL_QUEUES,
    QUEUE_LABEL,
    Amounts,
    Object,
    ObjectRecord,
    amounts_of,
    texts,
)
from twin.port.settings import KueueConfig

KUEUE = KueueConfig(served=True, every_job=True)
"""With `manageJobsWithoutQueueName`: no Job gets past the queue because its namespace is new."""
FLAVOR, QUEUE, LOCAL = "machines", "cluster", "default"
SERVED_SECONDS = 1.0
"""From the start: by then Kueue's kinds are served. Jobs that come before are held so long."""
_BEGIN, _TAKE = "experiments.queues.begin", "experiments.queues.take"


class JobQueues:
    """Makes the queue at the start, and a LocalQueue in each namespace at the moment of its first Job."""

    def __init__(self, engine: Engine, queueing: Queueing) -> None:
        """Follow an engine that serves Kueue, has its machines and has not begun to play."""
        self._engine, self._queueing = engine, queueing
        self._begins = engine.now + SERVED_SECONDS
        engine.clock.handle(_BEGIN, self._begin)
        engine.clock.handle(_TAKE, self._take)
        engine.clock.at(self._begins, _BEGIN)
        engine.store.subscribe(self._follow)

    def _begin(self) -> None:
        self._make(FLAVORS, "", "ResourceFlavor", FLAVOR, {})
        amounts = amounts_of_machines(self._engine)
        spec: Object = {
            "namespaceSelector": {},
            "queueingStrategy": self._queueing.strategy,
            "resourceGroups": [_group(amounts, self._queueing.quota_ratio)],
        }
        self._make(CLUSTER_QUEUES, "", "ClusterQueue", QUEUE, spec)

    def _make(self, resource: str, namespace: str, kind: str, name: str, spec: Object) -> None:
        obj = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self._engine.store.create(resource, namespace, obj)

    def _follow(self, change: Change) -> None:
        record = change.record
        if change.resource == "jobs" and change.type == "ADDED":
            assert isinstance(record, ObjectRecord)
            if QUEUE_LABEL not in record.labels:
                # Nobody writes to the store while it tells of a change.
                moment = max(self._begins, self._engine.now)
                self._engine.clock.at(moment, _TAKE, record.namespace, record.name)

    def _take(self, namespace: str, name: str) -> None:
        """Give a namespace its LocalQueue, and put the Job that came first into it."""
        store = self._engine.store
        if store.find(LOCAL_QUEUES, namespace, LOCAL) is None:
            self._make(LOCAL_QUEUES, namespace, "LocalQueue", LOCAL, {"clusterQueue": QUEUE})
        with suppress(ApiError):  # gone within the moment
            job = store.get("jobs", namespace, name)
            head = job["metadata"]
            labels = {**head.get("labels", {}), QUEUE_LABEL: LOCAL}
            store.replace("jobs", namespace, name, {**job, "metadata": {**head, "labels": labels}})


def amounts_of_machines(engine: Engine) -> Amounts:
    """Return what all machines of a cluster offer to pods together, in Kueue's amounts."""
    total: defaultdict[str, int] = defaultdict(int)
    for node in engine.store.list("nodes"):
        for resource, amount in amounts_of(node["status"]["allocatable"]).items():
            total[resource] += amount
    return dict(total)


def _group(amounts: Amounts, ratio: float) -> Object:
    """Return a resource group that covers everything with a share of what there is."""
    quotas = texts({resource: int(ratio * amount) for resource, amount in sorted(amounts.items())})
    rows = [{"name": resource, "nominalQuota": quota} for resource, quota in quotas.items()]
    return {"coveredResources": list(quotas), "flavors": [{"name": FLAVOR, "resources": rows}]}
