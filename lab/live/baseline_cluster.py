"""The preset `baseline-cluster`: the workload that two clusters are compared on, with the predecessors' values.

A web Deployment under a HorizontalPodAutoscaler, a load generator, and a surge that waits at 0 replicas; sizes,
bounds and policies are those of the predecessors' comparison (requests and limits, 1 to 24 replicas at 45 % CPU, up by
200 % or 6 pods in 15 s, down by half in 30 s after 90 s). Unlike theirs, every cluster gets all of it, the surge too,
and the autoscaler keeps its 24.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from bus.clock import Clock
from bus.errors import Temporary
from services.cluster import MERGE_PATCH, ClusterRefused, Transport
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Pod

NAMESPACE = "foresail-comparison"
PART_OF, PART_OF_VALUE = "app.kubernetes.io/part-of", "foresail-baseline-cluster"
WEB, LOAD, SURGE = "comparison-web", "comparison-load-generator", "comparison-surge"
SURGE_REPLICAS = 8
WEB_IMAGE = "registry.k8s.io/hpa-example:latest"
"""Kubernetes' own example for autoscaling: each request computes for some ten milliseconds."""
LOAD_IMAGE = "busybox:1.36"
SURGE_IMAGE = "registry.k8s.io/pause:3.10"
CHECK_SECONDS = 1.0
TRAFFIC = "constant requests_per_second=20"
"""What the load generator's two pods amount to on the simulated cluster, which runs no program of theirs."""
_PODS = list_decoder(Pod)
_PLURALS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Service": "/api/v1/namespaces/{}/services",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
}

Manifest = Mapping[str, Any]


class PodsLeft(Temporary):
    """Pods of the preset are still there; says how many."""


def baseline_objects(namespace: str) -> list[Manifest]:
    """Return the preset's objects, in the order in which they are created."""
    web = _deployment(namespace, WEB, 1, WEB_IMAGE, ("200m", "128Mi"), ("700m", "384Mi"))
    load = _deployment(namespace, LOAD, 2, LOAD_IMAGE, ("40m", "32Mi"), ("250m", "96Mi"))
    loop = f"while true; do wget -q -O /dev/null http://{WEB}; done"
    load["spec"]["template"]["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", loop]
    surge = _deployment(namespace, SURGE, 0, SURGE_IMAGE, ("900m", "384Mi"), None)
    return [web, _service(namespace), _autoscaler(namespace), load, surge]


def _metadata(namespace: str, name: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": {PART_OF: PART_OF_VALUE}}


def _deployment(
    namespace: str,
    name: str,
    replicas: int,
    image: str,
    requests: tuple[str, str],
    limits: tuple[str, str] | None,
) -> dict[str, Any]:
    resources = {"requests": dict(zip(("cpu", "memory"), requests, strict=True))}
    if limits is not None:
        resources["limits"] = dict(zip(("cpu", "memory"), limits, strict=True))
    labels = {PART_OF: PART_OF_VALUE, "app": name}
    container = {"name": "main", "image": image, "resources": resources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(namespace, name),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
            },
        },
    }


def _service(namespace: str) -> Manifest:
    metadata = _metadata(namespace, WEB)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "annotations": {"foresail.dev/traffic": TRAFFIC}},
        "spec": {"selector": {"app": WEB}, "ports": [{"port": 80, "targetPort": 80}]},
    }


def _autoscaler(namespace: str) -> Manifest:
    up = [
        {"type": "Percent", "value": 200, "periodSeconds": 15},
        {"type": "Pods", "value": 6, "periodSeconds": 15},
    ]
    down = [{"type": "Percent", "value": 50, "periodSeconds": 30}]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(namespace, WEB),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": WEB},
            "minReplicas": 1,
            "maxReplicas": 24,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 45},
                    },
                }
            ],
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 0,
                    "selectPolicy": "Max",
                    "policies": up,
                },
                "scaleDown": {"stabilizationWindowSeconds": 90, "policies": down},
            },
        },
    }


async def create(transports: Sequence[Transport], namespace: str) -> None:
    """Create the preset in every cluster, at the same moment; what is there already stays as it is.

    Raises:
        ClusterUnavailable, ClusterRefused: some object could not be created.
    """
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for path, body in (
        ("/api/v1/namespaces", space),
        *((_PLURALS[one["kind"]].format(namespace), one) for one in baseline_objects(namespace)),
    ):
        await asyncio.gather(*(_create_one(transport, path, body) for transport in transports))


async def surge(transports: Sequence[Transport], namespace: str, replicas: int) -> None:
    """Scale the surge in every cluster, at the same moment.

    Raises:
        ClusterUnavailable, ClusterRefused: it could not be scaled; 404: the preset is not there.
    """
    path = f"{_PLURALS['Deployment'].format(namespace)}/{SURGE}"
    body = {"spec": {"replicas": replicas}}
    await asyncio.gather(
        *(transport.request("PATCH", path, {}, body, MERGE_PATCH) for transport in transports)
    )


async def remove(
    transports: Sequence[Transport], namespace: str, clock: Clock, patience_seconds: float
) -> None:
    """Remove the preset's objects from every cluster, by name, and wait until their pods are gone.

    The namespace stays, and so does everything in it that is not the preset's.

    Raises:
        ClusterUnavailable, ClusterRefused: some object could not be removed.
        PodsLeft: pods are there after `patience_seconds`.
    """
    for one in reversed(baseline_objects(namespace)):
        path = f"{_PLURALS[one['kind']].format(namespace)}/{one['metadata']['name']}"
        await asyncio.gather(*(_delete_one(transport, path) for transport in transports))
    end = clock.monotonic() + patience_seconds
    while True:
        left = sum(await asyncio.gather(*(_pods_left(one, namespace) for one in transports)))
        if not left:
            return
        if clock.monotonic() >= end:
            raise PodsLeft(f"{left} pods are still in {namespace}; try again in a while")
        await clock.sleep(CHECK_SECONDS)


async def reset(
    transports: Sequence[Transport], namespace: str, clock: Clock, patience_seconds: float
) -> None:
    """Bring every cluster's preset back to its beginning: 1 web pod, no surge, no past of the autoscaler.

    Raises:
        ClusterUnavailable, ClusterRefused, PodsLeft: as `remove` and `create`.
    """
    await remove(transports, namespace, clock, patience_seconds)
    await create(transports, namespace)


async def _create_one(transport: Transport, path: str, body: Manifest) -> None:
    try:
        await transport.request("POST", path, body=body)
    except ClusterRefused as error:
        if error.status != 409:
            raise


async def _delete_one(transport: Transport, path: str) -> None:
    try:
        await transport.request("DELETE", path, {"propagationPolicy": "Background"})
    except ClusterRefused as error:
        if error.status != 404:
            raise


async def _pods_left(transport: Transport, namespace: str) -> int:
    ours = {"labelSelector": f"{PART_OF}={PART_OF_VALUE}"}
    pods = await read_list(transport, f"/api/v1/namespaces/{namespace}/pods", _PODS, ours)
    return len(pods.items)
