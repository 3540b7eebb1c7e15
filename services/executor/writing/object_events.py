"""Events on the objects that a plan has written, so that `kubectl describe` says who did it and why.

They tell, and decide nothing: written after the plan has ended, as far as the server takes them, and never in shadow
mode. How often one object may get one is bounded as in client-go's recorder (25 at once, then one in five minutes).
Source: Kubernetes API, events.k8s.io/v1.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from schemas.envelope import rfc3339
from schemas.outcome import Mode, Operation, OutcomeExecution
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.plans.resource_cap import DECISION
from services.kube_objects import FIELD_MANAGER
from services.rights.executor import AUTOSCALERS, NODE_CLAIMS, WRITTEN

KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "deployments": "Deployment",
    "jobs": "Job",
    AUTOSCALERS: "HorizontalPodAutoscaler",
    NODE_CLAIMS: "NodeClaim",
    "resourcequotas": "ResourceQuota",
}
"""Kind of each resource that is written."""
CLUSTER_NAMESPACE = "default"
"""Where the API wants events about objects that lie in no namespace."""
MOST_NOTE = 1_000
"""Characters of a note; the API takes 1,024 bytes."""
MOST_NAME = 230
"""Characters of an object's name that an event's name, of 253 at most, begins with."""
BURST = 25
SECONDS_EACH = 300.0
KEPT_OBJECTS = 4_096
Object = tuple[str, str, str]
"""Resource, namespace and name."""


class ObjectEvents:
    """Writes events, and knows how many each object has got."""

    def __init__(self, transport: Transport, log: Any) -> None:
        """Write through `transport`; `log` is a structlog logger for what the server did not take."""
        self._transport = transport
        self._log = log
        self._spent: OrderedDict[Object, tuple[float, float]] = OrderedDict()
        """By object: tokens spent, and the cluster time at which that was so."""

    async def tell(self, finished: OutcomeExecution) -> None:
        """Write an event for each object that a plan has changed; never raises for what the server answers."""
        if finished.mode is not Mode.ACTIVE:
            return
        for operation, result in zip(finished.operations, finished.results, strict=True):
            if result.status != "applied" or not self._may_tell(operation, finished):
                continue
            body = event_body(operation, finished)
            namespace = body["metadata"]["namespace"]
            path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
            try:
                await self._transport.request("POST", path, {"fieldManager": FIELD_MANAGER}, body)
            except ClusterRefused as error:
                if error.status != 409:  # told before: this process was restarted in between
                    self._log.warning("event not taken", status=error.status, error=error.message)
            except ClusterUnavailable as error:
                self._log.warning("event not taken", error=str(error))
                return

    def _may_tell(self, operation: Operation, finished: OutcomeExecution) -> bool:
        """Take a token of an object's, if it has one left."""
        key, now = (
            (operation.resource, operation.namespace, operation.name),
            finished.cluster_time_seconds,
        )
        spent, since = self._spent.pop(key, (0.0, now))
        spent = max(0.0, spent - max(0.0, now - since) / SECONDS_EACH)
        allowed = spent + 1.0 <= BURST
        self._spent[key] = (spent + 1.0 if allowed else spent, now)
        while len(self._spent) > KEPT_OBJECTS:
            self._spent.popitem(last=False)
        return allowed


def event_body(operation: Operation, finished: OutcomeExecution) -> dict[str, Any]:
    """Return the event about one written object; the same write has the same name, so it is told once."""
    place = f"{finished.cycle}.{finished.part}" if finished.part else str(finished.cycle)
    key = f"{finished.decision_id} {finished.key()} {operation.resource} {operation.verb}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    note = f"{operation.text} (decision {finished.decision_id}; foresail explain {finished.cycle})"
    version = WRITTEN[operation.resource].removeprefix("/apis/").removeprefix("/api/")
    regarding = {
        "apiVersion": version,
        "kind": KINDS[operation.resource],
        "name": operation.name,
        **({"namespace": operation.namespace} if operation.namespace else {}),
        **({"uid": operation.uid} if operation.uid else {}),
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{operation.name[:MOST_NAME]}.{digest}",
            "namespace": operation.namespace or CLUSTER_NAMESPACE,
            "annotations": {DECISION: finished.decision_id, "foresail.dev/cycle": place},
        },
        "eventTime": rfc3339(finished.cluster_time_seconds),
        "reportingController": FIELD_MANAGER,
        "reportingInstance": "executor",
        "action": "".join(word.capitalize() for word in finished.action.kind.split("_")),
        "reason": "TakenBack" if finished.rollback_of else "Decided",
        "regarding": regarding,
        "note": note.encode()[:MOST_NOTE].decode(errors="ignore"),
        "type": "Normal",
    }
