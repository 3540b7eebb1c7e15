"""A snapshot becomes a workload that begins as the cluster was."""

from __future__ import annotations

from pathlib import Path

from lab.rerun.start_state import ClusterTables, StartState, start_state
from schemas.snapshot import NodeTable, PlacementTable, PodTable, WorkloadTable
from schemas.tables import table_of
from twin.port.engine import Engine
from twin.port.objects import CLOCK_SCALE, POWER_STATE, NodeRecord
from twin.port.workloads import read_trace_file, write_trace_file

GIB = 2**30
NODE = {
    "ready": True, "schedulable": True, "cpu_allocatable_cores": 8.0,
    "memory_allocatable_bytes": 32 * GIB, "pods_allocatable": 110, "gpus_allocatable": 0,
    "cpu_usage_cores": None, "memory_usage_bytes": None, "usage_time_seconds": None,
    "power_state": "on", "clock_scale_ratio": 1.0, "memory_scale_ratio": 1.0,
    "cpu_cap_ratio": 1.0, "memory_cap_ratio": 1.0, "created_time_seconds": 0.0,
    "ready_time_seconds": 0.0,
}  # fmt: skip
POD = {
    "uid": "u", "node": "", "workload": "", "phase": "Pending", "ready": False, "restarts": 0,
    "status_reason": "", "status_message": "", "cpu_request_cores": 1.0,
    "memory_request_bytes": GIB, "gpus_requested": 0, "priority": 0,
    "created_time_seconds": 0.0, "scheduled_time_seconds": None, "started_time_seconds": None,
    "ended_time_seconds": None, "deleting": False,
}  # fmt: skip


def placement_row(pods: int, cores: float, memory: int, gpus: int = 0) -> dict[str, object]:
    """One row of the placement table."""
    return {
        "pods": pods,
        "cpu_request_cores": cores,
        "memory_request_bytes": memory,
        "gpus_requested": gpus,
        "unhealthy": 0,
        "restarted": 0,
    }


def workload_row(replicas: int, *, suspended: bool = False) -> dict[str, object]:
    """One row of the workload table."""
    return {
        "wanted": replicas,
        "ready": 0,
        "succeeded": 0,
        "failed": 0,
        "suspended": suspended,
        "created_time_seconds": 0.0,
    }


def tables() -> ClusterTables:
    """Three nodes; a Deployment on two of them with one pod waiting, a Job, a bare pod."""
    busy = NODE | {"cpu_usage_cores": 1.5, "memory_usage_bytes": 4 * GIB}
    asleep = NODE | {
        "schedulable": False,
        "ready": False,
        "gpus_allocatable": 2,
        "power_state": "sleep",
        "clock_scale_ratio": 0.65,
    }
    return ClusterTables(
        nodes=table_of(
            NodeTable,
            {"n1": busy, "n2": NODE, "n3": asleep},
        ),
        placements=table_of(
            PlacementTable,
            {
                "n1|shop/Deployment/web": placement_row(2, 2.0, 4 * GIB),
                "n1|shop/Job/web": placement_row(1, 1.0, 4 * GIB),
                "n2|shop/Deployment/web": placement_row(1, 1.0, 2 * GIB),
                "n3|shop/Pod/alone": placement_row(1, 0.5, GIB, gpus=1),
            },
        ),
        workloads=table_of(
            WorkloadTable,
            {
                "shop/Deployment/web": workload_row(4),
                "shop/Job/web": workload_row(1),
                "shop/Deployment/blind": workload_row(2),
                "shop/Job/later": workload_row(3, suspended=True),
            },
        ),
        pods=table_of(
            PodTable, {"shop/web-x": POD | {"workload": "shop/Deployment/web", "priority": 7}}
        ),
    )


def state(task_seconds: float | None = None) -> StartState:
    """The start state of those tables."""
    return start_state(tables(), task_seconds=task_seconds)


