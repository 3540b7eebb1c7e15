"""Nodes that may be emptied: which are listed, and what forbids it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schemas.occupancy import Occupancy
from services.collector.cluster import read_every_source
from services.collector.occupancy import LIGHT_PODS, occupancy_of
from services.kube_budgets import (
    BudgetSpec,
    LabelSelector,
    PodDisruptionBudget,
    Requirement,
    covering,
)
from services.kube_objects import Meta
from services.node_selection import REQUIRED
from services.twin_transport import TwinTransport
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

WEB = {"kind": "Deployment", "name": "web", "controller": True}
JOB = {"kind": "Job", "name": "sum", "controller": True}


def deployment(**metadata: Any) -> dict[str, Any]:
    """Return Deployment shop/web with two ready replicas."""
    created = {"name": "web", "namespace": "shop", "creationTimestamp": stamp(START_SECONDS)}
    return {"metadata": {**created, **metadata}, "status": {"readyReplicas": 2}}


def budget(allowed: int, **labels: str) -> dict[str, Any]:
    """Return a PodDisruptionBudget of namespace shop."""
    return {
        "metadata": {"name": "keep", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def look(**objects: list[dict[str, Any]]) -> Occupancy:
    """Return what is seen of a cluster with two nodes and shop/web."""
    default = {"nodes": [node("n1"), node("n2")], "deployments": [deployment()]}
    cluster = ScriptedCluster(**{**default, **objects})
    reading = asyncio.run(read_every_source(TwinTransport(cluster), cluster.now))
    occupancy = occupancy_of(reading)
    assert occupancy is not None
    return occupancy


def kept(**objects: list[dict[str, Any]]) -> str:
    """Return why the only pod that is listed stays."""
    (listed,) = look(**objects).nodes
    return listed.pods[0].kept_by


def test_a_light_node_shows_what_moving_its_pods_takes() -> None:
    """Its pods with their requests, workload and age; DaemonSets' pods go with the node, and do not count."""
    daemon = {"kind": "DaemonSet", "name": "logs", "controller": True}
    marks = {"foresail.dev/checkpoint-seconds": "60"}
    pods = [
        pod("web-1", owner=WEB, annotations=marks),
        pod("logs-1", owner=daemon),
        pod("done", owner=WEB, phase="Succeeded"),
    ]
    (listed,) = look(pods=pods).nodes

    assert (listed.node, listed.kept_by, listed.notices) == ("n1", "", ())
    (only,) = listed.pods
    assert (only.pod, only.workload, only.ready_replicas, only.kept_by) == (
        *("shop/web-1", "shop/Deployment/web"),
        *(2, ""),
    )
    assert (only.cpu_request_cores, only.memory_request_bytes) == (1.0, 2**30)
    assert (only.started_time_seconds, only.checkpoint_seconds) == (START_SECONDS, 60.0)


def test_busy_closed_and_cordoned_nodes_are_not_light() -> None:
    """Only ready, open nodes with few pods are listed; closed ones are named, since no pod would go there."""
    taint = {"key": "gpu", "effect": "NoSchedule"}
    nodes = [
        *(node("busy"), node("closed", taints=[taint]), node("light")),
        *(node("cordoned", unschedulable=True), node("broken", ready=False)),
    ]
    pods = [pod(f"web-{number}", owner=WEB, node="busy") for number in range(LIGHT_PODS + 1)]
    pods += [
        pod(f"web-on-{name}", owner=WEB, node=name)
        for name in ("closed", "light", "cordoned", "broken")
    ]
    seen = look(nodes=nodes, pods=pods)

    assert [listed.node for listed in seen.nodes] == ["light"]
    assert seen.closed == ("closed",)


@pytest.mark.parametrize(
    ("taints", "conditions", "notices"),
    [
        ([{"key": "foresail.dev/spot-interruption", "effect": "NoSchedule"}], [], 1),
        ([], [{"type": "KernelDeadlock", "status": "True"}], 1),
        ([], [{"type": "KernelDeadlock", "status": "False"}], 0),
    ],
)
def test_a_machine_that_is_about_to_go_is_listed_with_all_its_pods(
    taints: list[dict[str, str]], conditions: list[dict[str, str]], notices: int
) -> None:
    """By a cloud's notice or a true condition, however many pods it holds."""
    going = node("n1", taints=taints)
    going["status"]["conditions"] += conditions
    pods = [pod(f"web-{number}", owner=WEB) for number in range(LIGHT_PODS + 2)]
    listed = look(nodes=[going], pods=pods).nodes

    assert [(len(one.notices), len(one.pods)) for one in listed] == (
        [(1, LIGHT_PODS + 2)] if notices else []
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"owner": None}, "a bare pod would be lost"),
        ({"owner": {**WEB, "kind": "StatefulSet"}}, "a pod of a StatefulSet stays"),
        ({"annotations": {"foresail.dev/do-not-disrupt": "true"}}, "do-not-disrupt=true"),
        (
            {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
            "safe-to-evict=false",
        ),
        ({"spec": {"nodeSelector": {"disk": "ssd"}}}, "no other open node has what it asks for"),
        ({"spec": {"affinity": {"podAntiAffinity": {REQUIRED: [{}]}}}}, "it has rules"),
        ({"spec": {"volumes": [{"name": "data", "emptyDir": {}}]}}, "a volume on its node"),
        ({}, ""),
    ],
)
def test_a_pod_stays_for_a_reason(changes: dict[str, Any], why: str) -> None:
    """What would lose it, what its owner forbids, and what another node may not have."""
    found = kept(pods=[pod("web-1", **{"owner": WEB, **changes})])

    assert (why in found) if why else found == ""


