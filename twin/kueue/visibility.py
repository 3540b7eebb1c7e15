"""Pending Workloads in the order in which their queue looks at them: what visibility.kueue.x-k8s.io shows.

Source: tasks/manage/monitor_pending_workloads/pending_workloads_on_demand.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339

GROUP = "visibility.kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
USUAL_LIMIT = 1_000


def summary(
    version: str,
    pending: Iterable[ObjectRecord],
    local: tuple[str, str] | None,
    first: int,
    most: int,
) -> Object:
    """Return `most` pending Workloads from place `first` on; of one LocalQueue (namespace, name) if
    there is one. `pending` are all of the ClusterQueue in order.
    """
    places: dict[tuple[str, str], int] = {}
    items = []
    for place, record in enumerate(pending):
        home = record.namespace, record.body["spec"].get("queueName", "")
        behind = places.get(home, 0)
        places[home] = behind + 1
        if local in (None, home):
            items.append(_item(record, place, behind))
    api_version = f"{GROUP}/{version}"
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": api_version,
        "metadata": {},
        "items": items[first : first + most],
    }


def _item(record: ObjectRecord, place: int, behind: int) -> Object:
    spec = record.body["spec"]
    head: Object = {
        "name": record.name,
        "namespace": record.namespace,
        "creationTimestamp": rfc3339(record.created_at),
    }
    if record.owners:
        fields = ("apiVersion", "kind", "name", "uid")
        head["ownerReferences"] = [{k: o[k] for k in fields if k in o} for o in record.owners]
    return {
        "metadata": head,
        "priority": spec.get("priority") or 0,
        "localQueueName": spec.get("queueName", ""),
        "positionInClusterQueue": place,
        "positionInLocalQueue": behind,
    }
