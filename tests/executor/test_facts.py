"""What the executor reads before it plans: which pods and workloads count, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from services.executor.desired_state import already_shows
from services.executor.facts import Facts
from services.executor.plans.planned import apply_merge_patch
from services.executor.reading.facts import read_facts
from services.held import HELD
from tests.builders import make_action
from tests.executor.api_server import ApiServer

NODE = "/api/v1/nodes/n1"
PODS = "/api/v1/namespaces/shop/pods"
JOBS = "/apis/batch/v1/namespaces/shop/jobs"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
MARK = "foresail.dev/do-not-disrupt"


def pod(
    server: ApiServer, name: str, phase: str = "Running", node: str = "n1", **more: Any
) -> None:
    """Add a pod of a Job, or of another controller."""
    kind, owner = more.pop("owner", ("Job", "j"))
    owners = [{"kind": kind, "name": owner, "controller": True}] if kind else []
    spec = {"priority": more.pop("priority", 0), **({"nodeName": node} if node else {})}
    metadata = {"ownerReferences": owners, **more}
    server.add(f"{PODS}/{name}", uid=name, metadata=metadata, spec=spec, status={"phase": phase})


async def of_node(server: ApiServer) -> Facts:
    """Read what a plan for the node may look at."""
    return await read_facts(server, make_action(kind=ActionKind.MIGRATE, target="n1"))


async def of_queue(server: ApiServer) -> Facts:
    """Read what a plan for the queue may look at."""
    return await read_facts(server, make_action(kind=ActionKind.ADMISSION))


async def test_pods_that_end_or_have_ended_are_not_on_a_node() -> None:
    """Neither finished pods nor those being deleted can be moved or keep a node awake."""
    server = ApiServer()
    server.add(NODE)
    pod(server, "runs")
    pod(server, "starts", "Pending")
    pod(server, "done", "Succeeded")
    pod(server, "broke", "Failed")
    pod(server, "goes", deletionTimestamp="2026-01-01T00:00:00Z")
    pod(server, "elsewhere", node="n2")

    facts = await of_node(server)

    assert [pod.name for pod in facts.pods] == ["runs", "starts"]


async def test_only_pods_of_daemon_sets_belong_to_the_node() -> None:
    """They come back on the same node, so evicting them is of no use."""
    server = ApiServer()
    server.add(NODE)
    pod(server, "agent", owner=("DaemonSet", "agents"))
    pod(server, "bare", owner=("", ""))
    pod(server, "task")

    facts = await of_node(server)

    assert [(pod.name, pod.daemon, pod.workload) for pod in facts.pods] == [
        ("agent", True, "shop/DaemonSet/agents"),
        ("bare", False, ""),
        ("task", False, "shop/Job/j"),
    ]


@pytest.mark.parametrize("where", ["annotations", "labels"])
@pytest.mark.parametrize(("value", "marked"), [("true", True), ("false", False)])
async def test_do_not_disrupt_counts_as_annotation_and_as_label(
    where: str, value: str, *, marked: bool
) -> None:
    """On a node, a pod and a workload alike, and only when it says true."""
    server, mark = ApiServer(), {where: {MARK: value}}
    server.add(NODE, metadata=mark)
    server.add(f"{JOBS}/j", metadata=mark, spec={})
    pod(server, "p", **mark)

    facts = await of_node(server)

    assert facts.node is not None
    actual = (facts.node.protected, facts.pods[0].protected, facts.workloads[0].protected)
    assert actual == (marked,) * 3


async def test_the_queue_is_what_waits_for_a_node() -> None:
    """A pod that has its node and is only starting is in no queue."""
    server = ApiServer()
    server.add(f"{JOBS}/j", spec={"parallelism": 3})
    pod(server, "waits", "Pending", node="", priority=-1)
    pod(server, "waits-too", "Pending", node="", priority=-5)
    pod(server, "starts", "Pending")

    facts = await of_queue(server)

    assert [pod.name for pod in facts.pods] == ["waits", "waits-too"]
    (job,) = facts.workloads
    assert (job.pending_pods, job.priority, job.replicas) == (2, -1, 3)


async def test_what_we_hold_is_known_although_nothing_of_it_waits() -> None:
    """A suspended Job has no pods: its annotation tells that it is ours to give back."""
    server = ApiServer()
    held = {"annotations": {HELD: '{"suspend": false}', "other/name": "x"}}
    server.add(f"{JOBS}/held", metadata=held, spec={"suspend": True})
    server.add(f"{JOBS}/idle", spec={"suspend": True})
    server.add(f"{DEPLOYMENTS}/idle", spec={"replicas": 0})

    (job,) = (await of_queue(server)).workloads

    assert (job.id, job.suspended) == ("shop/Job/held", True)
    assert job.annotations == {HELD: '{"suspend": false}'}


async def test_a_node_that_is_gone_is_none() -> None:
    """The plan says so, and does not guess."""
    assert (await of_node(ApiServer())).node is None


@pytest.mark.parametrize(
    ("current", "patch", "there"),
    [
        ({"spec": {}}, {"spec": {"unschedulable": None}}, True),
        ({"spec": {}}, {"spec": {"suspend": False}}, True),
        ({"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}, False),
        ({"spec": {"taints": [1]}}, {"spec": {"taints": []}}, False),
        ({}, {"metadata": {"annotations": {"a": None}}}, True),
        ({"spec": {"replicas": 0}}, {"spec": {"replicas": 1}}, False),
    ],
)
def test_absent_false_and_empty_are_one(current: Any, patch: Any, *, there: bool) -> None:
    """The API leaves out what is empty; an object is as wanted when nothing would be seen to change."""
    assert already_shows(current, patch) is there


def test_a_merge_patch_removes_by_null_and_replaces_lists() -> None:
    """RFC 7396: null removes, an object merges, anything else replaces."""
    current = {"a": {"b": 1, "c": 2}, "list": [1, 2]}

    assert apply_merge_patch(current, {"a": {"b": None}, "list": [3]}) == {
        "a": {"c": 2},
        "list": [3],
    }
    assert apply_merge_patch("text", {"a": 1}) == {"a": 1}
