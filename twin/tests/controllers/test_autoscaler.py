"""HorizontalPodAutoscalers end to end: metrics with their lag, conditions, events and speed."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from kubernetes.client import ApiClient

from twin.conversion import to_v1, to_v2
from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def target(percent: int = 50, most: int = 10, **spec: Any) -> Object:
    """Return the spec of an autoscaler of Deployment web."""
    metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "scaleTargetRef": reference,
        "maxReplicas": most,
        "metrics": [{"type": "Resource", "resource": metric}],
        **spec,
    }


def busy(workload: Build, replicas: int, ratio: str, **options: Any) -> Object:
    """Return a Deployment whose pods use this part of their CPU request."""
    notes = {"foresail.dev/cpu-usage-ratio": ratio}
    return workload("web", replicas, notes=notes, cpu="200m", **options)


def desired_replicas(cluster: Any) -> int:
    """Return the replicas of the Deployment."""
    return int(cluster.get("deployments", "web")["spec"]["replicas"])


def test_load_above_the_target_scales_up(cluster: Any, workload: Build) -> None:
    """After metrics have come, replicas follow to the maximum; conditions and events say so."""
    cluster.create("deployments", "web", busy(workload, 2, "1.0"))
    cluster.create("horizontalpodautoscalers", "web", target(most=6))
    cluster.run(14)
    assert cluster.status("horizontalpodautoscalers", "web")["desiredReplicas"] == 0
    cluster.run(2)
    assert desired_replicas(cluster) == 2
    conditions = cluster.conditions("horizontalpodautoscalers", "web")
    assert conditions["ScalingActive"] == ("False", "FailedGetResourceMetric")
    cluster.run(200)
    status = cluster.status("horizontalpodautoscalers", "web")
    conditions = cluster.conditions("horizontalpodautoscalers", "web")

    assert (desired_replicas(cluster), status["currentReplicas"], status["desiredReplicas"]) == (
        6,
        6,
        6,
    )
    assert conditions["ScalingActive"] == ("True", "ValidMetricFound")
    assert conditions["ScalingLimited"] == ("True", "TooManyReplicas")
    current = status["currentMetrics"][0]["resource"]["current"]
    assert current["averageUtilization"] > 80
    assert current["averageValue"].endswith("m")
    texts = [text for reason, text in cluster.kube_events("web") if reason == "SuccessfulRescale"]
    why = "reason: cpu resource utilization (percentage of request) above target"
    assert [text.partition("; ")[2] for text in texts] == [why] * len(texts)
    assert texts[-1].startswith("New size: 6")
    assert status["lastScaleTime"] > "2026-01-01T00:00:30Z"


def test_a_decrease_waits_five_minutes(cluster: Any, workload: Build) -> None:
    """Below the target nothing happens for 300 s, then replicas fall to what is needed."""
    cluster.create("deployments", "web", busy(workload, 6, "0.1"))
    cluster.create("horizontalpodautoscalers", "web", target(minReplicas=2))
    cluster.run(300)
    assert desired_replicas(cluster) == 6
    able = cluster.conditions("horizontalpodautoscalers", "web")["AbleToScale"]
    assert able == ("True", "ScaleDownStabilized")
    cluster.run(60)

    assert desired_replicas(cluster) == 2
    assert (
        "SuccessfulRescale",
        "New size: 2; reason: All metrics below target",
    ) in cluster.kube_events("web")


def test_behavior_slows_the_decrease(cluster: Any, workload: Build) -> None:
    """One pod a minute, without a window: six replicas take four minutes to become two."""
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    rules = {"stabilizationWindowSeconds": 0, "policies": policies}
    cluster.create("deployments", "web", busy(workload, 6, "0.05"))
    spec = target(minReplicas=2, behavior={"scaleDown": rules})
    cluster.create("horizontalpodautoscalers", "web", spec)
    cluster.run(60)
    seen = [desired_replicas(cluster)]
    cluster.watch(300, lambda: seen.append(desired_replicas(cluster)), every=15.0)

    assert all(0 <= before - after <= 1 for before, after in pairwise(seen))
    assert seen[-1] == 2
    assert seen.count(4) >= 4


def test_bounds_hold_without_metrics(cluster: Any, workload: Build) -> None:
    """Replicas outside of the bounds are brought back at the first look, metrics or not."""
    cluster.create("deployments", "web", busy(workload, 9, "0.5"))
    cluster.create("horizontalpodautoscalers", "web", target(most=3))
    cluster.run(16)
    assert desired_replicas(cluster) == 3
    text = "New size: 3; reason: Current number of replicas above Spec.MaxReplicas"
    assert ("SuccessfulRescale", text) in cluster.kube_events("web")


def test_zero_replicas_switch_it_off(cluster: Any, workload: Build) -> None:
    """A target that was scaled to nothing is left alone."""
    cluster.create("deployments", "web", busy(workload, 0, "0.5"))
    cluster.create("horizontalpodautoscalers", "web", target())
    cluster.run(60)
    active = cluster.conditions("horizontalpodautoscalers", "web")["ScalingActive"]

    assert (desired_replicas(cluster), active) == (0, ("False", "ScalingDisabled"))


def test_a_missing_target_is_named(cluster: Any) -> None:
    """AbleToScale says what was not found."""
    cluster.create("horizontalpodautoscalers", "web", target())
    cluster.run(20)
    able = cluster.conditions("horizontalpodautoscalers", "web")["AbleToScale"]

    assert able == ("False", "FailedGetScale")
    assert ("FailedGetScale", 'deployments.apps "web" not found') in cluster.kube_events("web")


def test_stateful_sets_scale_too(cluster: Any, workload: Build) -> None:
    """The target may be a StatefulSet; AverageValue targets work on it."""
    cluster.create("statefulsets", "web", busy(workload, 1, "1.0"))
    metric = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}
    metrics = [{"type": "Resource", "resource": metric}]
    cluster.create("horizontalpodautoscalers", "web",
                   target(scaleTargetRef=reference, metrics=metrics, most=3))  # fmt: skip
    cluster.run(180)

    assert cluster.get("statefulsets", "web")["spec"]["replicas"] == 3


def test_one_that_is_switched_off_does_nothing(
    make_cluster: Callable[..., Any], workload: Build
) -> None:
    """switched_off keeps the object and leaves the replicas alone."""
    cluster = make_cluster(3, switched_off=("horizontalpodautoscalers",))
    cluster.create("deployments", "web", busy(workload, 9, "1.0"))
    cluster.create("horizontalpodautoscalers", "web", target(most=3))
    cluster.run(60)

    assert desired_replicas(cluster) == 9


@pytest.mark.parametrize(("spec", "field"), [
    ({"maxReplicas": 0}, "spec.maxReplicas"), ({"minReplicas": 11}, "spec.maxReplicas"),
    ({"scaleTargetRef": {}}, "spec.scaleTargetRef.kind"),
    ({"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {}}}]}, "target"),
    ({"behavior": {"scaleUp": {"selectPolicy": "Some"}}}, "selectPolicy")])  # fmt: skip
def test_bad_specs_are_refused(cluster: Any, spec: Object, field: str) -> None:
    """422 names the field."""
    with pytest.raises(ApiError, match=field):
        cluster.create("horizontalpodautoscalers", "web", target(**spec))


def test_versions_convert_into_one_another(cluster: Any, workload: Build) -> None:
    """v1 shows the CPU target and current utilization; going back to v2 loses nothing."""
    cluster.create("deployments", "web", busy(workload, 2, "0.5"))
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    spec = target(behavior={"scaleDown": {"stabilizationWindowSeconds": 60}})
    spec["metrics"].append({"type": "Resource", "resource": memory})
    cluster.create("horizontalpodautoscalers", "web", spec)
    cluster.run(120)
    stored = cluster.get("horizontalpodautoscalers", "web")
    old = to_v1(stored)

    assert old["apiVersion"] == "autoscaling/v1"
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50
    assert 30 < old["status"]["currentCPUUtilizationPercentage"] < 80
    assert to_v2(old) == {**stored, "metadata": {**stored["metadata"], "annotations": {}}}


def test_both_versions_decode(cluster: Any, workload: Build) -> None:
    """The official client's models of both versions take what is served."""
    cluster.create("deployments", "web", busy(workload, 2, "1.0"))
    cluster.create("horizontalpodautoscalers", "web", target())
    cluster.run(120)
    stored = cluster.get("horizontalpodautoscalers", "web")
    for obj, model in ((stored, "V2"), (to_v1(stored), "V1")):
        name = f"{model}HorizontalPodAutoscaler"
        decoded = ApiClient().deserialize(json.dumps(obj), name, "application/json")
        assert decoded.status.desired_replicas == stored["status"]["desiredReplicas"]
