"""What keeps a node, rule by rule, and which of its pods have no place elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lab.explanations.frozen_cluster import FrozenCluster, unix_seconds
from lab.explanations.why_not_consolidated import (
    AutoscalerObjects,
    WhyNotConsolidated,
    why_not_consolidated,
)
from twin.records import NodeRecord

Object = dict[str, Any]
START = "2026-01-01T10:00:00Z"
NOW = unix_seconds("2026-01-01T10:10:00Z") or 0.0
POOL = "karpenter.sh/nodepool"
PROTECTED = "karpenter.sh/do-not-disrupt"
INITIALIZED = {"type": "Initialized", "status": "True", "lastTransitionTime": START}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": START}


def node(name: str, *, cpu: str = "8", pool: str = "", **metadata: Any) -> Object:
    """Return a ready node."""
    labels = {"kubernetes.io/hostname": name, **({POOL: pool} if pool else {})}
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, **metadata},
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [READY]},
    }


def pod(name: str, on: str, *, cpu: str = "1", kind: str = "ReplicaSet", **metadata: Any) -> Object:
    """Return a pod that runs on a node."""
    owner = {"kind": kind, "name": "web", "uid": "w", "controller": True, "apiVersion": "apps/v1"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "creationTimestamp": START,
            "ownerReferences": [owner] if kind else [],
            **metadata,
        },
        "spec": {
            "nodeName": on,
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler",
        },
        "status": {"phase": "Running", "startTime": START},
    }


def budget(name: str, allowed: int) -> Object:
    """Return a disruption budget over `app: web`."""
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2},
    }


def claim(on: str) -> Object:
    """Return a NodeClaim of pool p."""
    status = {"nodeName": on, "conditions": [INITIALIZED], "lastPodEventTime": START}
    return {
        "metadata": {"name": f"claim-{on}", "labels": {POOL: "p"}},
        "spec": {},
        "status": status,
    }


def nodepool(**disruption: Any) -> Object:
    """Return NodePool p."""
    usual = {"consolidateAfter": "1m", "budgets": [{"nodes": "100%"}]}
    template = {"spec": {"nodeClassRef": {}, "requirements": []}}
    spec = {"template": template, "disruption": {**usual, **disruption}}
    return {"metadata": {"name": "p"}, "spec": spec}


def ask(
    nodes: Sequence[Object],
    pods: Sequence[Object] = (),
    budgets: Sequence[Object] = (),
    **around: Any,
) -> WhyNotConsolidated:
    """Ask of the first node."""
    objects = {"nodes": list(nodes), "pods": list(pods), "poddisruptionbudgets": list(budgets)}
    cluster = FrozenCluster(objects, NOW)
    record = cluster.world.store.find("nodes", "", nodes[0]["metadata"]["name"])
    assert isinstance(record, NodeRecord)
    return why_not_consolidated(cluster, objects, record, AutoscalerObjects(**around), NOW)


def karpenter(*pods: Object, guards: Sequence[Object] = (), **pool: Any) -> WhyNotConsolidated:
    """Ask of a node of Karpenter's beside an empty one."""
    nodes = [node("a", pool="p"), node("b", pool="p")]
    pools, claims = [nodepool(**pool)], [claim("a"), claim("b")]
    return ask(nodes, pods, guards, claims=claims, pools=pools)


def rules(found: WhyNotConsolidated) -> list[str]:
    """Return what keeps the node."""
    return [keeper.rule for keeper in found.keepers]


def test_nothing_keeps_it() -> None:
    """Its pod has a place on the other node."""
    found = karpenter(pod("x", "a"))
    assert (found.keepers, found.homeless, found.pods) == ((), (), 1)


WEB = {"labels": {"app": "web"}}


@pytest.mark.parametrize(
    ("pods", "budgets", "words"),
    [
        ([pod("x", "a", annotations={PROTECTED: "true"})], [],
         f'Pod has "{PROTECTED}" annotation (Pod=shop/x)'),
        ([pod("x", "a", **WEB)], [budget("b", 0)],
         "Pdb prevents pod evictions (PodDisruptionBudget=[shop/b])"),
        ([pod("x", "a", **WEB)], [budget("b", 1), budget("c", 1)],
         "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[shop/b shop/c])"),
    ],
)  # fmt: skip
def test_a_pod_that_karpenter_leaves_alone(
    pods: list[Object], budgets: list[Object], words: str
) -> None:
    """In Karpenter's own words, so that what it said can be held against it."""
    found = karpenter(*pods, guards=budgets)
    assert [keeper.words for keeper in found.keepers] == [words]


