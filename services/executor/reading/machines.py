"""Facts about a machine before it is handed back: whose claim it is, and whether its node is still empty."""

from __future__ import annotations

from schemas.outcome import Operation, Verb
from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts, NodeClaimFacts
from services.executor.reading.marked_objects import MarkedPod, NodeClaim
from services.executor.settings import ExecutorSettings, HandBack
from services.kube_lists import list_decoder, read_list
from services.rights.executor import NODE_CLAIMS, WRITTEN

_CLAIMS = list_decoder(NodeClaim)
_PODS = list_decoder(MarkedPod)


async def add_node_claim(transport: Transport, facts: Facts, settings: ExecutorSettings) -> Facts:
    """Return facts with the claim of the node's machine, where machines go back to Karpenter.

    Raises:
        ClusterUnavailable, ClusterRefused: the claims could not be read.
    """
    if settings.hand_back is not HandBack.KARPENTER or facts.node is None:
        return facts
    try:
        listed = await read_list(transport, f"{WRITTEN[NODE_CLAIMS]}/{NODE_CLAIMS}", _CLAIMS)
    except ClusterRefused as error:
        if error.status == 404:  # no Karpenter here
            return facts
        raise
    claim = next(
        (one.metadata for one in listed.items if one.status.node_name == facts.node.name), None
    )
    if claim is None or claim.deletion_timestamp:
        return facts
    return facts.model_copy(update={"node_claim": NodeClaimFacts(name=claim.name, uid=claim.uid)})


def ends_machine(operation: Operation) -> bool:
    """Say whether an operation ends the machine under a node."""
    return operation.verb is Verb.RUN or (
        operation.verb is Verb.DELETE and operation.resource == NODE_CLAIMS
    )


async def pods_left(transport: Transport, node: str) -> tuple[str, ...]:
    """Return the pods on a node that its end would end too, DaemonSets' and static ones aside.

    Raises:
        ClusterUnavailable, ClusterRefused: the pods could not be read.
    """
    on_it = {"fieldSelector": f"spec.nodeName={node}"}
    listed = (await read_list(transport, "/api/v1/pods", _PODS, on_it)).items
    return tuple(
        f"{pod.metadata.namespace}/{pod.metadata.name}"
        for pod in listed
        if not (pod.finished or pod.daemon or pod.static)
    )