def test_nodes_and_workloads_are_those_of_the_snapshot() -> None:
    """Every node is there; requests are per pod; a Job beside a Deployment keeps a name of its own."""
    made = state()
    by_name = {arrival.name: arrival for arrival in made.arrivals}

    assert [(node.name, node.gpus) for node in made.nodes] == [("n1", 0), ("n2", 0), ("n3", 2)]
    assert list(by_name) == ["web", "web-job", "alone"]
    web = by_name["web"]
    assert (web.replicas, web.start_nodes, web.priority) == (4, ("n1", "n1", "n2"), 7)
    assert (web.cpu_request_millicores, web.kind) == (1_000, "service")
    assert (by_name["web-job"].kind, by_name["web-job"].start_nodes) == ("task", ("n1",))
    assert by_name["alone"].gpus == 1


def test_usage_is_that_of_the_nodes() -> None:
    """A workload on a measured node uses that node's share of its requests; others the default."""
    by_name = {arrival.name: arrival for arrival in state().arrivals}

    assert by_name["web-job"].cpu_usage_ratio == 0.5
    assert by_name["web-job"].memory_usage_ratio == 0.5
    assert by_name["alone"].cpu_usage_ratio == 0.3


def test_nodes_keep_what_was_set_on_them(tmp_path: Path) -> None:
    """A cordoned, sleeping or throttled node is that in the start state, its file and the twin."""
    path = tmp_path / "start.jsonl"
    write_trace_file(path, state().nodes, ())
    nodes, _, _ = read_trace_file(path)
    assert nodes == state().nodes
    engine = Engine(seed=3)
    engine.add_nodes(nodes)
    asleep = engine.store.find("nodes", "", "n3")

    assert isinstance(asleep, NodeRecord)
    assert asleep.unschedulable
    assert asleep.annotations == {POWER_STATE: "sleep", CLOCK_SCALE: "0.65"}
    assert [record.unschedulable for record in engine.store.records("nodes")].count(True) == 1


def test_what_a_snapshot_cannot_say_is_said() -> None:
    """Left-out workloads, cordoned nodes and the life of Jobs are in the notes."""
    notes = "\n".join(state(task_seconds=600).notes)

    assert "3 nodes, 3 workloads: 5 pods on nodes, 1 waiting" in notes
    assert "1 workloads left out" in notes
    assert "1 nodes were not ready" in notes
    assert "run 600 s" in notes
    job = next(arrival for arrival in state(600).arrivals if arrival.kind == "task")
    assert (job.duration_seconds, job.outcome) == (600, "succeed")


def test_the_twin_begins_with_the_pods_where_they_were() -> None:
    """Played, every pod of the snapshot runs on its own node, and the waiting one is placed."""
    made = state()
    engine = Engine(seed=3)
    engine.add_nodes(made.nodes)
    engine.load(iter(made.arrivals))
    engine.advance(engine.now + 60)
    pods = [pod for pod in engine.store.records("pods") if pod.namespace == "shop"]
    on = sorted((pod.labels["app.kubernetes.io/name"], pod.node_name) for pod in pods)

    assert all(pod.phase == "Running" for pod in pods)
    assert [where for where in on if where[0] != "web"] == [("alone", "n3"), ("web-job", "n1")]
    assert {("web", "n1"), ("web", "n2")} <= set(on)
    assert [name for name, _ in on].count("web") == 4
    assert sum(where == ("web", "n1") for where in on) >= 2


def test_summed_rows_keep_each_nodes_load() -> None:
    """Rows that stand for many workloads become one workload for each node."""
    whole = tables()
    summed = table_of(
        PlacementTable,
        {"n1|*/*/*": placement_row(4, 2.0, 8 * GIB), "n2|shop/*/*": placement_row(2, 3.0, 2 * GIB)},
    )
    made = start_state(
        ClusterTables(whole.nodes, summed, WorkloadTable(), PodTable()), task_seconds=None
    )

    assert [(a.namespace, a.name, a.replicas, a.cpu_request_millicores) for a in made.arrivals] == [
        ("default", "others-n1", 4, 500),
        ("shop", "others-n2", 2, 1_500),
    ]
    assert "2 rows stand for several workloads" in "\n".join(made.notes)
