"""Controllers that an arm puts beside every Deployment: an HPA, a VPA, as the team that deploys it would."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from lab.experiments.arms import Arm, Autoscaling
from twin.port.engine import ApiError, Change, Engine
from twin.port.objects import ObjectRecord

_EVENT = "experiments.controllers"


class DeploymentControllers:
    """Creates the arm's objects for each Deployment of the workload, at the moment of its arrival."""

    def __init__(self, engine: Engine, arm: Arm) -> None:
        """Follow an engine that has not begun to play."""
        self._engine = engine
        self._arm = arm
        engine.clock.handle(_EVENT, self._create)
        engine.store.subscribe(self._follow)

    def _follow(self, change: Change) -> None:
        if change.resource == "deployments" and change.type == "ADDED":
            # Nobody writes to the store while it tells of a change.
            self._engine.clock.after(0.0, _EVENT, change.record.namespace, change.record.name)

    def _create(self, namespace: str, name: str) -> None:
        store = self._engine.store
        deployment = store.find("deployments", namespace, name)
        if not isinstance(deployment, ObjectRecord):
            return  # gone within the moment
        owner = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": name,
            "uid": deployment.uid,
        }
        metadata = {"name": name, "ownerReferences": [owner]}
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        with suppress(ApiError):  # the workload or its scenario brings its own
            if self._arm.autoscaling is not None:
                replicas = int(deployment.body["spec"].get("replicas", 1))
                spec = horizontal_spec(self._arm.autoscaling, replicas, target)
                store.create(
                    "horizontalpodautoscalers", namespace, {"metadata": metadata, "spec": spec}
                )
        with suppress(ApiError):
            if self._arm.vertical:
                spec = {"targetRef": target, "updatePolicy": {"updateMode": "InPlaceOrRecreate"}}
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
