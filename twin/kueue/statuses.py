"""What ClusterQueues and LocalQueues show of themselves: whether they admit, and what they hold.

Source: reference/kueue.v1beta2.md, tasks/troubleshooting/troubleshooting_queues.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.kueue.amounts import amount_text
from twin.kueue.client import KueueClient
from twin.kueue.objects import CLUSTER_QUEUES, IN_USE, LOCAL_QUEUES, is_true, mark
from twin.kueue.snapshot import Queue, QueueSnapshot
from twin.kueue.tree import FlavorResource
from twin.kueue.workload import Info
from twin.records import Object

Place = tuple[str, str]
"""Namespace and name of a LocalQueue."""


def write_statuses(client: KueueClient, snapshot: QueueSnapshot, waiting: Iterable[Info]) -> None:
    """Write the status of every queue that has changed; a deleted one that is free goes."""
    counts: dict[str, int] = {}
    local_counts: dict[Place, int] = {}
    for info in waiting:
        counts[info.queue] = counts.get(info.queue, 0) + 1
        place = _place(info)
        local_counts[place] = local_counts.get(place, 0) + 1
    for queue in snapshot.queues.values():
        if queue.record.deletion_at is not None and not queue.holders:
            client.release(CLUSTER_QUEUES, queue.record, IN_USE)
        else:
            _write_queue(client, queue, counts.get(queue.name, 0))
    held: dict[Place, list[Info]] = {}
    for info in snapshot.holders():
        held.setdefault(_place(info), []).append(info)
    for record in list(client.all(LOCAL_QUEUES)):
        place = record.namespace, record.name
        above = snapshot.queues.get(record.body["spec"].get("clusterQueue", ""))
        stopped = (record.body["spec"].get("stopPolicy") or "None") != "None"
        status: Object = dict(record.body.get("status") or {})
        found = _local_state(above, stopped=stopped)
        mark(status, "Active", *found, client.stamp, record.generation)
        infos = held.get(place, [])
        status |= _numbers(local_counts.get(place, 0), infos)
        status["flavorsReservation"] = _local_rows(above, infos)
        admitted = [info for info in infos if is_true(info.record, "Admitted")]
        status["flavorsUsage"] = _local_rows(above, admitted)
        client.set_status(LOCAL_QUEUES, record, status)


def _place(info: Info) -> Place:
    return info.record.namespace, info.record.body["spec"].get("queueName", "")


def _write_queue(client: KueueClient, queue: Queue, waiting: int) -> None:
    record, infos = queue.record, list(queue.holders.values())
    status: Object = dict(record.body.get("status") or {})
    found = (
        (False, *queue.inactive) if queue.inactive else (True, "Ready", "Can admit new workloads")
    )
    mark(status, "Active", *found, client.stamp, record.generation)
    status |= _numbers(waiting, infos)
    status["flavorsReservation"] = _rows(queue, _total(infos))
    admitted = [info for info in infos if is_true(info.record, "Admitted")]
    status["flavorsUsage"] = _rows(queue, _total(admitted))
    client.set_status(CLUSTER_QUEUES, record, status)


def _local_state(above: Queue | None, *, stopped: bool) -> tuple[bool, str, str]:
    if stopped:
        return False, "Stopped", "LocalQueue is stopped"
    if above is None:
        why = "Can't submit new workloads to clusterQueue"
        return False, "ClusterQueueDoesNotExist", why
    if above.inactive is not None:
        return False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
    return True, "Ready", "Can submit new workloads to localQueue"


def _numbers(waiting: int, infos: list[Info]) -> Object:
    return {
        "pendingWorkloads": waiting,
        "reservingWorkloads": len(infos),
        "admittedWorkloads": len([one for one in infos if is_true(one.record, "Admitted")]),
    }


def _total(infos: Iterable[Info]) -> dict[FlavorResource, int]:
    total: dict[FlavorResource, int] = {}
    for info in infos:
        for key, amount in info.usage.items():
            total[key] = total.get(key, 0) + amount
    return total


def _rows(queue: Queue, used: dict[FlavorResource, int]) -> list[Object]:
    """Return what is used of each flavor and resource, in the order of the spec."""
    rows: list[Object] = []
    for group in queue.groups:
        for flavor in group.flavors:
            resources = []
            for name in sorted(group.resources):
                amount, quota = used.get((flavor, name), 0), queue.quotas[flavor, name]
                borrowed = max(0, amount - quota.nominal)
                shown = {
                    "total": amount_text(name, amount),
                    "borrowed": amount_text(name, borrowed),
                }
                resources.append({"name": name, **shown})
            rows.append({"name": flavor, "resources": resources})
    return rows


def _local_rows(above: Queue | None, infos: Iterable[Info]) -> list[Object]:
    if above is None:
        return []
    used = _total(infos)
    return [
        {
            "name": flavor,
            "resources": [
                {"name": name, "total": amount_text(name, used.get((flavor, name), 0))}
                for name in sorted(group.resources)
            ],
        }
        for group in above.groups
        for flavor in group.flavors
    ]
