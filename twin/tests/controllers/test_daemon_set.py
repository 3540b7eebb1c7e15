"""DaemonSets: which nodes they take, and how they are updated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.workloads.arrival import NodeShape

Object = dict[str, Any]
Build = Callable[..., Object]


def daemon(workload: Build, **options: Any) -> Object:
    """Return the spec of a DaemonSet."""
    made = workload("agent", 1, **options)
    return {key: made[key] for key in ("selector", "template")}


def where(cluster: Any) -> list[str]:
    """Return the nodes on which daemon pods live."""
    return sorted(pod.node_name for pod in cluster.pods(app="agent"))


def taint(cluster: Any, node: str, effect: str) -> None:
    """Taint a node."""
    obj = cluster.engine.store.get("nodes", "", node)
    taints = [{"key": "reserved", "value": "yes", "effect": effect}]
    new = {**obj, "spec": {**obj["spec"], "taints": taints}}
    cluster.engine.store.replace("nodes", "", node, new)


def test_every_node_gets_one_pod_and_new_nodes_too(cluster: Any, workload: Build) -> None:
    """One pod a node, placed by the scheduler; a node that joins gets its own."""
    cluster.create("daemonsets", "agent", daemon(workload))
    cluster.run(30)
    assert where(cluster) == ["n0", "n1", "n2"]
    pod = cluster.pods(app="agent")[0]
    assert "Scheduled" in cluster.reasons(pod.name)
    shape = NodeShape("n9", 4_000, 8 * 2**30, 0, {})
    cluster.engine.add_nodes([shape])
    cluster.run(30)

    assert where(cluster) == ["n0", "n1", "n2", "n9"]
    status = cluster.status("daemonsets", "agent")
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    assert [status[name] for name in counts] == [4, 4, 4, 4]


def test_selectors_choose_the_nodes(cluster: Any, workload: Build) -> None:
    """A nodeSelector and a label that goes away decide where pods may be."""
    obj = cluster.engine.store.get("nodes", "", "n1")
    marked = {**obj["metadata"], "labels": {**obj["metadata"]["labels"], "disk": "ssd"}}
    cluster.engine.store.replace("nodes", "", "n1", {**obj, "metadata": marked})
    cluster.create("daemonsets", "agent", daemon(workload, nodeSelector={"disk": "ssd"}))
    cluster.run(30)
    assert where(cluster) == ["n1"]
    obj = cluster.engine.store.get("nodes", "", "n1")
    labels = {key: value for key, value in obj["metadata"]["labels"].items() if key != "disk"}
    bare = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
    cluster.engine.store.replace("nodes", "", "n1", bare)
    cluster.run(60)

    assert where(cluster) == []
    assert cluster.status("daemonsets", "agent")["desiredNumberScheduled"] == 0


def test_cordons_and_taints(cluster: Any, workload: Build) -> None:
    """A cordoned node keeps and gets pods; NoSchedule keeps them, NoExecute removes them."""
    obj = cluster.engine.store.get("nodes", "", "n0")
    cordoned = {**obj, "spec": {**obj["spec"], "unschedulable": True}}
    cluster.engine.store.replace("nodes", "", "n0", cordoned)
    cluster.create("daemonsets", "agent", daemon(workload))
    cluster.run(30)
    assert where(cluster) == ["n0", "n1", "n2"]
    taint(cluster, "n1", "NoSchedule")
    cluster.run(60)
    assert where(cluster) == ["n0", "n1", "n2"]
    assert cluster.status("daemonsets", "agent")["numberMisscheduled"] == 1
    taint(cluster, "n2", "NoExecute")
    cluster.run(60)

    assert where(cluster) == ["n0", "n1"]


def test_pods_stay_on_a_node_that_fails(cluster: Any, workload: Build) -> None:
    """Daemon pods tolerate unreachable nodes for ever, so a failed node keeps its pod."""
    cluster.create("daemonsets", "agent", daemon(workload))
    cluster.run(30)
    before = {pod.uid for pod in cluster.pods(app="agent")}
    cluster.engine.fail_node("n1", 1_000.0)
    cluster.run(900)

    assert {pod.uid for pod in cluster.pods(app="agent")} == before
    status = cluster.status("daemonsets", "agent")
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (2, 1)


def test_a_rolling_update_takes_one_node_at_a_time(cluster: Any, workload: Build) -> None:
    """maxUnavailable 1 (the default): at least two of three pods are ready all the time."""
    cluster.create("daemonsets", "agent", daemon(workload))
    cluster.run(30)
    cluster.write("daemonsets", "agent", template=daemon(workload, image="app:2")["template"])

    def look() -> None:
        assert sum(pod.ready for pod in cluster.pods(app="agent")) >= 2

    cluster.watch(60, look)

    assert {pod.shape.images[0] for pod in cluster.pods(app="agent")} == {"app:2"}
    status = cluster.status("daemonsets", "agent")
    assert (status["updatedNumberScheduled"], status["observedGeneration"]) == (3, 2)


def test_on_delete_waits_for_the_user(cluster: Any, workload: Build) -> None:
    """OnDelete updates only the pod that was deleted."""
    spec = {**daemon(workload), "updateStrategy": {"type": "OnDelete"}}
    cluster.create("daemonsets", "agent", spec)
    cluster.run(30)
    cluster.write("daemonsets", "agent", template=daemon(workload, image="app:2")["template"])
    cluster.run(30)
    assert {pod.shape.images[0] for pod in cluster.pods(app="agent")} == {"app:1"}
    gone = cluster.pods(app="agent")[0]
    cluster.delete("pods", gone.name)
    cluster.run(30)
    images = {pod.node_name: pod.shape.images[0] for pod in cluster.pods(app="agent")}

    assert images.pop(gone.node_name) == "app:2"
    assert set(images.values()) == {"app:1"}


def test_a_pod_that_fits_nowhere_waits_for_its_node(cluster: Any, workload: Build) -> None:
    """A daemon pod without room is Pending and says so, and the set counts it as unavailable."""
    cluster.create("daemonsets", "agent", daemon(workload, cpu="9"))
    cluster.run(30)
    pod = cluster.pods(app="agent")[0]

    assert (pod.phase, pod.node_name) == ("Pending", "")
    assert "Insufficient cpu" in pod.unschedulable
    assert cluster.status("daemonsets", "agent")["numberUnavailable"] == 3
