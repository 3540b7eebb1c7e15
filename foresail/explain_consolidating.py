"""`foresail explain node NAME --why-not consolidate`: what keeps a node of a live cluster, by lists alone."""

from __future__ import annotations

from bus.errors import InputError
from foresail.near import remedy_for
from lab.explanations.frozen_cluster import FrozenCluster, Object
from lab.explanations.reading import CORE, list_objects, read_objects
from lab.explanations.why_not_consolidated import (
    AutoscalerObjects,
    WhyNotConsolidated,
    why_not_consolidated,
)
from services.cluster import ClusterRefused, Transport
from twin.records import NodeRecord

KARPENTER = "/apis/karpenter.sh/v1"


async def explain_consolidating(transport: Transport, name: str) -> WhyNotConsolidated:
    """Read a cluster and explain why one of its nodes stays.

    Raises:
        InputError: there is no such node.
        ClusterUnavailable: no answer.
        ClusterRefused: nodes or pods may not be listed.
    """
    read = await read_objects(transport)
    cluster = FrozenCluster(read.objects, read.to_seconds)
    node = cluster.world.store.find("nodes", "", name)
    if not isinstance(node, NodeRecord):
        names = [one["metadata"]["name"] for one in read.objects["nodes"]]
        raise InputError("NAME", name, f"there is no such node; {remedy_for(name, names)}")
    claims = await _served(transport, f"{KARPENTER}/nodeclaims")
    pools = await _served(transport, f"{KARPENTER}/nodepools")
    about = [name, *(one["metadata"]["name"] for one in claims if _is_of(one, name))]
    events = [
        event
        for one in dict.fromkeys(about)
        for event in await _served(
            transport, f"{CORE}/events", {"fieldSelector": f"involvedObject.name={one}"}
        )
    ]
    around = AutoscalerObjects(claims, pools, events)
    return why_not_consolidated(cluster, read.objects, node, around, read.to_seconds)


def _is_of(claim: Object, node: str) -> bool:
    return bool((claim.get("status") or {}).get("nodeName") == node)


async def _served(
    transport: Transport, path: str, query: dict[str, str] | None = None
) -> list[Object]:
    """Return a list; nothing where its kind is not served or may not be read."""
    try:
        found, _ = await list_objects(transport, path, query)
    except ClusterRefused:
        return []
    return found
