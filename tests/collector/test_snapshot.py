"""Layer 1: what the API said becomes tables, and a source that fails is named and empty."""

from __future__ import annotations

import pytest

from schemas.node_annotations import NodeLimit
from schemas.node_limits import LimitReport, LimitState
from schemas.reasons import Reason
from services.collector.snapshot import Snapshot
from tests.agent_condition import agent_status
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import GIB, ScriptedCluster, node, pod

WEB = {"kind": "ReplicaSet", "name": "web-5d9f", "controller": True}
HASH = {"pod-template-hash": "5d9f"}
JOB = {"kind": "Job", "name": "night", "controller": True}


def test_a_node_row_holds_what_the_api_says(look: Look) -> None:
    """Allocatable amounts, readiness, GPUs, actuator annotations and usage arrive unchanged."""
    cluster = ScriptedCluster(
        nodes=[
            node("n1", annotations={"foresail.dev/clock-scale": "0.65"}, unschedulable=True),
            node("n2", ready=False),
        ],
        node_metrics=[
            {
                "metadata": {"name": "n1"},
                "timestamp": "2026-01-01T00:00:00Z",
                "usage": {"cpu": "1500000000n", "memory": "2048Ki"},
            }
        ],
    )
    table = look(cluster).nodes
    assert table.row(0) == {
        "ids": "n1",
        "ready": True,
        "schedulable": False,
        "cpu_allocatable_cores": 10.0,
        "memory_allocatable_bytes": 32 * GIB,
        "pods_allocatable": 110,
        "gpus_allocatable": 2,
        "cpu_usage_cores": 1.5,
        "memory_usage_bytes": 2048 * 1024,
        "usage_time_seconds": START_SECONDS,
        "power_state": "on",
        "clock_scale_ratio": 0.65,
        "memory_scale_ratio": 1.0,
        "cpu_cap_ratio": 1.0,
        "memory_cap_ratio": 1.0,
        "created_time_seconds": START_SECONDS,
        "ready_time_seconds": START_SECONDS,
    }
    assert table.ready == (True, False)
    assert table.cpu_usage_cores[1] is None


def test_pods_are_summed_by_node_and_deployment(look: Look) -> None:
    """Pods of one Deployment on one node are one row, named after the Deployment."""
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[pod(f"web-5d9f-{i}", owner=WEB, labels=HASH) for i in range(3)],
    )
    table = look(cluster).placements
    assert table.ids == ("n1|shop/Deployment/web",)
    assert (table.pods, table.cpu_request_cores, table.memory_request_bytes) == (
        (3,),
        (3.0,),
        (3 * GIB,),
    )


def test_placements_that_fit_no_message_are_summed_by_namespace(look: Look) -> None:
    """12,000 bare pods are one row per node and namespace, with the same sums."""
    cluster = ScriptedCluster(
        nodes=[node("n1"), node("n2")],
        pods=[pod(f"p{i:05}", node=f"n{1 + i % 2}") for i in range(12_000)],
    )
    table = look(cluster).placements
    assert table.ids == ("n1|shop/*/*", "n2|shop/*/*")
    assert table.pods == (6000, 6000)
    assert table.cpu_request_cores == (6000.0, 6000.0)


def test_placements_of_too_many_namespaces_are_summed_by_node(look: Look) -> None:
    """Where even one row per node and namespace fits no message, the healthy rest of a node is one
    row; unhealthy pods keep their namespace, and the sums stay."""
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[
            *(pod("p", namespace=f"team-{i:05}") for i in range(12_000)),
            pod("ill", namespace="shop", ready=False),
        ],
    )
    table = look(cluster).placements
    assert table.ids == ("n1|*/*/*", "n1|shop/*/*")
    assert table.pods == (12_000, 1)
    assert table.unhealthy == (0, 1)
    assert table.cpu_request_cores == (12_000.0, 1.0)


def test_finished_pods_hold_nothing(look: Look) -> None:
    """Requests of Succeeded and Failed pods are free again (the baseline went on counting them)."""
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[
            pod("done", phase="Succeeded", owner=JOB),
            pod("gone", phase="Failed", owner=JOB),
            pod("alone", phase="Succeeded"),
        ],
    )
    snapshot = look(cluster)
    assert snapshot.placements.cpu_request_cores == (0.0,)
    assert snapshot.placements.unhealthy == (1,)
    assert snapshot.bare_pods_succeeded == 1


