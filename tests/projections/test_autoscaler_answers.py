"""Why an autoscaler did not scale, from the limits and conditions that snapshots hold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from projections.objects.answers import answer_of
from projections.objects.history import ObjectHistory
from projections.objects.names import ObjectKind, ObjectNames
from schemas.frames import frame_of
from schemas.registry import to_json
from schemas.snapshot import AutoscalerState, PodTable, SnapshotWorkloads, WorkloadTable
from services.collector.scalings import autoscaler_states, scaling_rows
from services.kube_workloads import Autoscaler
from tests.builders import START_SECONDS, stamp_event

NAME = "shop/HorizontalPodAutoscaler/web"


def workloads(*states: AutoscalerState) -> SnapshotWorkloads:
    """Return a snapshot of workloads with these autoscalers."""
    return frame_of(
        SnapshotWorkloads,
        {"workloads": WorkloadTable(), "pods": PodTable()},
        cycle=1,
        previous=None,
        keyframe_every=1,
        cluster_time_seconds=START_SECONDS,
        pods_running=0,
        pods_total=0,
        bare_pods_succeeded=0,
        autoscalers=states,
    )


def state(**fields: Any) -> AutoscalerState:
    """Return an autoscaler at rest within its bounds."""
    usual: dict[str, Any] = {
        "object": NAME,
        "workload": "shop/Deployment/web",
        "min_replicas": 2,
        "max_replicas": 10,
        "current_replicas": 4,
        "desired_replicas": 4,
        "active": "ValidMetricFound",
        "limited": "DesiredWithinRange",
        "able": "ReadyForNewScale",
    }
    return AutoscalerState(**{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"desired_replicas": 10, "limited": "TooManyReplicas"}, "at its maximum of 10"),
        ({"desired_replicas": 2, "limited": "TooFewReplicas"}, "at its minimum of 2"),
        ({"active": "FailedGetResourceMetric"}, "no metrics (FailedGetResourceMetric)"),
        ({"active": "AmbiguousSelector", "inactive": "by [a b]"}, "(AmbiguousSelector: by [a b])"),
        (
            {
                "active": "FailedGetExternalMetric",
                "missing_metrics": ("External lag",),
                "metrics": 2,
            },
            "1 of its 2 metrics cannot be read, External lag (FailedGetExternalMetric); it does not scale down",
        ),
        ({"missing_metrics": ("External lag",), "metrics": 2}, "1 of its 2 metrics cannot be read"),
        ({"able": "FailedGetScale"}, "(FailedGetScale)"),
        ({"active": "ScalingDisabled"}, "scaled to 0"),
        ({"able": "ScaleDownStabilized"}, "stabilization window (ScaleDownStabilized)"),
        ({}, "within tolerance"),
    ],
)
def test_an_autoscaler_that_changed_nothing_says_why(fields: dict[str, Any], said: str) -> None:
    """The newest conditions and bounds in the log are the answer; nothing is guessed."""
    event = stamp_event(workloads(state(**fields)), seq=1)
    names, history = ObjectNames(), ObjectHistory(ObjectKind.HPA, NAME, "shop/Deployment/web")
    names.add(event)
    history.add(event)
    answer = answer_of(history)

    assert names.scale_targets == {NAME: "shop/Deployment/web"}
    assert said in answer.answer
    assert any("between 2 and 10" in fact for fact in answer.facts)


def test_a_log_without_limits_says_no_more_than_it_knows() -> None:
    """Older recordings have no autoscalers in their snapshots: no reason is made up."""
    stored = workloads().model_dump(mode="json")
    del stored["autoscalers"]
    read = SnapshotWorkloads.read(to_json(stored))
    history = ObjectHistory(ObjectKind.HPA, NAME, "shop/Deployment/web")
    history.add(stamp_event(read, seq=1))

    assert read.autoscalers == ()
    assert answer_of(history).answer == "it changed nothing in this log"


def test_limits_and_conditions_are_those_of_the_cluster() -> None:
    """Bounds, replicas and the reasons of three conditions come from the object as the API has it."""
    content = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 10,
        },
        "status": {
            "currentReplicas": 4,
            "desiredReplicas": 4,
            "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
                {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
                {"type": "ScalingLimited", "status": "False", "reason": "DesiredWithinRange"},
            ],
        },
    }

    assert autoscaler_states(scaling_rows([msgspec.convert(content, Autoscaler)])) == (state(),)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"active": "AmbiguousSelector", "desired_replicas": 0},
            "what it wants was never computed",
        ),
        ({"active": "", "desired_replicas": 0}, "what it wants was never computed"),
        ({"active": "FailedGetResourceMetric"}, "wanted 4 replicas when it last computed that"),
        ({"desired_replicas": 0, "min_replicas": 0}, "wants 0 replicas and had 4"),
    ],
)
def test_a_wish_that_was_never_computed_is_unknown(fields: dict[str, Any], said: str) -> None:
    """0 is a wish only where it was computed."""
    history = ObjectHistory(ObjectKind.HPA, NAME, "shop/Deployment/web")
    history.add(stamp_event(workloads(state(**fields)), seq=1))

    assert any(fact.startswith(said) for fact in answer_of(history).facts)


def test_the_metric_that_could_not_be_read_is_named() -> None:
    """A status has one entry for each metric of the spec; that of an unreadable one has no type."""
    content = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu"}},
                {"type": "External", "external": {"metric": {"name": "lag"}}},
            ],
        },
        "status": {
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu"}}, {"type": ""}],
            "conditions": [{"type": "ScalingActive", "status": "False", "message": "no lag"}],
        },
    }
    (seen,) = autoscaler_states(scaling_rows([msgspec.convert(content, Autoscaler)]))

    assert (seen.missing_metrics, seen.metrics) == (("External lag",), 2)
    assert seen.inactive == "no lag"
