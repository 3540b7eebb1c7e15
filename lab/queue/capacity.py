"""What a queue may hand out: its ClusterQueue's quota less what others hold of it; or what a cluster's nodes offer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from bus.errors import InputError
from inputs.quantities import parse_millicores, parse_whole
from lab.learning.jobs import Amounts
from lab.queue.objects import GROUP, NODES_PATH
from schemas.queue import QueueJob
from services.cluster import ClusterRefused, Transport
from services.kube_lists import list_decoder, read_list
from services.kube_objects import CPU, MEMORY, Node

GPU = "nvidia.com/gpu"
_NODES = list_decoder(Node)


async def offered(transport: Transport) -> Amounts:
    """Return the allocatable amounts of all ready and schedulable nodes together.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: nodes may not be listed.
    """
    listed = await read_list(transport, NODES_PATH, _NODES)
    nodes = [one for one in listed.items if one.ready and not one.spec.unschedulable]
    return Amounts(
        sum(parse_millicores(one.status.allocatable.get(CPU, "0")) for one in nodes),
        sum(parse_whole(one.status.allocatable.get(MEMORY, "0")) for one in nodes),
    )


async def cluster_queue_of(
    transport: Transport, version: str, namespace: str, local_queue: str
) -> Mapping[str, Any]:
    """Return the ClusterQueue behind a LocalQueue, as it is now.

    Raises:
        InputError: there is no such queue.
        ClusterUnavailable: no answer.
        ClusterRefused: it may not be read.
    """
    base = f"/apis/{GROUP}/{version}"
    local = await _get(
        transport, f"{base}/namespaces/{namespace}/localqueues/{quote(local_queue)}", local_queue
    )
    name = str(local["spec"]["clusterQueue"])
    return await _get(transport, f"{base}/clusterqueues/{quote(name)}", name)


def quota_left(
    cluster_queue: Mapping[str, Any], own: Iterable[QueueJob], offered_amounts: Amounts
) -> Amounts:
    """Return a ClusterQueue's nominal quota over all flavors, less what Workloads beside our own hold of it.

    Args:
        cluster_queue: as the API shows it.
        own: rows of the Jobs that are decided about; what the admitted ones hold is not taken off.
        offered_amounts: by the nodes, for a resource that no quota covers.
    """
    groups = cluster_queue["spec"].get("resourceGroups") or ()
    nominal = _sums((one for group in groups for one in group["flavors"]), "nominalQuota")
    held = _sums((cluster_queue.get("status") or {}).get("flavorsReservation") or (), "total")
    ours = [
        row
        for row in own
        if row.admission_time_seconds is not None and row.status not in {"Succeeded", "Failed"}
    ]
    cpu = sum(round(1_000 * (row.cpu_request_cores or 0.0)) for row in ours)
    memory = sum(row.memory_request_bytes or 0 for row in ours)

    def left(resource: str, own_amount: int, without_quota: int) -> int:
        if resource not in nominal:
            return without_quota
        return nominal[resource] - max(0, held.get(resource, 0) - own_amount)

    return Amounts(
        left(CPU, cpu, offered_amounts.cpu_millicores),
        left(MEMORY, memory, offered_amounts.memory_bytes),
        left(GPU, 0, 0),
    )


def _sums(flavors: Iterable[Mapping[str, Any]], field: str) -> dict[str, int]:
    """Return the sum of each resource over flavors; of cpu in millicores."""
    rows: Sequence[Mapping[str, Any]] = [row for one in flavors for row in one["resources"]]
    sums: dict[str, int] = {}
    for row in rows:
        parse = parse_millicores if row["name"] == CPU else parse_whole
        sums[row["name"]] = sums.get(row["name"], 0) + parse(str(row.get(field, "0")))
    return sums


async def _get(transport: Transport, path: str, name: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads((await transport.request("GET", path)).body)
    except ClusterRefused as error:
        if error.status != 404:
            raise
        remedy = "there is no such queue; `foresail queue setup --apply` makes one"
        raise InputError("--queue", name, remedy) from error
    return found
