"""With `health = "kubernetes"` what looks like a failure has time, and who was told to wait is no pressure."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.reasons import PendingClass
from services.collector.health import health_times
from services.collector.observe import Interpretation, interpret_snapshot
from services.collector.settings import CollectorSettings
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

KUBERNETES = CollectorSettings(health="kubernetes")
BASELINE = CollectorSettings()
DAY = 86_400.0
KUEUE_GATE = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
OWN_GATE = {"schedulingGates": [{"name": "example.com/license"}]}
GATED = {"node": "", "phase": "Pending", "reason": "SchedulingGated",
         "message": "Scheduling is blocked due to non-empty scheduling gates"}  # fmt: skip


def _observed(
    look: Look, settings: CollectorSettings, *pods: dict[str, Any], **lists: Any
) -> Interpretation:
    cluster = ScriptedCluster(nodes=[node("n1")], pods=list(pods), **lists)
    return interpret_snapshot(look(cluster, health=health_times(settings)), settings)


def _restarted(seconds_ago: float) -> dict[str, Any]:
    ended = {"terminated": {"reason": "Error", "finishedAt": stamp(START_SECONDS - seconds_ago)}}
    status = {"restartCount": 3, "ready": True, "lastState": ended}
    return pod("web", at=START_SECONDS - 60 * DAY, statuses=[status])


@pytest.mark.parametrize(
    ("seconds_ago", "counts"), [(52 * DAY, 0), (901.0, 0), (899.0, 1), (0.0, 1)]
)
def test_a_restart_counts_for_a_quarter_of_an_hour(
    look: Look, seconds_ago: float, counts: int
) -> None:
    """One of 52 days ago says nothing about today; by the baseline's rule it counts for good."""
    assert _observed(look, KUBERNETES, _restarted(seconds_ago)).nodes.restarted_pods == (counts,)
    assert _observed(look, BASELINE, _restarted(seconds_ago)).nodes.restarted_pods == (1,)


def test_a_restart_whose_time_nobody_says_counts(look: Look) -> None:
    """What is not known is no reason to look away."""
    unknown = pod("web", statuses=[{"restartCount": 1, "ready": True}])
    assert _observed(look, KUBERNETES, unknown).nodes.restarted_pods == (1,)
    running = {"running": {"startedAt": stamp(START_SECONDS - DAY)}}
    old = pod("web", statuses=[{"restartCount": 1, "ready": True, "state": running}])
    assert _observed(look, KUBERNETES, old).nodes.restarted_pods == (0,)


@pytest.mark.parametrize(("placed_ago", "sick"), [(10.0, 0), (179.0, 0), (181.0, 1)])
def test_a_pod_has_time_to_start(look: Look, placed_ago: float, sick: int) -> None:
    """A rollout's pods that are not ready yet are no failures until that takes too long."""
    starting = pod("new", ready=False, at=START_SECONDS - placed_ago)
    observed = _observed(look, KUBERNETES, starting)
    assert observed.nodes.unhealthy_pods == (sick,)
    assert observed.totals.sla_violations == sick
    assert _observed(look, BASELINE, starting).nodes.unhealthy_pods == (1,)


def test_a_pod_that_ran_long_and_is_not_ready_is_unhealthy_at_once(look: Look) -> None:
    """Grace is for the start alone: the Ready condition changes later, too."""
    sick = pod("web", ready=False, at=START_SECONDS - DAY)
    assert _observed(look, KUBERNETES, sick).nodes.unhealthy_pods == (1,)


def test_who_is_moved_or_deleted_has_not_failed(look: Look) -> None:
    """An evicted pod is not ready while it ends, and may end as Failed; that is what was asked for."""
    deleted = pod("a", ready=False, at=START_SECONDS - DAY)
    deleted["metadata"]["deletionTimestamp"] = stamp(START_SECONDS)
    moved = pod("b", phase="Failed", at=START_SECONDS - DAY)
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    moved["status"]["conditions"].append(target)
    failed = pod("c", phase="Failed", at=START_SECONDS - DAY)
    observed = _observed(look, KUBERNETES, deleted, moved, failed)
    assert observed.nodes.unhealthy_pods == (1,)
    assert _observed(look, BASELINE, deleted, moved, failed).nodes.unhealthy_pods == (3,)


