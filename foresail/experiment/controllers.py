"""Controllers that an arm puts beside every Deployment: an HPA, a VPA, as the team that deploys it would.

A VPA stands beside Jobs, too, and may touch the only pod of a workload: where most workloads have one pod, its default
(`minReplicas` 2) would leave it nothing to do.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from lab.experiments.arms import Arm, Autoscaling
from twin.port.engine import ApiError, Change, Engine
from twin.port.objects import ObjectRecord

_EVENT = "experiments.controllers"
_KINDS = {"deployments": ("apps/v1", "Deployment"), "jobs": ("batch/v1", "Job")}


class DeploymentControllers:
    """Creates the arm's objects for each Deployment and Job of the workload, at the moment of its arrival."""

    def __init__(self, engine: Engine, arm: Arm) -> None:
        """Follow an engine that has not begun to play."""
        self._engine = engine
        self._arm = arm
        engine.clock.handle(_EVENT, self._create)
        engine.store.subscribe(self._follow)

    def _follow(self, change: Change) -> None:
        if change.resource in _KINDS and change.type == "ADDED":
            # Nobody writes to the store while it tells of a change.
            record = change.record
            self._engine.clock.after(0.0, _EVENT, change.resource, record.namespace, record.name)

    def _create(self, resource: str, namespace: str, name: str) -> None:
        store = self._engine.store
        workload = store.find(resource, namespace, name)
        if not isinstance(workload, ObjectRecord):
            return  # gone within the moment
        version, kind = _KINDS[resource]
        target = {"apiVersion": version, "kind": kind, "name": name}
        metadata = {"name": name, "ownerReferences": [{**target, "uid": workload.uid}]}
        with suppress(ApiError):  # the workload or its scenario brings its own
            if self._arm.autoscaling is not None and kind == "Deployment":
                replicas = int(workload.body["spec"].get("replicas", 1))
                spec = horizontal_spec(self._arm.autoscaling, replicas, target)
                store.create(
                    "horizontalpodautoscalers", namespace, {"metadata": metadata, "spec": spec}
                )
        with suppress(ApiError):
            if self._arm.vertical:
                policy = {"updateMode": "InPlaceOrRecreate", "minReplicas": 1}
                spec = {"targetRef": target, "updatePolicy": policy}
                store.create(
                    "verticalpodautoscalers", namespace, {"metadata": metadata, "spec": spec}
                )


def horizontal_spec(
    autoscaling: Autoscaling, replicas: int, target: dict[str, Any]
) -> dict[str, Any]:
    """Return the spec of an HPA on CPU for a Deployment that was created with so many replicas."""
    wanted = {"type": "Utilization", "averageUtilization": autoscaling.cpu_percent}
    return {
        "scaleTargetRef": target,
        "minReplicas": max(1, math.floor(autoscaling.least_ratio * replicas)),
        "maxReplicas": max(1, math.ceil(autoscaling.most_ratio * replicas)),
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": wanted}}],
    }
