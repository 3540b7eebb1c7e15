"""`foresail explain hpa NAME --why-not scale`: what each metric asks for and what holds it back, by reads alone."""

from __future__ import annotations

import json
from typing import Any

from bus.errors import InputError
from foresail.near import full_name
from lab.explanations.frozen_cluster import Object
from lab.explanations.reading import CORE, list_objects
from lab.explanations.scaling import Target
from lab.explanations.why_not_scaled import WhyNotScaled, why_not_scaled
from services.cluster import ClusterRefused, Transport
from twin.selectors import matches

AUTOSCALERS = "/apis/autoscaling/v2/horizontalpodautoscalers"
METRICS = "/apis/metrics.k8s.io/v1beta1"
_PLURALS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "ReplicaSet": "replicasets"}


async def explain_scaling(transport: Transport, name: str) -> WhyNotScaled:
    """Read one autoscaler, what it scales, its pods and their metrics, and answer.

    Raises:
        InputError: there is no such autoscaler, or several; what it scales is not there or of another kind.
        ClusterUnavailable: no answer.
        ClusterRefused: what is needed may not be read.
    """
    autoscalers, _ = await list_objects(transport, AUTOSCALERS)
    known = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in autoscalers
    }
    found = known[full_name(name, known, "hpa")]
    namespace = found["metadata"]["namespace"]
    scaled = await _scaled(transport, namespace, found["spec"]["scaleTargetRef"])
    selector = scaled["spec"].get("selector")
    pods, now = await list_objects(transport, f"{CORE}/namespaces/{namespace}/pods")
    own = [pod for pod in pods if matches(selector, pod["metadata"].get("labels") or {})]
    metrics = await _metrics(transport, namespace)
    replicas = int(scaled["spec"].get("replicas", 1))
    target = Target(scaled["kind"], scaled["metadata"]["name"], replicas)
    return why_not_scaled(found, target, own, metrics, now)


async def _scaled(transport: Transport, namespace: str, reference: Object) -> Object:
    kind, name = reference["kind"], reference["name"]
    plural = _PLURALS.get(kind)
    if plural is None:
        remedy = f"it scales a {kind}; known are {', '.join(_PLURALS)}"
        raise InputError("NAME", f"{namespace}/{name}", remedy)
    try:
        answer = await transport.request(
            "GET", f"/apis/apps/v1/namespaces/{namespace}/{plural}/{name}"
        )
    except ClusterRefused as error:
        if error.status != 404:
            raise
        remedy = f"the {kind} that it scales is not there"
        raise InputError("NAME", f"{namespace}/{name}", remedy) from error
    found: dict[str, Any] = json.loads(answer.body)
    return {"kind": kind, **found}


async def _metrics(transport: Transport, namespace: str) -> dict[str, Object]:
    """Return PodMetrics by name; none where nobody serves them."""
    try:
        metrics, _ = await list_objects(transport, f"{METRICS}/namespaces/{namespace}/pods")
    except ClusterRefused:
        return {}
    return {one["metadata"]["name"]: one for one in metrics}