def test_who_was_told_to_wait_is_no_pressure(look: Look) -> None:
    """A selector, a gate, Kueue and a volume are classes of their own, and none of them is a queue for machines."""
    since = {"created": START_SECONDS - DAY}
    waits: dict[str, dict[str, Any]] = {
        "kueue": {**GATED, "spec": KUEUE_GATE},
        "gated": {**GATED, "spec": OWN_GATE},
        "selector": {"node": "", "phase": "Pending",
                     "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
        "volume": {"node": "", "phase": "Pending",
                   "message": "pod has unbound immediate PersistentVolumeClaims"},
        "insufficient_cpu": {"node": "", "phase": "Pending",
                             "message": "0/1 nodes are available: 1 Insufficient cpu."},
    }  # fmt: skip
    pods = [pod(name.replace("_", "-"), **fields, **since) for name, fields in waits.items()]
    observed = _observed(look, KUBERNETES, *pods)
    assert observed.totals.pending_by_class == dict.fromkeys(sorted(waits), 1)
    assert (observed.totals.queue_length, observed.totals.sla_violations) == (1, 1)
    assert _observed(look, BASELINE, *pods).totals.queue_length == 5


def test_the_gates_of_a_pod_stand_in_its_row(look: Look) -> None:
    """The API's message does not name them."""
    gated = pod("g", **GATED, spec=OWN_GATE)
    row = look(ScriptedCluster(nodes=[node("n1")], pods=[gated])).pods.row(0)
    assert row["status_message"].endswith("scheduling gates (example.com/license)")


def test_workloads_whose_pods_nobody_makes(look: Look) -> None:
    """A quota refuses a Deployment's pods, Kueue has not admitted a Job: no Pending pod tells of either."""
    words = 'pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": words,
    }
    web = {"metadata": {"name": "web", "namespace": "shop", "creationTimestamp": stamp(0)},
           "spec": {"replicas": 5}, "status": {"replicas": 2, "conditions": [failure]}}  # fmt: skip
    label = {"kueue.x-k8s.io/queue-name": "team"}
    jobs = [
        {"metadata": {"name": name, "namespace": "shop", "labels": labels,
                      "creationTimestamp": stamp(0)},
         "spec": {"parallelism": 4, "suspend": suspended}}
        for name, labels, suspended in (
            ("waits", label, True), ("runs", label, False), ("paused", {}, True))
    ]  # fmt: skip
    lists = {"deployments": [web], "jobs": jobs}
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[], **lists)
    held = look(cluster).held_back
    assert [(one.workload, one.pending_class, one.pods, one.message) for one in held] == [
        ("shop/Deployment/web", PendingClass.QUOTA, 3, words),
        ("shop/Job/waits", PendingClass.KUEUE, 4, ""),
    ]
    assert _observed(look, BASELINE, **lists).totals.held_back_by_class == {"kueue": 4, "quota": 3}
    mended = {**web, "status": {"replicas": 5, "conditions": [failure]}}
    assert not look(ScriptedCluster(nodes=[], pods=[], deployments=[mended])).held_back


def test_nodes_are_counted_by_zone_where_there_are_two(look: Look) -> None:
    """For the executor's brake; one zone alone says no more than the totals."""
    zone = "topology.kubernetes.io/zone"
    nodes = [
        node("n1", labels={zone: "a"}),
        node("n2", labels={zone: "b"}, ready=False),
        node("n3", labels={zone: "b"}),
        node("n4"),
    ]
    cluster = ScriptedCluster(nodes=nodes, pods=[])
    counted = interpret_snapshot(look(cluster), BASELINE).totals.zones
    assert [(one.zone, one.nodes, one.nodes_ready) for one in counted] == [("a", 1, 1), ("b", 2, 1)]
    assert (
        interpret_snapshot(look(ScriptedCluster(nodes=nodes[1:], pods=[])), BASELINE).totals.zones
        == ()
    )
