"""Plans of all nine kinds: complete, absolute, reversible where they can be, refused with the reason where they cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import Action, ActionKind, Agent, Parameters, Target, TargetKind
from schemas.outcome import Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts, WorkloadFacts, merged
from services.executor.plans import PLANS, example
from services.executor.plans.planned import Planned, Refusal, node_state
from services.executor.settings import ExecutorSettings

SETTINGS = ExecutorSettings()
NODE = NodeFacts(name="n1", uid="node-uid", resource_version="7", ready=True, unschedulable=False)
ON_NODE = Target(kind=TargetKind.NODE, name="n1")
QUEUE = Target(kind=TargetKind.QUEUE, name="pending")


def action(kind: ActionKind, target: Target = ON_NODE, **parameters: Any) -> Action:
    """Return an action."""
    return Action(agent=Agent.SAFETY, kind=kind, target=target, parameters=Parameters(**parameters))


def pod(name: str, workload: str = "d/Deployment/web", cpu: float = 1.0, **fields: Any) -> PodFacts:
    """Return a pod on the node."""
    return PodFacts(namespace="d", name=name, uid=f"{name}-uid", workload=workload, cpu_request_cores=cpu, **fields)


def workload(name: str, kind: str = "Deployment", **fields: Any) -> WorkloadFacts:
    """Return a workload in namespace d."""
    given = {"uid": f"{name}-uid", "resource_version": "9", "replicas": 3, **fields}
    return WorkloadFacts(id=f"d/{kind}/{name}", kind=kind, namespace="d", name=name, **given)


def facts(**fields: Any) -> Facts:
    """Return facts with the node."""
    return Facts(**{"time_seconds": 100.0, "node": NODE, **fields})


def planned(wish: Action, given: Facts) -> Planned:
    """Plan and expect a plan."""
    found = PLANS[wish.kind](wish, given, SETTINGS)
    assert isinstance(found, Planned), found
    return found


def refused(wish: Action, given: Facts) -> Reason:
    """Plan and expect a refusal."""
    found = PLANS[wish.kind](wish, given, SETTINGS)
    assert isinstance(found, Refusal), found
    return found.reason


def test_every_kind_has_a_plan() -> None:
    """No kind of action falls through."""
    assert set(ActionKind) == set(PLANS)


def test_replicate_scales_the_deployment_with_most_pods() -> None:
    """The end is absolute, at the version that was read, and can be taken back."""
    given = facts(
        pods=(pod("a", "d/Deployment/small"), pod("b"), pod("c")),
        workloads=(workload("small"), workload("web", replicas=3)),
    )
    (operation,) = planned(action(ActionKind.REPLICATE), given).operations

    assert (Verb.SCALE, "web", 4, "9") == (operation.verb, operation.name, operation.replicas, operation.resource_version)
    assert {"spec": {"replicas": 3}} == json.loads(operation.undo)


def test_replicate_needs_a_deployment() -> None:
    """Jobs and bare pods are not replicated; protected Deployments are left alone."""
    job = facts(pods=(pod("a", "d/Job/batch"),), workloads=(workload("batch", "Job"),))
    shielded = facts(pods=(pod("a"),), workloads=(workload("web", protected=True),))

    assert Reason.NO_WORKLOAD == refused(action(ActionKind.REPLICATE), job)
    assert Reason.PROTECTED == refused(action(ActionKind.REPLICATE), shielded)


def test_migrate_taints_then_evicts_the_largest_movable_pods() -> None:
    """Pods go by UID, largest first, at most two; bare and daemon pods stay."""
    given = facts(
        pods=(pod("s", cpu=1), pod("l", cpu=4), pod("m", cpu=2), pod("bare", workload="", cpu=9), pod("ds", cpu=9, daemon=True))
    )
    taint, *evictions = planned(action(ActionKind.MIGRATE), given).operations

    assert "PreferNoSchedule" in taint.patch
    assert "7" == taint.resource_version
    assert [("l", "l-uid"), ("m", "m-uid")] == [(one.name, one.uid) for one in evictions]


def test_migrate_without_a_movable_pod_is_refused() -> None:
    """A pod that nothing would replace is never evicted."""
    assert Reason.NO_MOVABLE_POD == refused(action(ActionKind.MIGRATE), facts(pods=(pod("bare", workload=""),)))
    assert Reason.PROTECTED == refused(action(ActionKind.MIGRATE), facts(pods=(pod("a", protected=True),)))


@pytest.mark.parametrize(
    ("kind", "parameters", "annotations"),
    [
        (ActionKind.THROTTLE, {"cpu_cap_ratio": 0.85}, {"foresail.dev/cpu-cap": "0.85"}),
        (ActionKind.DVFS, {"clock_scale_ratio": 0.65}, {"foresail.dev/clock-scale": "0.65"}),
        (ActionKind.MEMORY_BALLOON, {"memory_scale_ratio": 0.75}, {"foresail.dev/memory-scale": "0.75"}),
        (
            ActionKind.RESOURCE_CAP,
            {"cpu_cap_ratio": 0.85, "memory_cap_ratio": 0.85},
            {"foresail.dev/cpu-cap": "0.85", "foresail.dev/memory-cap": "0.85"},
        ),
    ],
)
def test_node_limits_are_annotations(kind: ActionKind, parameters: dict[str, float], annotations: dict[str, str]) -> None:
    """throttle and dvfs differ; only resource_cap keeps new pods away; each undo gives the node back as it was."""
    (operation,) = planned(action(kind, **parameters), facts()).operations
    patch = json.loads(operation.patch)
    before = node_state(NODE)

    assert annotations == patch["metadata"]["annotations"]
    assert (kind is ActionKind.RESOURCE_CAP) is ("spec" in patch)
    assert before == merged(merged(before, patch), json.loads(operation.undo))


def test_a_limit_that_holds_already_is_refused() -> None:
    """Doing nothing twice is said, not done."""
    limited = NODE.model_copy(update={"annotations": {"foresail.dev/clock-scale": "0.65"}})
    wish = action(ActionKind.DVFS, clock_scale_ratio=0.65)

    assert Reason.ALREADY_IN_STATE == refused(wish, facts(node=limited))


def test_only_an_empty_node_sleeps() -> None:
    """Daemon pods do not count; one other pod keeps the node awake; sleep cordons and can be undone."""
    sleep = action(ActionKind.POWER_STATE, power_state="sleep")
    (operation,) = planned(sleep, facts(pods=(pod("ds", daemon=True),))).operations

    assert json.loads(operation.patch)["spec"] == {"unschedulable": True}
    assert {"unschedulable": None} == json.loads(operation.undo)["spec"]
    assert Reason.NODE_NOT_EMPTY == refused(sleep, facts(pods=(pod("a"),)))


def test_waking_takes_the_same_node_back() -> None:
    """`on` clears what sleep set."""
    asleep = NODE.model_copy(update={"unschedulable": True, "annotations": {"foresail.dev/power-state": "sleep"}})
    (operation,) = planned(action(ActionKind.POWER_STATE, power_state="on"), facts(node=asleep)).operations

    assert {"unschedulable": None} == json.loads(operation.patch)["spec"]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [("queue", ["new", "old", "vip"]), ("deprioritize", ["new", "old"]), ("reject", ["new", "old", "web", "vip"])],
)
def test_admission_holds_waiting_workloads(wish: str, expected: list[str]) -> None:
    """Lowest priority first, then newest; Deployments only by reject; running and suspended ones never."""
    given = Facts(
        time_seconds=100.0,
        workloads=(
            workload("new", "Job", replicas=1, pending_pods=1, created_time_seconds=50.0),
            workload("old", "Job", replicas=1, pending_pods=1, created_time_seconds=10.0),
            workload("held", "Job", replicas=1, pending_pods=1, suspended=True),
            workload("running", "Job", replicas=2, pending_pods=1),
            workload("vip", "Job", replicas=1, pending_pods=1, priority=9),
            workload("web", replicas=2, pending_pods=2, created_time_seconds=5.0),
        ),
    )
    found = planned(action(ActionKind.ADMISSION, QUEUE, admission=wish), given)

    assert expected == [one.name for one in found.operations]
    assert "close" == found.direction


def test_admit_restores_what_was_held() -> None:
    """What we hold remembers its former value, and admit gives exactly that back."""
    wish = action(ActionKind.ADMISSION, QUEUE, admission="reject")
    waiting = workload("web", replicas=2, pending_pods=2)
    (hold,) = planned(wish, Facts(time_seconds=1.0, workloads=(waiting,))).operations
    annotations = json.loads(hold.patch)["metadata"]["annotations"]
    held = waiting.model_copy(update={"replicas": 0, "annotations": annotations, "pending_pods": 0})
    admit = action(ActionKind.ADMISSION, QUEUE, admission="admit")
    (restore,) = planned(admit, Facts(time_seconds=2.0, workloads=(held,))).operations

    assert {"replicas": 2} == json.loads(restore.patch)["spec"]
    assert Reason.ALREADY_IN_STATE == refused(admit, Facts(time_seconds=3.0, workloads=(waiting,)))


@pytest.mark.parametrize("kind", [kind for kind in ActionKind if kind not in {ActionKind.ADMISSION, ActionKind.NOOP}])
def test_a_node_that_is_gone_is_named(kind: ActionKind) -> None:
    """Re-validation: every node action is refused when the node no longer exists."""
    assert Reason.TARGET_GONE == refused(action(kind), facts(node=None))


def test_noop_plans_nothing() -> None:
    """A noop is refused with its own reason."""
    assert Reason.NOOP == refused(action(ActionKind.NOOP, Target(kind=TargetKind.NONE)), facts())


def test_the_template_works() -> None:
    """The example plan that people copy is a real plan."""
    assert isinstance(example.plan(action(ActionKind.DVFS), facts(), SETTINGS), Planned)
