"""Whatever is decided, the executor asks a recorded server for no write of what is out of bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase, Mode, Operation, OutcomeExecution, Verb
from schemas.reasons import Reason
from tests.builders import make_action
from tests.patience import HANGS_SECONDS
from tests.safety.harness import Ground
from tests.safety.world import CONTROL_PLANE, KARPENTER, WRITABLE, World

RULES, CROWDED, OTHERS, EMPTY, MARKED, OWN, TAINTED = range(7)
"""Nodes of the furnished world."""
EVERY_NODE = {"writable_nodes": f"{WRITABLE}=true"}
LIMITS: dict[ActionKind, dict[str, Any]] = {
    ActionKind.POWER_STATE: {"power_state": "sleep"},
    ActionKind.THROTTLE: {"cpu_cap_ratio": 0.85},
    ActionKind.DVFS: {"clock_scale_ratio": 0.65},
    ActionKind.MEMORY_BALLOON: {"memory_scale_ratio": 0.75},
    ActionKind.RESOURCE_CAP: {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8},
}


def action_at(kind: ActionKind, node: str) -> Any:
    """Return an action of a kind at a node."""
    return make_action(kind=kind, target=node, **LIMITS.get(kind, {}))


def refusing(outcome: OutcomeExecution) -> dict[str, Any]:
    """Return reason and measured number of each guard that refused."""
    return {
        guard.guard: (guard.reason, guard.measured) for guard in outcome.guards if not guard.passed
    }


def is_quota_alone(world: World, kind: ActionKind) -> bool:
    """Say whether a cap can only be a quota, for which no namespace here has defaults: annotations on nodes are the
    embedded cluster's alone.
    """
    return kind is ActionKind.RESOURCE_CAP and not world.face.simulated


async def test_what_is_allowed_is_written(world: World) -> None:
    """Two plain pods of a named namespace are evicted, and nothing else is written: the ground is real."""
    before = {pod["metadata"]["name"] for pod in world.pods(world.nodes[OWN])}
    outcome = await Ground(world).decide(action_at(ActionKind.MIGRATE, world.nodes[OWN]))

    assert outcome.phase is ExecutionPhase.FINISHED
    assert outcome.succeeded, outcome.text
    paths = sorted(one.path for one in world.recorder.writes)
    assert paths == sorted(f"/api/v1/namespaces/shop/pods/{name}/eviction" for name in before)
    world.settle(15)


async def test_the_issue_s_eviction_is_refused(world: World) -> None:
    """`--namespaces shop`: neither the marked StatefulSet's pod of another namespace is evicted, nor its
    unmarked neighbours, one of them in a namespace whose name begins alike.
    """
    outcome = await Ground(world).decide(action_at(ActionKind.MIGRATE, world.nodes[OTHERS]))

    assert world.recorder.writes == []
    assert outcome.reason in {Reason.NAMESPACE_NOT_NAMED, Reason.PROTECTED}
    assert refusing(outcome)["named_namespaces"] == (Reason.NAMESPACE_NOT_NAMED, 2)


@pytest.mark.parametrize("kind", LIMITS)
async def test_the_control_plane_is_never_written(world: World, kind: ActionKind) -> None:
    """No action writes an empty node that only its taint shows to be of the control plane, even where
    the settings name that very node.
    """
    node = world.nodes[TAINTED]
    own = {"writable_nodes": f"kubernetes.io/hostname={node}"}
    outcome = await Ground(world, options=own).decide(action_at(kind, node))

    assert world.recorder.writes == []
    if is_quota_alone(world, kind):
        assert outcome.reason is Reason.NO_DEFAULTS
    else:
        assert refusing(outcome) == {"control_plane": (Reason.CONTROL_PLANE, 1)}


async def test_nothing_is_evicted_from_the_control_plane(world: World) -> None:
    """A plain pod of a named namespace stays where it is if that is a control-plane node."""
    outcome = await Ground(world).decide(action_at(ActionKind.MIGRATE, world.nodes[RULES]))

    assert world.recorder.writes == []
    assert refusing(outcome)["control_plane"] == (Reason.CONTROL_PLANE, 1)


@pytest.mark.parametrize("kind", LIMITS)
async def test_a_node_that_nobody_named_is_not_written(world: World, kind: ActionKind) -> None:
    """Even an empty worker serves every namespace: without its label it stays as it is."""
    outcome = await Ground(world).decide(action_at(kind, world.nodes[EMPTY]))

    assert world.recorder.writes == []
    if is_quota_alone(world, kind):
        assert outcome.reason is Reason.NO_DEFAULTS
    else:
        assert refusing(outcome)["named_nodes"] == (Reason.NODE_NOT_NAMED, 1)


@pytest.mark.parametrize("kind", [ActionKind.THROTTLE, ActionKind.DVFS, ActionKind.RESOURCE_CAP])
async def test_a_named_node_with_pods_of_others_is_not_written(
    world: World, kind: ActionKind
) -> None:
    """A limit would slow the pods of namespaces that nobody named."""
    node = world.nodes[OTHERS]
    outcome = await Ground(
        world, options={"writable_nodes": f"kubernetes.io/hostname={node}"}
    ).decide(action_at(kind, node))

    assert world.recorder.writes == []
    if is_quota_alone(world, kind):
        assert outcome.reason is Reason.NO_DEFAULTS
    else:
        assert refusing(outcome)["named_nodes"] == (Reason.NODE_NOT_NAMED, 3)


async def test_a_named_node_with_own_pods_is_written(world: World) -> None:
    """Where the node is named and all its pods are of named namespaces, a limit is set and taken back."""
    ground = Ground(world, options=EVERY_NODE)
    outcome = await ground.decide(action_at(ActionKind.DVFS, world.nodes[OWN]))

    assert outcome.succeeded, outcome.text
    assert [one.path for one in world.recorder.writes] == [f"/api/v1/nodes/{world.nodes[OWN]}"]
    world.change(
        f"/api/v1/nodes/{world.nodes[OWN]}",
        {"metadata": {"annotations": {"foresail.dev/clock-scale": None}}},
    )


async def test_nothing_protected_is_evicted(world: World) -> None:
    """On a node crowded with what protects itself (the pod, each owner up the chain, the namespace, the
    control plane's namespace, a static pod) nothing is evicted.
    """
    outcome = await Ground(world).decide(action_at(ActionKind.MIGRATE, world.nodes[CROWDED]))

    assert world.recorder.writes == []
    assert outcome.phase is ExecutionPhase.REFUSED
    assert outcome.reason is Reason.PROTECTED


@pytest.mark.parametrize(
    ("owner", "mark"),
    [
        ("by-pod", "pod"),
        ("by-autoscaler", "pod"),
        ("by-deployment", "deployment"),
        ("by-replica-set", "replicaset"),
        ("by-stateful-set", "statefulset"),
        ("by-job", "job"),
        ("by-cron-1", "cronjob"),
        ("by-namespace", "namespace"),
    ],
)
async def test_a_stored_plan_evicts_nothing_protected(world: World, owner: str, mark: str) -> None:
    """A plan that a process stored before it died is judged again: the object that protects is named."""
    (pod,) = [pod for pod in world.pods() if pod["metadata"]["name"].startswith(owner)]
    outcome = await Ground(world).resume(evict(pod))

    assert world.recorder.writes == []
    assert outcome.phase is ExecutionPhase.FINISHED
    assert outcome.results[0].reason is Reason.PROTECTED
    assert f"{mark} " in outcome.results[0].message
    assert refusing(outcome)["do_not_disrupt"] == (Reason.PROTECTED, 1)


def evict(pod: dict[str, Any]) -> Operation:
    """Return the operation that evicts a pod."""
    meta = pod["metadata"]
    return Operation(
        verb=Verb.EVICT,
        resource="pods",
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        text="evict",
    )


def patch(resource: str, name: str, namespace: str = "", **fields: Any) -> Operation:
    """Return the operation that patches an object."""
    return Operation(
        verb=Verb.PATCH,
        resource=resource,
        namespace=namespace,
        name=name,
        patch=json.dumps(fields),
        undo=json.dumps({"spec": {"unschedulable": None}}),
        text="patch",
    )


HOSTILE: dict[str, tuple[Callable[[World], Operation], Reason]] = {
    "another namespace": (
        lambda world: evict(first(world, "plain")),
        Reason.NAMESPACE_NOT_NAMED,
    ),
    "a namespace whose name begins alike": (
        lambda world: evict(first(world, "sibling")),
        Reason.NAMESPACE_NOT_NAMED,
    ),
    "kube-system, although it is named": (
        lambda world: evict(first(world, "dns")),
        Reason.PROTECTED,
    ),
    "a static pod": (lambda world: evict(first(world, "static-")), Reason.PROTECTED),
    "a pod of the control plane": (
        lambda world: evict(first(world, "ruler")),
        Reason.CONTROL_PLANE,
    ),
    "a pod of a marked node": (lambda world: evict(first(world, "resting")), Reason.PROTECTED),
    "a marked workload": (
        lambda world: patch("deployments", "by-deployment", "shop", spec={"replicas": 0}),
        Reason.PROTECTED,
    ),
    "a workload whose pod is marked": (
        lambda world: patch("deployments", "by-pod", "shop", spec={"replicas": 0}),
        Reason.PROTECTED,
    ),
    "a workload with a pod on the control plane": (
        lambda world: Operation(
            verb=Verb.SCALE,
            resource="deployments",
            namespace="shop",
            name="ruler",
            replicas=0,
            text="scale",
        ),
        Reason.CONTROL_PLANE,
    ),
    "a Job of a marked CronJob": (
        lambda world: patch("jobs", "by-cron-1", "shop", spec={"suspend": True}),
        Reason.PROTECTED,
    ),
    "a control-plane node": (
        lambda world: patch("nodes", world.nodes[RULES], spec={"unschedulable": True}),
        Reason.CONTROL_PLANE,
    ),
    "a marked node": (
        lambda world: patch("nodes", world.nodes[MARKED], spec={"unschedulable": True}),
        Reason.PROTECTED,
    ),
    "a node of nobody": (
        lambda world: patch("nodes", world.nodes[EMPTY], spec={"unschedulable": True}),
        Reason.NODE_NOT_NAMED,
    ),
    "a kind that is never written": (
        lambda world: patch("secrets", "token", "shop", data={}),
        Reason.NAMESPACE_NOT_NAMED,
    ),
}


def first(world: World, name: str) -> dict[str, Any]:
    """Return the first pod whose name begins so."""
    return next(pod for pod in world.pods() if pod["metadata"]["name"].startswith(name))


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_stored_plan_is_judged_again(world: World, what: str) -> None:
    """Completing a plan after a restart writes nothing that is out of bounds now."""
    operation, reason = HOSTILE[what][0](world), HOSTILE[what][1]
    outcome = await Ground(world).resume(operation)

    assert world.recorder.writes == []
    assert outcome.results[0].reason is reason, outcome.results
    assert any(guard.measured and not guard.passed for guard in outcome.guards)


async def test_an_undo_is_judged_again(world: World) -> None:
    """Taking back what was done to a node that is of the control plane by now writes nothing."""
    node = world.nodes[EMPTY]
    path = f"/api/v1/nodes/{node}"
    world.change(
        path, {"spec": {"unschedulable": True}, "metadata": {"labels": {WRITABLE: "true"}}}
    )
    world.change(path, {"metadata": {"labels": {CONTROL_PLANE: ""}}})
    try:
        outcome = await Ground(world, options=EVERY_NODE).undo(
            patch("nodes", node, spec={"unschedulable": True})
        )
    finally:
        labels = {CONTROL_PLANE: None, WRITABLE: None}
        world.change(path, {"spec": {"unschedulable": None}, "metadata": {"labels": labels}})

    assert outcome.rollback_of
    assert outcome.results[0].reason is Reason.CONTROL_PLANE
    assert world.recorder.writes == []


async def test_a_mark_set_between_plan_and_write_counts(world: World) -> None:
    """The plan is stored, then somebody marks the StatefulSet's namespace: nothing is evicted."""
    path = "/api/v1/namespaces/shop"

    def protect() -> None:
        world.change(path, {"metadata": {"annotations": KARPENTER}})

    try:
        outcome = await Ground(world, meanwhile=protect).decide(
            action_at(ActionKind.MIGRATE, world.nodes[OWN])
        )
    finally:
        world.change(path, {"metadata": {"annotations": dict.fromkeys(KARPENTER)}})

    assert world.recorder.writes == []
    assert outcome.phase is ExecutionPhase.FINISHED
    assert outcome.results[0].reason is Reason.PROTECTED


async def test_a_mark_that_comes_with_a_conflict_counts(world: World) -> None:
    """The write meets a conflict because somebody marked the object; it is not sent a second time."""
    path = "/apis/apps/v1/namespaces/shop/deployments/web"

    def protect(method: str, asked: str) -> None:
        if method == "PATCH" and asked.startswith(path):
            world.recorder.before = None
            world.change(path, {"metadata": {"annotations": KARPENTER}})

    world.recorder.before = protect
    try:
        outcome = await Ground(world).decide(action_at(ActionKind.REPLICATE, world.nodes[OWN]))
    finally:
        world.change(path, {"metadata": {"annotations": dict.fromkeys(KARPENTER)}})

    assert [one.status for one in world.recorder.writes] == [409]
    assert outcome.results[0].reason is Reason.PROTECTED


async def test_shadow_mode_sends_dry_runs_only(world: World) -> None:
    """In shadow mode without names everything is tried, with dryRun alone, and what protects itself is
    not even tried.
    """
    for node in (OTHERS, RULES, EMPTY, CROWDED, OWN):
        for kind in (ActionKind.MIGRATE, ActionKind.POWER_STATE, ActionKind.DVFS):
            ground = Ground(world, mode=Mode.SHADOW, options={"namespaces": ()})
            await ground.decide(action_at(kind, world.nodes[node]))

    assert world.recorder.writes == []
    tried = [one.path for one in world.recorder.attempts]
    assert f"/api/v1/nodes/{world.nodes[EMPTY]}" in tried
    assert not any(world.nodes[RULES] in path or "/db-0/" in path for path in tried)


async def test_active_mode_without_names_writes_nothing(world: World) -> None:
    """An executor that was told no names writes nothing in a cluster of the user's own."""
    for node in (OTHERS, EMPTY, OWN):
        ground = Ground(world, options={"namespaces": ()})
        await ground.decide(action_at(ActionKind.MIGRATE, world.nodes[node]))
        ground = Ground(world, options={"namespaces": ()})
        await ground.decide(action_at(ActionKind.POWER_STATE, world.nodes[node]))

    assert world.recorder.writes == []


async def test_the_queue_is_opened_and_closed_in_named_namespaces_only(world: World) -> None:
    """Waiting Deployments are scaled to 0 in a named namespace, and nowhere else."""
    for namespace in ("shop", "shop-test", "other", "quiet"):
        world.workload("deployments", f"late-{namespace}", "nowhere", namespace=namespace)
    kinds = ("late-shop-", "late-shop-test-", "late-other-", "late-quiet-")
    wait_for(world, kinds)
    action = make_action(kind=ActionKind.ADMISSION, admission="reject")
    try:
        await Ground(world).decide(action)
    finally:
        for namespace in ("shop", "shop-test", "other", "quiet"):
            path = f"/apis/apps/v1/namespaces/{namespace}/deployments/late-{namespace}"
            world.face.ask("DELETE", path, {"propagationPolicy": "Background"})

    assert [one.path for one in world.recorder.writes] == [
        "/apis/apps/v1/namespaces/shop/deployments/late-shop"
    ]


def wait_for(world: World, names: tuple[str, ...]) -> None:
    """Wait until each workload has its waiting pod."""
    deadline = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < deadline:
        found = [pod["metadata"]["name"] for pod in world.pods()]
        if all(any(one.startswith(name) for one in found) for name in names):
            return
        time.sleep(0.2)
    raise AssertionError(found)
