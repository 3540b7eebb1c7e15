"""The scheduling queue: whose turn it is, what wakes whom, how fast, and how many nodes are looked at."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from twin.config.scheduling import SchedulerConfig
from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def attempts(cluster: Cluster, name: str) -> int:
    """Return how often a pod has been told that it fits nowhere."""
    return sum(
        event["count"]
        for event in cluster.store.list("events")
        if event["reason"] == "FailedScheduling" and event["involvedObject"]["name"] == name
    )


def change(cluster: Cluster, node: str, **spec: Any) -> None:
    """Write fields of a node's spec."""
    obj = cluster.store.get("nodes", "", node)
    cluster.store.replace("nodes", "", node, {**obj, "spec": {**obj["spec"], **spec}})


def remove_pod(cluster: Cluster, name: str) -> None:
    """Let a pod vanish from its node."""
    cluster.store.remove("pods", cluster.store.record("pods", "default", name))


def test_bindings_keep_to_the_clients_rate() -> None:
    """100 at once, then 50 a second (clientConnection.burst and qps); 0 lifts the limit."""
    cluster = Cluster()
    cluster.node("n", cpu="1k", pods="1000")
    for index in range(200):
        cluster.pod(f"p{index}")
    bound = []
    for _ in range(4):
        cluster.advance(0.5)
        bound.append(sum(bool(pod.node_name) for pod in cluster.world.pods.values()))
    assert bound == [124, 149, 174, 199]

    free = Cluster(SchedulerConfig(binds_per_second=0.0))
    free.node("n", cpu="1k", pods="1000")
    for index in range(200):
        free.pod(f"p{index}")
    free.advance(0.1)
    assert all(pod.node_name for pod in free.world.pods.values())


def test_a_vain_attempt_sends_a_pod_to_the_end_of_its_priority() -> None:
    """Upstream sorts by the time in the queue, which a failed attempt renews, not by age."""
    cluster = Cluster()
    cluster.node("n", cpu="1")
    cluster.pod("there", "1", on="n")
    cluster.pod("early", "1")
    cluster.advance(100)
    cluster.pod("later", "1")
    cluster.advance(205)  # the flush has tried the early one once more
    remove_pod(cluster, "there")
    cluster.advance(30)

    assert (cluster.where("later"), cluster.where("early")) == ("n", "")


def test_back_off_doubles_to_ten_seconds() -> None:
    """Woken by a change every tenth of a second, a pod is tried after 1, 2, 4, 8, 10, 10 s."""
    cluster = Cluster()
    cluster.node("n", cpu="1")
    cluster.pod("p", "2")
    tried: list[float] = []
    for step in range(420):
        cluster.node(f"extra{step}", cpu="2", taints=[{"key": "k", "effect": "NoSchedule"}])
        change(cluster, f"extra{step}", taints=[])
        change(cluster, f"extra{step}", unschedulable=True)
        cluster.advance(0.1)
        if attempts(cluster, "p") > len(tried):
            tried.append(step * 0.1)
    gaps = [round(late - soon) for soon, late in pairwise(tried)]

    assert gaps == [1, 2, 4, 8, 10, 10]


def test_five_minutes_are_the_longest_wait() -> None:
    """Without any change a pod is tried again after 300 s."""
    cluster = Cluster()
    cluster.node("n", cpu="1")
    cluster.pod("p", "2")
    cluster.advance(299)
    assert attempts(cluster, "p") == 1
    cluster.advance(2)
    assert attempts(cluster, "p") == 2