def test_a_protection_for_a_time_ends() -> None:
    """A duration counts from the start of the pod."""
    (keeper,) = karpenter(pod("x", "a", annotations={PROTECTED: "15m"})).keepers
    assert keeper.until_seconds == NOW + 300
    assert karpenter(pod("x", "a", annotations={PROTECTED: "5m"})).keepers == ()


@pytest.mark.parametrize(
    ("pool", "rule"),
    [
        ({"consolidateAfter": "Never"}, "consolidateAfter"),
        ({"consolidateAfter": "30m"}, "consolidateAfter"),
        ({"consolidationPolicy": "WhenEmpty"}, "policy"),
        ({"budgets": [{"nodes": "0"}]}, "budget"),
        ({"budgets": [{"nodes": "0", "reasons": ["Underutilized"]}]}, "budget"),
    ],
)
def test_what_its_pool_says(pool: Object, rule: str) -> None:
    """Time, policy and budgets; an empty node is asked about budgets for empty ones."""
    found = karpenter(pod("x", "a"), **pool)
    assert rules(found) == [rule]
    if pool.get("consolidateAfter") == "30m":
        assert found.keepers[0].until_seconds == NOW + 1200
    if rule == "policy":
        assert karpenter(**pool).keepers == ()


def test_nodes_that_go_or_are_not_ready_use_up_a_budget() -> None:
    """One of two may go, and the other is not ready."""
    broken = node("b", pool="p")
    broken["status"]["conditions"] = [{**READY, "status": "Unknown"}]
    pools, claims = [nodepool(budgets=[{"nodes": "1"}])], [claim("a"), claim("b")]
    found = ask([node("a", pool="p"), broken], claims=claims, pools=pools)
    assert rules(found) == ["budget"]
    assert "let 1 of its 2 nodes go at once for reason Empty now, and 1 are going" in found.keepers[0].text  # fmt: skip


def test_what_has_no_place_elsewhere() -> None:
    """The largest is placed first; what is left over is told in the scheduler's words."""
    pods = [pod("small", "a", cpu="2"), pod("large", "a", cpu="3"), pod("other", "b", cpu="4")]
    found = ask([node("a"), node("b")], pods)
    assert [one.pod for one in found.homeless] == ["shop/small"]
    assert found.homeless[0].sentence.startswith("0/1 nodes are available: 1 Insufficient cpu.")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (pod("x", "a", kind=""), "is not replicated"),
        (pod("x", "a", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}),
         "not safe to evict"),
        (pod("x", "a", **WEB), "disruption budget shop/b allows no eviction"),
    ],
)  # fmt: skip
def test_a_pod_that_cluster_autoscaler_leaves_alone(one: Object, says: str) -> None:
    """By the rules of its drainability."""
    (keeper,) = ask([node("a"), node("b")], [one], [budget("b", 0)]).keepers
    assert says in keeper.text


def test_a_node_in_use_and_one_that_is_not_to_go() -> None:
    """From half of its cores on; by annotation; and not yet unneeded for long enough."""
    busy = ask([node("a"), node("b")], [pod("x", "a", cpu="4")])
    assert rules(busy) == ["utilization"]
    marked = node("a", annotations={"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"})
    assert rules(ask([marked, node("b")])) == ["annotation"]
    candidate = node("a")
    key = "DeletionCandidateOfClusterAutoscaler"
    taint = {"key": key, "value": str(int(NOW) - 100), "effect": "PreferNoSchedule"}
    candidate["spec"]["taints"] = [taint]
    (keeper,) = ask([candidate, node("b")]).keepers
    assert keeper.until_seconds == NOW + 500


def test_pods_of_daemon_sets_do_not_move() -> None:
    """They end with their node."""
    assert ask([node("a"), node("b")], [pod("x", "a", kind="DaemonSet")]).pods == 0


def test_what_karpenter_said_holds_or_does_not() -> None:
    """Each thing once, as it was said last, the newest first."""

    def event(text: str, at: str) -> Object:
        said = {"reason": "DisruptionBlocked", "message": text, "lastTimestamp": at}
        return {"metadata": {"name": "e"}, **said}

    now_so = f'Pod has "{PROTECTED}" annotation (Pod=shop/x)'
    events = [
        event(now_so, "2026-01-01T10:05:00Z"),
        event(now_so, "2026-01-01T10:09:00Z"),
        event("Node is nominated for a pending pod", START),
    ]
    pods = [pod("x", "a", annotations={PROTECTED: "true"})]
    found = ask([node("a", pool="p")], pods, events=events, claims=[claim("a")], pools=[nodepool()])
    assert [(one.agrees, one.time_seconds) for one in found.said] == [
        (True, NOW - 60),
        (False, NOW - 600),
    ]
