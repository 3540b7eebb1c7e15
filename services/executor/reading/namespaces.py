"""Facts about namespaces before their requests are capped."""

from __future__ import annotations

import math

from services.cluster import ClusterRefused, Transport
from services.cluster_version import is_simulated
from services.executor.facts import Facts, NamespaceFacts
from services.executor.plans.resource_cap import QUOTA
from services.executor.reading.marked_objects import MarkedPod
from services.executor.reading.quotas import Quota
from services.kube_lists import list_decoder, read_list
from services.kube_objects import KubeStruct, Meta
from services.pod_requests import effective_request

_PODS = list_decoder(MarkedPod)
_QUOTAS = list_decoder(Quota)


class _LimitEntry(KubeStruct, frozen=True):
    type: str = ""
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}


class _LimitSpec(KubeStruct, frozen=True):
    limits: tuple[_LimitEntry, ...] = ()


class LimitRange(KubeStruct, frozen=True):
    """A LimitRange, of which only defaults of containers are read."""

    metadata: Meta = Meta()
    spec: _LimitSpec = _LimitSpec()

    @property
    def defaulted(self) -> frozenset[str]:
        """Resources of which every container gets a request, its own or this one."""
        own = [one for one in self.spec.limits if one.type == "Container"]
        return frozenset(name for one in own for name in {**one.default, **one.default_request})


_RANGES = list_decoder(LimitRange)


async def namespaces_with_defaults(
    transport: Transport, namespace: str = ""
) -> frozenset[str] | None:
    """Return the namespaces whose containers all get requests of CPU and memory; None: it may not be read.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    path = f"/api/v1/namespaces/{namespace}/limitranges" if namespace else "/api/v1/limitranges"
    try:
        listed = (await read_list(transport, path, _RANGES)).items
    except ClusterRefused as error:
        if error.status in {403, 404}:
            return None
        raise
    by_namespace: dict[str, frozenset[str]] = {}
    for one in listed:
        known = by_namespace.get(one.metadata.namespace, frozenset())
        by_namespace[one.metadata.namespace] = known | one.defaulted
    return frozenset(name for name, given in by_namespace.items() if given >= {"cpu", "memory"})


async def add_namespaces(transport: Transport, facts: Facts) -> Facts:
    """Return facts of a node with the namespaces of its pods.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    names = sorted({pod.namespace for pod in facts.pods if not pod.daemon})
    spaces = [await _read_namespace(transport, name) for name in names]
    simulated = await is_simulated(transport)
    return facts.model_copy(update={"namespaces": tuple(spaces), "simulated": simulated})


async def _read_namespace(transport: Transport, name: str) -> NamespaceFacts:
    within = f"/api/v1/namespaces/{name}"
    pods = (await read_list(transport, f"{within}/pods", _PODS)).items
    asked = [effective_request(pod) for pod in pods if not pod.finished]
    cores = [round(one.cpu_cores * 1_000) for one in asked]
    sizes = [one.memory_bytes for one in asked]
    try:
        quotas = (await read_list(transport, f"{within}/resourcequotas", _QUOTAS)).items
    except ClusterRefused as error:
        if error.status not in {403, 404}:
            raise
        quotas = ()  # one of ours is a conflict then
    return NamespaceFacts(
        name=name,
        has_defaults=name in (await namespaces_with_defaults(transport, name) or ()),
        capped=any(one.metadata.name == QUOTA for one in quotas),
        used_millicores=int(math.fsum(cores)),
        used_bytes=int(math.fsum(sizes)),
        most_millicores=max(cores, default=0),
        most_bytes=max(sizes, default=0),
    )
