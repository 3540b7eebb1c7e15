"""What each kind is warned of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twin.advice.pods import of_claim, of_pod
from twin.advice.words import OLD_VOLUMES, STORAGE_CLASS, of_name, of_node_selector, of_node_terms

Object = dict[str, Any]
Advice = Callable[[Object], Iterator[str]]
_TEMPLATES = {
    "deployments": "spec.template.", "replicasets": "spec.template.", "statefulsets": "spec.template.",
    "daemonsets": "spec.template.", "replicationcontrollers": "spec.template.", "jobs": "spec.template.",
    "cronjobs": "spec.jobTemplate.spec.template.", "podtemplates": "template.",
}  # fmt: skip
"""Where kinds have a template of pods."""
_NAMED = frozenset(
    {"deployments", "replicasets", "replicationcontrollers", "jobs", "cronjobs", "statefulsets"}
)
"""Kinds whose names become those of pods."""
_CLASS = "kubernetes.io/ingress.class"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_SLOW_COMPLETIONS, _SLOW_PARALLELISM = 100_000, 10_000


def advice_of(resource: str, obj: Object, *, created: bool) -> list[str]:
    """Return the warnings about an object that was written, each once; `created` or changed."""
    found: dict[str, None] = {}
    if created and resource in _NAMED:
        found.update(dict.fromkeys(of_name(obj["metadata"]["name"], "Pod names and hostnames")))
    if resource in _OWN:
        found.update(dict.fromkeys(_OWN[resource](obj)))
    path = _TEMPLATES.get(resource)
    if path is not None:
        template: Any = obj
        for part in path.strip(".").split("."):
            template = (template or {}).get(part)
        found.update(dict.fromkeys(of_pod(template or {}, path)))
    if resource == "statefulsets":
        found.update(dict.fromkeys(_of_stateful_set(obj)))
    if resource == "pods":
        if created and not obj["spec"].get("hostname"):
            found.update(dict.fromkeys(of_name(obj["metadata"]["name"], "the Pod's hostname")))
        found.update(dict.fromkeys(of_pod(obj, "")))
    return list(found)


def _of_service(obj: Object) -> Iterator[str]:
    spec, annotations = obj.get("spec") or {}, obj["metadata"].get("annotations") or {}
    if _HINTS in annotations:
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if spec.get("clusterIP") == "None" and spec.get("sessionAffinity", "None") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
    if spec.get("externalIPs"):
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"


def _of_volume(obj: Object) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if STORAGE_CLASS in (obj["metadata"].get("annotations") or {}):
        why = 'deprecated since v1.8; use "storageClassName" attribute instead'
        yield f"metadata.annotations[{STORAGE_CLASS}]: {why}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
            "the recommended approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    where = "spec.nodeAffinity.required.nodeSelectorTerms"
    yield from of_node_terms(required.get("nodeSelectorTerms"), where)
    for name, why in OLD_VOLUMES.items():
        if spec.get(name) is not None:
            yield f"spec.{name}: {why}"


def _of_claim(obj: Object) -> Iterator[str]:
    return of_claim(obj, "")


def _of_ingress(obj: Object) -> Iterator[str]:
    if _CLASS in (obj["metadata"].get("annotations") or {}):
        yield f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def _of_node(obj: Object) -> Iterator[str]:
    if (obj.get("spec") or {}).get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def _of_slice(obj: Object) -> Iterator[str]:
    if obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def _of_runtime_class(obj: Object) -> Iterator[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector")
    for sentence in of_node_selector(selector, ""):
        yield f"scheduling.nodeSelector: {sentence.partition(': ')[2]}"


def _of_stateful_set(obj: Object) -> Iterator[str]:
    if ((obj.get("spec") or {}).get("revisionHistoryLimit") or 0) < 0:
        why = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {why}"


def _of_job(obj: Object) -> Iterator[str]:
    spec = obj.get("spec") or {}
    many = (spec.get("completions") or 0) > _SLOW_COMPLETIONS
    wide = (spec.get("parallelism") or 0) > _SLOW_PARALLELISM
    if spec.get("completionMode") == "Indexed" and many and wide:
        yield (
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "a Kubernetes control plane might not be able to track completed indexes"
        )


_OWN: dict[str, Advice] = {
    "services": _of_service,
    "persistentvolumes": _of_volume,
    "persistentvolumeclaims": _of_claim,
    "ingresses": _of_ingress,
    "nodes": _of_node,
    "endpointslices": _of_slice,
    "runtimeclasses": _of_runtime_class,
    "jobs": _of_job,
}