@pytest.mark.parametrize(
    ("act", "helps"),
    [
        (lambda c: change(c, "tainted", taints=[]), {"fit": False, "affine": False, "taint": True}),
        (lambda c: c.node("new", cpu="64"), {"fit": True, "affine": False, "taint": True}),
        (lambda c: c.node("small", cpu="1"), {"fit": False, "affine": False, "taint": True}),
        (lambda c: c.node("ssd", cpu="64", labels={"disk": "ssd"}),
         {"fit": True, "affine": True, "taint": True}),
        (lambda c: remove_pod(c, "there"), {"fit": True, "affine": False, "taint": False}),
        (lambda c: c.pod("another", on="full"), {"fit": False, "affine": False, "taint": False}),
    ],
)  # fmt: skip
def test_only_helpful_changes_wake_a_pod(act: Any, helps: dict[str, bool]) -> None:
    """Three pods: one for lack of CPU, one for its selector, one for taints; as queueing hints."""
    cluster = Cluster()
    taint = {"key": "k", "effect": "NoSchedule"}
    tolerant = [{"key": "k", "operator": "Exists"}]
    cluster.node("full", cpu="4", labels={"kind": "big"})
    cluster.node("tainted", cpu="1", taints=[taint])
    cluster.pod("there", "4", on="full")
    cluster.pod("fit", "3", tolerations=tolerant)
    cluster.pod("affine", "100m", nodeSelector={"disk": "ssd"})
    required = {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kind", "operator": "DoesNotExist"}]}]}  # fmt: skip
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    cluster.pod("taint", "100m", affinity=affinity)
    cluster.advance(12)
    before = {name: attempts(cluster, name) for name in helps}
    assert before == {"fit": 1, "affine": 1, "taint": 1}
    act(cluster)
    cluster.advance(12)
    after = {
        name: bool(cluster.where(name)) or attempts(cluster, name) > before[name] for name in helps
    }

    assert after == helps


def test_pods_wait_for_pods() -> None:
    """Affinity is woken by the pod it looks for, anti-affinity and ports by the one that goes."""
    cluster = Cluster()
    cluster.node("n")
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    cluster.pod("follower", affinity={"podAffinity": required})
    cluster.advance(2)
    cluster.pod("db", labels={"app": "db"}, ports=[{"containerPort": 1, "hostPort": 1}], on="n")
    cluster.pod("hermit", affinity={"podAntiAffinity": required})
    cluster.pod("port", ports=[{"containerPort": 1, "hostPort": 1}])
    cluster.advance(5)
    assert [cluster.where(name) for name in ("follower", "hermit", "port")] == ["n", "", ""]
    remove_pod(cluster, "db")
    cluster.advance(5)

    assert [cluster.where(name) for name in ("hermit", "port")] == ["n", "n"]


def test_spreading_is_woken_by_a_pod_that_raises_the_least_domain() -> None:
    """With zones 1 and 0 a pod bound to zone a waits until a pod comes to zone b."""
    cluster = Cluster()
    cluster.node("a", labels={ZONE: "a"})
    cluster.node("b", labels={ZONE: "b"})
    labels = {"app": "web"}
    cluster.pod("there", labels=labels, on="a")
    spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
              "labelSelector": {"matchLabels": labels}, "nodeAffinityPolicy": "Ignore"}  # fmt: skip
    cluster.pod("p", labels=labels, topologySpreadConstraints=[spread], nodeSelector={ZONE: "a"})
    cluster.advance(5)
    assert cluster.where("p") == ""
    cluster.pod("other", labels=labels, on="b")
    cluster.advance(5)

    assert cluster.where("p") == "a"


def test_a_changed_pod_is_tried_at_once() -> None:
    """A toleration that is added to a waiting pod ends its wait."""
    cluster = Cluster()
    cluster.node("n", taints=[{"key": "k", "effect": "NoSchedule"}])
    cluster.pod("p")
    cluster.advance(5)
    obj = cluster.store.get("pods", "default", "p")
    tolerations = [*obj["spec"]["tolerations"], {"key": "k", "operator": "Exists"}]
    cluster.store.replace(
        "pods", "default", "p", {**obj, "spec": {**obj["spec"], "tolerations": tolerations}}
    )
    cluster.advance(0.1)

    assert cluster.where("p") == "n"


def test_the_search_stops_at_enough_nodes_and_goes_on_from_there() -> None:
    """With 10 % of 2,000 nodes, each of ten pods finds the 200 nodes after the last one's."""
    cluster = Cluster(SchedulerConfig(percentage_of_nodes_to_score=10))
    for index in range(2_000):
        cluster.node(f"n{index}")
    for index in range(10):
        cluster.pod(f"p{index}", "1")
    cluster.advance(1)
    rows = sorted(cluster.nodes.row_of[cluster.where(f"p{index}")] for index in range(10))

    assert [row // 200 for row in rows] == list(range(10))


def test_nodes_are_looked_at_zone_by_zone_in_turn() -> None:
    """backend/cache/node_tree.go: 100 of 300 nodes come from all three zones alike."""
    cluster = Cluster(SchedulerConfig(percentage_of_nodes_to_score=10))
    for zone in "abc":
        for index in range(100):
            cluster.node(f"{zone}{index}", labels={ZONE: zone})
    order = cluster.scheduler.plugins.topology.order()
    assert order is not None
    names = [cluster.nodes.names[row] for row in order[:6]]

    assert names == ["a0", "b0", "c0", "a1", "b1", "c1"]


def test_without_any_node_a_pod_is_tried_again_after_its_back_off() -> None:
    """To kube-scheduler that is an error, not a wait for a node: one that comes does not end the back-off."""
    cluster = Cluster()
    cluster.pod("p")
    cluster.advance(8)  # tried at 0, 1, 3 and 7 s
    assert attempts(cluster, "p") == 4
    cluster.node("n")
    cluster.advance(6)
    assert cluster.where("p") == ""
    cluster.advance(2)
    assert cluster.where("p") == "n"
