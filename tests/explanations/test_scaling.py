"""What an autoscaler's metrics ask for, by the controller's formula, and what holds it back."""

from __future__ import annotations

from typing import Any

import pytest

from lab.explanations.scaling import Target
from lab.explanations.why_not_scaled import WhyNotScaled, why_not_scaled

NOW = 1_800_000_000.0
LONG_AGO, JUST_NOW = "2027-01-15T06:00:00Z", "2027-01-15T07:59:50Z"


def autoscaler(*metrics: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return an autoscaler of `web`."""
    status = spec.pop("status", {"desiredReplicas": 3})
    return {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"minReplicas": 1, "maxReplicas": 10, "metrics": list(metrics), **spec},
        "status": status,
    }


def cpu(percent: int = 50) -> dict[str, Any]:
    """Return a CPU metric with a target in percent of requests."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def pod(name: str, ready: str = "True", started: str = LONG_AGO, **metadata: Any) -> dict[str, Any]:
    """Return a running pod that requests one core."""
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": started}]
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "startTime": started, "conditions": conditions},
    }


def using(*cores: str) -> dict[str, Any]:
    """Return the metrics of pods p0, p1, ... with what each uses."""
    return {
        f"p{number}": {
            "timestamp": JUST_NOW,
            "window": "15s",
            "containers": [{"name": "c", "usage": {"cpu": amount}}],
        }
        for number, amount in enumerate(cores)
    }


def answer(
    hpa: dict[str, Any],
    pods: list[dict[str, Any]],
    metrics: dict[str, Any],
    replicas: int | None = None,
) -> WhyNotScaled:
    """Explain at one moment."""
    target = Target("Deployment", "web", len(pods) if replicas is None else replicas)
    return why_not_scaled(hpa, target, pods, metrics, NOW)


THREE = [pod("p0"), pod("p1"), pod("p2")]


def test_the_formula_and_the_metric_that_rules() -> None:
    """90 % of the request against 50 %: 3 x 1.8 is six; a second metric that asks for less does not rule."""
    found = answer(autoscaler(cpu(100), cpu(50)), THREE, using("900m", "900m", "900m"))

    assert [one.replicas for one in found.metrics] == [3, 6]
    assert (found.asked, found.allowed) == (6, 6)
    assert found.metrics[1].reads == "90 % of requests"
    assert found.metrics[1].age_seconds == 10.0


def test_within_the_tolerance_nothing_changes() -> None:
    """1.08 times the target: three replicas, and without the tolerance four."""
    found = answer(autoscaler(cpu()), THREE, using("540m", "540m", "540m"))

    assert found.asked == 3
    assert [(one.what, one.replicas) for one in found.holds] == [("tolerance", 4)]


def test_an_autoscaler_may_have_a_tolerance_of_its_own() -> None:
    """Five percent upwards: then 1.08 is not within."""
    rules = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 9, "periodSeconds": 15}]}
    behavior = {
        "scaleUp": {**rules, "stabilizationWindowSeconds": 0, "tolerance": "50m"},
        "scaleDown": dict(rules),
    }
    found = answer(autoscaler(cpu(), behavior=behavior), THREE, using("540m", "540m", "540m"))

    assert (found.asked, found.holds) == (4, ())


def test_pods_without_a_value_count_as_idle_on_the_way_up() -> None:
    """One of three has no metric: 2 x 90 % over three pods is 60 %: four replicas, not six."""
    found = answer(autoscaler(cpu()), THREE, using("900m", "900m"))
    (metric,) = found.metrics

    assert metric.missing == ("p2",)
    assert metric.replicas == 4
    assert metric.without_corrections == 4


def test_starting_pods_are_named_and_failed_ones_left_out() -> None:
    """One became ready after its value was measured, one has failed."""
    failed = pod("p3")
    failed["status"]["phase"] = "Failed"
    pods = [*THREE[:2], pod("p2", started=JUST_NOW), failed]
    (metric,) = answer(autoscaler(cpu()), pods, using("900m", "900m", "1", "1"), 3).metrics

    assert metric.unready == ("p2",)
    assert metric.ignored == ("p3",)


def test_where_a_metric_is_silent_nothing_is_taken_away() -> None:
    """CPU alone would ask for one."""
    memory = {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}}
    found = answer(autoscaler(cpu(), memory), THREE, using("100m", "100m", "100m"))

    assert [one.replicas for one in found.metrics] == [1, None]
    assert found.asked is None
    assert [one.what for one in found.holds] == ["silent metric"]


@pytest.mark.parametrize(
    ("least", "most", "use", "allowed", "what"),
    [
        (1, 5, "1", 5, "maximum"),
        (2, 9, "100m", 2, "minimum"),
        (1, 90, "10", 6, "rate"),
    ],
)
def test_limits_hold_it(least: int, most: int, use: str, allowed: int, what: str) -> None:
    """Minimum, maximum, and at most twice as many at once."""
    hpa = autoscaler(cpu(), minReplicas=least, maxReplicas=most)
    found = answer(hpa, THREE, using(use, use, use))

    assert found.allowed == allowed
    assert [(one.what, one.replicas) for one in found.holds] == [(what, found.asked)]


def test_the_controllers_own_memory_is_told_by_its_conditions() -> None:
    """It says three where one is asked for, and its condition says why and since when."""
    condition = {
        "type": "AbleToScale",
        "status": "True",
        "reason": "ScaleDownStabilized",
        "message": "recent recommendations were higher than current one",
        "lastTransitionTime": "2027-01-15T07:58:00Z",
    }
    status = {"desiredReplicas": 3, "conditions": [condition]}
    found = answer(autoscaler(cpu(), status=status), THREE, using("100m", "100m", "100m"))

    assert (found.asked, found.own_desired, found.agrees) == (1, 3, True)
    (hold,) = found.holds
    assert (hold.what, hold.since_seconds) == ("stabilisation", NOW - 120.0)
    unexplained = answer(autoscaler(cpu()), THREE, using("100m", "100m", "100m"))
    assert not unexplained.agrees


def test_other_metrics_are_taken_from_what_the_status_read() -> None:
    """A queue of 90 for three pods that may have ten each: nine."""
    metric = {"name": "queue"}
    external = {"metric": metric, "target": {"type": "AverageValue", "averageValue": "10"}}
    read = {"metric": metric, "current": {"averageValue": "30"}}
    status = {"desiredReplicas": 9, "currentMetrics": [{"type": "External", "external": read}]}
    hpa = autoscaler({"type": "External", "external": external}, status=status)
    found = answer(hpa, THREE, {})

    assert [(one.replicas, one.own_value) for one in found.metrics] == [(9, True)]
    assert found.allowed == 6  # at most twice as many at once


def test_without_replicas_scaling_is_disabled() -> None:
    """Nothing is asked for a target that somebody scaled to nothing."""
    found = answer(autoscaler(cpu()), [], {}, 0)

    assert found.asked is None
    assert "disabled" in {one.what for one in found.holds}


@pytest.mark.parametrize(("replicas", "allowed", "what"), [(12, 10, "maximum"), (1, 2, "minimum")])
def test_beyond_its_bounds_it_goes_there_first(replicas: int, allowed: int, what: str) -> None:
    """Without a look at metrics."""
    found = answer(autoscaler(cpu(), minReplicas=2), THREE, using("1", "1", "1"), replicas)

    assert found.allowed == allowed
    assert [one.what for one in found.holds] == [what]
