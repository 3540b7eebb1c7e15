"""migrate and what a pod asks of its node, or a StatefulSet of its pods: none to nowhere, nor two at once."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import OutcomeExecution, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts, WorkloadFacts
from services.executor.plans import migrate
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.settings import ExecutorSettings
from tests.builders import make_action
from tests.executor.ground import PODS, Ground

SETS = "/apis/apps/v1/namespaces/shop/statefulsets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
MERGE = "application/merge-patch+json"
FREE = {"ping_pong_seconds": 0.0, "cool_down_seconds": 0.0}


def workload(ground: Ground, path: str, replicas: int, **spec: Any) -> None:
    """Create a workload of small pods."""
    labels = {"app": "web"}
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "a:1", "resources": resources}], **spec},
    }
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    ground.ask("POST", path, {"metadata": {"name": "web"}, "spec": {**body, "serviceName": "web"}})


def pods_on(ground: Ground, node: str) -> list[str]:
    """Return the names of the pods on a node."""
    items = ground.ask("GET", PODS)["items"]
    return sorted(one["metadata"]["name"] for one in items if one["spec"].get("nodeName") == node)


async def migrate_node(ground: Ground) -> OutcomeExecution:
    """Decide to move pods off the node."""
    ground.cycle += 1
    ground.plant.see(ground.cycle)
    ground.plant.decide(
        make_action(kind=ActionKind.MIGRATE, target=ground.plant.node), ground.cycle
    )
    await ground.plant.act()
    return ground.plant.executions()[-1]


def evicted(done: OutcomeExecution) -> list[str]:
    """Return the names of the pods that were evicted."""
    return [one.name for one in done.operations if one.verb is Verb.EVICT]


async def test_a_stateful_set_gives_up_one_pod_and_then_the_next() -> None:
    """The highest ordinal first; the next only once all replicas are ready again."""
    ground = Ground(**FREE)
    workload(ground, SETS, 6)
    await ground.pass_time(300.0)
    here = pods_on(ground, ground.plant.node)
    assert len(here) >= 2

    first = await migrate_node(ground)
    assert first.succeeded, first.text
    assert evicted(first) == [here[-1]]
    at_once = await migrate_node(ground)
    assert (at_once.reason, "replicas of StatefulSet web are ready" in at_once.text) == (
        Reason.NO_MOVABLE_POD,
        True,
    )
    await ground.pass_time(120.0)
    then = await migrate_node(ground)
    assert evicted(then) == [here[-2]], then.text


async def test_a_pod_of_a_set_on_a_node_that_nobody_reaches_stays() -> None:
    """It may still run there, and no other is made before that node says that it has ended."""
    ground = Ground(**FREE)
    workload(ground, SETS, 6)
    await ground.pass_time(300.0)
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    node = f"/api/v1/nodes/{ground.plant.node}"
    ground.ask("PATCH", node, {"spec": {"taints": [taint]}}, MERGE)
    done = await migrate_node(ground)
    assert done.reason is Reason.NO_MOVABLE_POD, done.text
    assert "nobody can reach" in done.text
    assert evicted(done) == []


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_pod_moves_only_where_another_node_has_what_it_asks_for(elsewhere: bool) -> None:
    """An eviction would leave it without a node, and the risk of one with it."""
    ground = Ground(**FREE)
    names = [one["metadata"]["name"] for one in ground.ask("GET", "/api/v1/nodes")["items"]]
    labelled = names[:2] if elsewhere else names[:1]
    assert ground.plant.node == names[0]
    for name in labelled:
        label = {"metadata": {"labels": {"disk": "ssd"}}}
        ground.ask("PATCH", f"/api/v1/nodes/{name}", label, MERGE)
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        ]
    }
    rule = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    workload(ground, DEPLOYMENTS, 2, affinity=rule)
    await ground.pass_time(60.0)
    here = pods_on(ground, ground.plant.node)
    done = await migrate_node(ground)

    if elsewhere:
        assert sorted(evicted(done)) == here
        return
    assert done.reason is Reason.NO_MOVABLE_POD
    assert "no other open node has what" in done.text
    assert pods_on(ground, ground.plant.node) == here


async def test_a_closed_node_is_no_place() -> None:
    """It has the label, and a taint that keeps pods away."""
    ground = Ground(**FREE)
    names = [one["metadata"]["name"] for one in ground.ask("GET", "/api/v1/nodes")["items"]]
    for name in names:
        label = {"metadata": {"labels": {"disk": "ssd"}}}
        ground.ask("PATCH", f"/api/v1/nodes/{name}", label, MERGE)
    workload(ground, DEPLOYMENTS, 3, nodeSelector={"disk": "ssd"})
    await ground.pass_time(60.0)
    for name in names[1:]:
        taint = {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}
        ground.ask("PATCH", f"/api/v1/nodes/{name}", taint, MERGE)
    refused = await migrate_node(ground)
    assert refused.reason is Reason.NO_MOVABLE_POD, refused.text


def planned(ready: int, *names: str, known: bool = True) -> OperationPlan | PlanRefusal:
    """Return the plan for a node with these pods of a StatefulSet of three."""
    name = "shop/StatefulSet/db"
    owner = WorkloadFacts(
        id=name,
        kind="StatefulSet",
        namespace="shop",
        name="db",
        uid="w",
        resource_version="1",
        replicas=3,
        ready=ready,
    )
    pods = tuple(
        PodFacts(namespace="shop", name=one, uid=one, workload=name, cpu_request_cores=1.0)
        for one in names
    )
    node = NodeFacts(name="n", uid="n", resource_version="1", ready=True, unschedulable=False)
    facts = Facts(time_seconds=0.0, node=node, pods=pods, workloads=(owner,) if known else ())
    return migrate.plan(make_action(kind=ActionKind.MIGRATE), facts, ExecutorSettings())


def test_ordinals_are_numbers() -> None:
    """db-10 goes before db-9, and counts as lacking where it is."""
    plan = planned(3, "db-9", "db-10")
    assert isinstance(plan, OperationPlan)
    assert [one.name for one in plan.operations if one.verb is Verb.EVICT] == ["db-10"]
    assert plan.missing_replicas == {"shop/StatefulSet/db": 0}


def test_a_set_that_nobody_may_read_keeps_its_pods() -> None:
    """Whether all of its replicas are ready is not known."""
    refusal = planned(3, "db-0", known=False)
    assert isinstance(refusal, PlanRefusal)
    assert "could not be read" in refusal.text