@pytest.mark.parametrize(
    ("others", "places"),
    [
        ([node("n2", labels={"disk": "ssd"}), node("n3")], ("n2",)),
        ([node("n2", labels={"disk": "ssd"}), node("n3", labels={"disk": "ssd"})], ("n2", "n3")),
        ([node("n2", labels={"disk": "ssd"}, unschedulable=True)], ()),
    ],
)
def test_a_pod_that_asks_for_certain_nodes_may_go_to_those(
    others: list[dict[str, Any]], places: tuple[str, ...]
) -> None:
    """Open nodes alone, and not its own; a pod that asks for nothing has no list."""
    asking = pod("web-1", owner=WEB, spec={"nodeSelector": {"disk": "ssd"}})
    nodes = [node("n1", labels={"disk": "ssd"}), *others]
    (listed,) = look(nodes=nodes, pods=[asking]).nodes
    assert listed.pods[0].places == places
    assert bool(listed.pods[0].kept_by) is not bool(places)
    (plain,) = look(pods=[pod("web-1", owner=WEB)]).nodes
    assert plain.pods[0].places is None


def test_a_stateful_set_moves_one_pod_at_a_time() -> None:
    """The highest ordinal first, and only while it lacks no replica."""
    owner = {"kind": "StatefulSet", "name": "db", "controller": True}
    pods = [pod(f"db-{number}", owner=owner) for number in (2, 9, 10)]

    def kept_by(ready: int) -> dict[str, str]:
        database = deployment()
        database["metadata"]["name"] = "db"
        database["spec"] = {"replicas": 3}
        database["status"] = {"readyReplicas": ready}
        (listed,) = look(pods=pods, statefulsets=[database]).nodes
        return {one.pod.split("/")[1]: one.kept_by for one in listed.pods}

    waits = "its StatefulSet moves one pod at a time"
    assert kept_by(3) == {"db-2": waits, "db-9": waits, "db-10": ""}
    assert set(kept_by(2).values()) == {"its StatefulSet lacks replicas"}


def test_marks_of_the_workload_count() -> None:
    """A Deployment that is marked keeps its pods."""
    marked = deployment(annotations={"karpenter.sh/do-not-disrupt": "true"})

    assert "do-not-disrupt" in kept(pods=[pod("web-1", owner=WEB)], deployments=[marked])


def test_a_budget_that_allows_nothing_keeps_its_pods() -> None:
    """Also two budgets, which the API server does not let an eviction pass; one with room does not."""
    pods = [pod("web-1", owner=WEB, labels={"app": "web"})]

    assert kept(pods=pods, budgets=[budget(0, app="web")]) == (
        "PodDisruptionBudget keep allows no disruption"
    )
    assert kept(pods=pods, budgets=[budget(1, app="web")]) == ""
    assert kept(pods=pods, budgets=[budget(0, app="api")]) == ""
    twice = [budget(1, app="web"), budget(1)]
    assert kept(pods=pods, budgets=twice) == "2 PodDisruptionBudgets cover it"


def test_budgets_that_cannot_be_read_keep_everything() -> None:
    """Nothing is proposed that an unknown budget may forbid; a cluster without such a kind has none."""

    def why(status: int) -> str:
        cluster = ScriptedCluster(
            nodes=[node("n1")], pods=[pod("web-1", owner=WEB)], deployments=[deployment()]
        )
        cluster.failures["budgets"] = status
        reading = asyncio.run(read_every_source(TwinTransport(cluster), cluster.now))
        seen = occupancy_of(reading)
        assert seen is not None
        return seen.nodes[0].pods[0].kept_by

    assert why(403) == "PodDisruptionBudgets could not be read"
    assert why(404) == ""


def test_expressions_of_a_budgets_selector_count() -> None:
    """All four operators, as the API has them; other namespaces and budgets without a selector cover nothing."""

    def covers(operator: str, *values: str) -> bool:
        requirement = Requirement(key="app", operator=operator, values=values)
        selector = LabelSelector(match_expressions=(requirement,))
        one = PodDisruptionBudget(
            metadata=Meta(namespace="shop"), spec=BudgetSpec(selector=selector)
        )
        assert not covering([one], "other", {"app": "web"})
        return bool(covering([one], "shop", {"app": "web"}))

    assert covers("In", "web", "api")
    assert not covers("In", "api")
    assert covers("NotIn", "api")
    assert not covers("NotIn", "web")
    assert covers("Exists")
    assert not covers("DoesNotExist")
    assert not covering([PodDisruptionBudget(metadata=Meta(namespace="shop"))], "shop", {})