def test_a_failure_of_long_ago_is_no_illness(look: Look) -> None:
    """A Failed pod counts as unhealthy for the configured time after its end, then no more."""
    ended = {"state": {"terminated": {"reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}}
    cluster = ScriptedCluster(
        nodes=[node("n1")], pods=[pod("gone", phase="Failed", statuses=[ended])]
    )
    assert look(cluster).placements.unhealthy == (1,)
    cluster.now += 301
    late = look(cluster)
    assert len(late.placements) == 0
    assert len(late.pods) == 0


def test_long_lists_are_read_page_by_page(look: Look) -> None:
    """1,200 pods come in three pages and none is lost."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod(f"p{i:04}") for i in range(1200)])
    assert look(cluster).pods_total == 1200
    assert cluster.requests.count(("GET", "/api/v1/pods")) == 3


def test_pods_beyond_the_limit_are_counted_as_omitted(look: Look) -> None:
    """Pending pods are listed before others, and the rest is a number."""
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[
            *(pod(f"a{i}", ready=False) for i in range(5)),
            *(pod(f"z{i}", phase="Pending", node="") for i in range(3)),
        ],
    )
    snapshot = look(cluster, listed_pods=4)
    assert snapshot.pods_omitted == 4
    assert snapshot.pods.phase.count("Pending") == 3


@pytest.mark.parametrize("name", ["nodes", "pods", "deployments", "jobs", "node_metrics"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, Reason.SOURCE_ERROR),
        (403, Reason.FORBIDDEN),
        (503, Reason.API_UNREACHABLE),
    ],
)
def test_one_failing_source_leaves_the_others(
    look: Look, name: str, status: int, reason: Reason
) -> None:
    """A source that fails is named with its reason and has no rows; the others keep theirs."""
    cluster = _full()
    cluster.failures[name] = status
    _only_missing(look(cluster), name, reason)


@pytest.mark.parametrize("name", ["nodes", "pods", "deployments", "jobs", "node_metrics"])
def test_a_garbled_answer_is_a_failed_source(look: Look, name: str) -> None:
    """An answer that is no list fails its own source only."""
    cluster = _full()
    cluster.garbled.add(name)
    _only_missing(look(cluster), name, Reason.SOURCE_ERROR)


def test_a_quantity_that_is_none_fails_its_source(look: Look) -> None:
    """An amount that cannot be read is an error with its text, not a zero."""
    cluster = _full()
    cluster.objects["pods"][0]["spec"]["overhead"] = {"cpu": "much"}
    snapshot = look(cluster)
    _only_missing(snapshot, "pods", Reason.SOURCE_ERROR)
    assert "much" in snapshot.source("pods").message


def test_a_cluster_without_metrics_server_says_so(look: Look) -> None:
    """A 404 of the metrics API means that it is not installed."""
    cluster = _full()
    cluster.failures["node_metrics"] = 404
    assert look(cluster).source("node_metrics").reason is Reason.NOT_INSTALLED


def _full() -> ScriptedCluster:
    at = "2026-01-01T00:00:00Z"
    meta = {"name": "a", "namespace": "shop", "creationTimestamp": at}
    usage = {"metadata": {"name": "n1"}, "timestamp": at, "usage": {"cpu": "1", "memory": "1Gi"}}
    return ScriptedCluster(
        nodes=[node("n1")],
        pods=[pod("p", owner=WEB, labels=HASH)],
        deployments=[{"metadata": meta}],
        jobs=[{"metadata": meta}],
        node_metrics=[usage],
    )


def _only_missing(snapshot: Snapshot, name: str, reason: Reason) -> None:
    assert {source.source for source in snapshot.sources if not source.ok} == {name}
    assert snapshot.source(name).reason is reason
    rows = {
        "nodes": len(snapshot.nodes),
        "pods": len(snapshot.placements),
        "deployments": sum("/Deployment/" in one for one in snapshot.workloads.ids),
        "jobs": sum("/Job/" in one for one in snapshot.workloads.ids),
        "node_metrics": sum(cores is not None for cores in snapshot.nodes.cpu_usage_cores),
    }
    # Usage is told on the nodes' rows, so it goes with them.
    gone = {"nodes", "node_metrics"} if name == "nodes" else {name}
    assert {one for one, count in rows.items() if count == 0} == gone


@pytest.mark.parametrize(("state", "expected"), [("in_force", 0.65), ("refused", 1.0)])
def test_a_limit_counts_once_its_node_agent_holds_it(
    look: Look, state: LimitState, expected: float
) -> None:
    """The annotation asks, the agent's condition says what the machine really does."""
    limited = node("n1", annotations={NodeLimit.CLOCK_SCALE.value: "0.65"})
    told = LimitReport(limit=NodeLimit.CLOCK_SCALE, value="0.65", state=state)
    limited["status"]["conditions"] += agent_status(START_SECONDS, told)["status"]["conditions"]
    table = look(ScriptedCluster(nodes=[limited])).nodes
    assert table.clock_scale_ratio == (expected,)
