"""What a cluster's nodes offer to Jobs."""

from __future__ import annotations

from inputs.quantities import parse_millicores, parse_whole
from lab.learning.jobs import Amounts
from lab.queue.objects import NODES_PATH
from services.cluster import Transport
from services.kube_lists import list_decoder, read_list
from services.kube_objects import CPU, MEMORY, Node

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
