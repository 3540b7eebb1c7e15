"""Plans of the nine kinds: which absolute ends they state, how they are undone, and when they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts, WorkloadFacts
from services.executor.plans import PLANS, example
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.settings import ExecutorSettings
from services.held import HELD
from tests.builders import make_action

SETTINGS = ExecutorSettings(node_limits="node_agent")
LIMITS: tuple[tuple[ActionKind, dict[str, float], dict[str, str]], ...] = (
    (ActionKind.THROTTLE, {"cpu_cap_ratio": 0.85}, {"cpu-cap": "0.85"}),
    (ActionKind.DVFS, {"clock_scale_ratio": 0.65}, {"clock-scale": "0.65"}),
    (ActionKind.MEMORY_BALLOON, {"memory_scale_ratio": 0.75}, {"memory-scale": "0.75"}),
    (
        ActionKind.RESOURCE_CAP,
        {"cpu_cap_ratio": 0.85, "memory_cap_ratio": 0.8},
        {"cpu-cap": "0.85", "memory-cap": "0.8"},
    ),
)


def node(**fields: Any) -> NodeFacts:
    """Return a simulated node of which nothing is remarkable."""
    default = {"name": "node-0", "uid": "n", "resource_version": "7", "ready": True}
    return NodeFacts(**{**default, "unschedulable": False, "simulated": True, **fields})


def pod(name: str, workload: str = "default/Deployment/web", **fields: Any) -> PodFacts:
    """Return a running pod."""
    default = {
        "namespace": workload.split("/", maxsplit=1)[0] or "default",
        "name": name,
        "uid": f"u-{name}",
    }
    return PodFacts(**{**default, "workload": workload, "cpu_request_cores": 1.0, **fields})


def workload(identity: str, **fields: Any) -> WorkloadFacts:
    """Return a workload of `<namespace>/<kind>/<name>`."""
    namespace, kind, name = identity.split("/")
    default = {"id": identity, "kind": kind, "namespace": namespace, "name": name, "uid": "w"}
    return WorkloadFacts(**{**default, "resource_version": "3", "replicas": 2, **fields})


def expect_plan(kind: ActionKind, facts: Facts, **parameters: Any) -> OperationPlan:
    """Return a plan that must exist."""
    found = PLANS[kind](make_action(kind=kind, **parameters), facts, SETTINGS)
    assert isinstance(found, OperationPlan), found
    return found


def expect_refusal(kind: ActionKind, facts: Facts, **parameters: Any) -> Reason:
    """Return the reason of a refusal that must be."""
    found = PLANS[kind](make_action(kind=kind, **parameters), facts, SETTINGS)
    assert isinstance(found, PlanRefusal), found
    return found.reason


@pytest.mark.parametrize(("kind", "parameters", "expected"), LIMITS)
def test_limits_are_annotations_with_their_undo(
    kind: ActionKind, parameters: dict[str, float], expected: dict[str, str]
) -> None:
    """A limit on a node states its annotations and can be taken back to none."""
    *taints, operation = expect_plan(
        kind, Facts(time_seconds=0, node=node()), **parameters
    ).operations
    names = {f"foresail.dev/{name}": value for name, value in expected.items()}
    assert json.loads(operation.patch)["metadata"]["annotations"] == names
    assert json.loads(operation.undo)["metadata"]["annotations"] == dict.fromkeys(names)
    wanted = [Verb.TAINT] if kind is ActionKind.RESOURCE_CAP else []
    assert [one.verb for one in taints] == wanted


@pytest.mark.parametrize(("kind", "parameters", "expected"), LIMITS[:3])
def test_a_limit_that_is_set_is_not_set_again(
    kind: ActionKind, parameters: dict[str, float], expected: dict[str, str]
) -> None:
    """A node that has the limit already is left alone."""
    there = node(annotations={f"foresail.dev/{name}": value for name, value in expected.items()})
    refusal = expect_refusal(kind, Facts(time_seconds=0, node=there), **parameters)
    assert refusal is Reason.ALREADY_IN_STATE


@pytest.mark.parametrize("kind", [row[0] for row in LIMITS] + [ActionKind.MIGRATE])
def test_a_node_that_is_gone_or_marked_is_left_alone(kind: ActionKind) -> None:
    """A missing node is TARGET_GONE, one marked do-not-disrupt is PROTECTED."""
    assert expect_refusal(kind, Facts(time_seconds=0)) is Reason.TARGET_GONE
    marked = Facts(time_seconds=0, node=node(protected=True), pods=(pod("a"),))
    assert expect_refusal(kind, marked) is Reason.PROTECTED


def test_only_an_empty_node_sleeps() -> None:
    """Pods but DaemonSets' keep a node awake; an empty one is marked and cordoned in one write."""
    busy = Facts(time_seconds=0, node=node(), pods=(pod("a"),))
    assert (
        expect_refusal(ActionKind.POWER_STATE, busy, power_state="sleep") is Reason.NODE_NOT_EMPTY
    )
    empty = Facts(time_seconds=0, node=node(), pods=(pod("a", daemon=True),))
    plan = expect_plan(ActionKind.POWER_STATE, empty, power_state="sleep")
    patch = json.loads(plan.operations[0].patch)
    assert patch["spec"] == {"unschedulable": True}
    assert patch["metadata"]["annotations"] == {"foresail.dev/power-state": "sleep"}


def test_waking_takes_the_cordon_away() -> None:
    """`on` removes what `sleep` set."""
    asleep = node(unschedulable=True, annotations={"foresail.dev/power-state": "sleep"})
    plan = expect_plan(ActionKind.POWER_STATE, Facts(time_seconds=0, node=asleep), power_state="on")
    assert json.loads(plan.operations[0].patch)["spec"] == {"unschedulable": None}


def test_replicate_states_an_absolute_number() -> None:
    """The Deployment with most pods on the node gets one replica more, at the version read."""
    pods = (pod("a", "default/Deployment/few"), pod("b"), pod("c"))
    works = (workload("default/Deployment/few"), workload("default/Deployment/web"))
    facts = Facts(time_seconds=0, node=node(), pods=pods, workloads=works)
    operation = expect_plan(ActionKind.REPLICATE, facts).operations[0]
    assert (operation.verb, operation.name, operation.replicas) == (Verb.SCALE, "web", 3)
    assert operation.resource_version == "3"
    assert json.loads(operation.undo) == {"spec": {"replicas": 2}}


def test_replicate_refuses_without_a_deployment_or_when_protected() -> None:
    """Nothing to replicate is NO_WORKLOAD; a protected namespace is PROTECTED."""
    bare = Facts(time_seconds=0, node=node(), pods=(pod("a", "default/Job/j"),))
    assert expect_refusal(ActionKind.REPLICATE, bare) is Reason.NO_WORKLOAD
    system = "kube-system/Deployment/dns"
    facts = Facts(
        time_seconds=0, node=node(), pods=(pod("a", system),), workloads=(workload(system),)
    )
    assert expect_refusal(ActionKind.REPLICATE, facts) is Reason.PROTECTED


def test_migrate_evicts_the_largest_movable_pods_by_uid() -> None:
    """A soft taint, then the two largest pods that somebody would replace."""
    pods = (
        pod("small", cpu_request_cores=0.1),
        pod("large", cpu_request_cores=4.0),
        pod("middle", cpu_request_cores=2.0),
        pod("bare", "", cpu_request_cores=9.0),
        pod("daemon", daemon=True, cpu_request_cores=9.0),
    )
    plan = expect_plan(ActionKind.MIGRATE, Facts(time_seconds=0, node=node(), pods=pods))
    taint, *evictions = plan.operations
    assert json.loads(taint.patch)["add"][0]["effect"] == "PreferNoSchedule"
    assert [(eviction.verb, eviction.uid) for eviction in evictions] == [
        (Verb.EVICT, "u-large"),
        (Verb.EVICT, "u-middle"),
    ]


def test_migrate_moves_no_pod_of_a_protected_workload() -> None:
    """do-not-disrupt on the Deployment covers its pods; bare pods are never moved."""
    marked = workload("default/Deployment/web", protected=True)
    facts = Facts(time_seconds=0, node=node(), pods=(pod("a"),), workloads=(marked,))
    assert expect_refusal(ActionKind.MIGRATE, facts) is Reason.PROTECTED
    bare = Facts(time_seconds=0, node=node(), pods=(pod("a", ""),))
    assert expect_refusal(ActionKind.MIGRATE, bare) is Reason.NO_MOVABLE_POD


def test_queue_holds_only_jobs_that_wait_entirely() -> None:
    """Jobs with a running pod, held ones and Deployments stay; the newest waiting Job is first."""
    works = (
        workload("a/Job/old", replicas=1, pending_pods=1, created_time_seconds=1),
        workload("a/Job/new", replicas=1, pending_pods=1, created_time_seconds=2),
        workload("a/Job/half", replicas=2, pending_pods=1),
        workload("a/Deployment/web", replicas=1, pending_pods=1),
    )
    facts = Facts(time_seconds=0, workloads=works)
    plan = expect_plan(ActionKind.ADMISSION, facts, admission="queue")
    assert [operation.name for operation in plan.operations] == ["new", "old"]
    assert json.loads(plan.operations[0].patch)["spec"] == {"suspend": True}
    reject = expect_plan(ActionKind.ADMISSION, facts, admission="reject")
    assert "web" in [operation.name for operation in reject.operations]


def test_deprioritize_holds_the_lowest_priority_only() -> None:
    """Of the waiting Jobs only those of the lowest priority are held."""
    works = (
        workload("a/Job/low", replicas=1, pending_pods=1, priority=0),
        workload("a/Job/high", replicas=1, pending_pods=1, priority=5),
    )
    facts = Facts(time_seconds=0, workloads=works)
    plan = expect_plan(ActionKind.ADMISSION, facts, admission="deprioritize")
    assert [operation.name for operation in plan.operations] == ["low"]


def test_admit_restores_what_was_held_and_trusts_no_other_annotation() -> None:
    """The former value comes back; a foreign or broken annotation restores nothing."""
    held = workload("a/Deployment/web", replicas=0, annotations={HELD: '{"replicas": 4}'})
    plan = expect_plan(ActionKind.ADMISSION, Facts(time_seconds=0, workloads=(held,)))
    assert json.loads(plan.operations[0].patch)["spec"] == {"replicas": 4}
    for text in ("not json", '{"template": {}}', '{"replicas": -1}', "[]"):
        foreign = held.model_copy(update={"annotations": {HELD: text}})
        facts = Facts(time_seconds=0, workloads=(foreign,))
        assert expect_refusal(ActionKind.ADMISSION, facts) is Reason.ALREADY_IN_STATE


def test_noop_plans_nothing_and_every_kind_has_a_plan() -> None:
    """A noop is refused as NOOP; the table of plans is complete; the template works."""
    assert expect_refusal(ActionKind.NOOP, Facts(time_seconds=0)) is Reason.NOOP
    assert set(PLANS) == set(ActionKind)
    assert isinstance(
        example.plan(make_action(), Facts(time_seconds=0, node=node()), SETTINGS), OperationPlan
    )


def sleeping(**fields: Any) -> Facts:
    """Return the facts of a node without pods."""
    return Facts(time_seconds=0, node=node(**fields))


def test_sleep_and_off_close_a_node_and_on_opens_it() -> None:
    """Both kinds of rest need an empty node and go the same way; `sleep` is what is meant without a word."""
    busy = Facts(time_seconds=0, node=node(), pods=(pod("a"),))
    for state in ("sleep", "off"):
        plan = expect_plan(ActionKind.POWER_STATE, sleeping(), power_state=state)
        assert plan.direction == "off"
        assert json.loads(plan.operations[0].patch)["spec"] == {"unschedulable": True}
        assert (
            expect_refusal(ActionKind.POWER_STATE, busy, power_state=state) is Reason.NODE_NOT_EMPTY
        )
    assert expect_plan(ActionKind.POWER_STATE, sleeping()).text == "set node-0 to sleep"
    awake = sleeping(unschedulable=True)
    assert expect_plan(ActionKind.POWER_STATE, awake, power_state="on").direction == "on"


@pytest.mark.parametrize("state", ["sleep", "off", "on"])
def test_a_marked_node_keeps_its_power_state(state: str) -> None:
    """do-not-disrupt holds for sleep, off and on."""
    marked = sleeping(protected=True)

    assert expect_refusal(ActionKind.POWER_STATE, marked, power_state=state) is Reason.PROTECTED
    assert expect_refusal(ActionKind.POWER_STATE, Facts(time_seconds=0)) is Reason.TARGET_GONE


def test_undo_restores_the_former_value() -> None:
    """A node that had a limit gets that one back, not none."""
    limited = sleeping(annotations={"foresail.dev/cpu-cap": "0.9"})

    plan = expect_plan(ActionKind.THROTTLE, limited, cpu_cap_ratio=0.85)

    undo = json.loads(plan.operations[0].undo)
    assert undo == {"metadata": {"annotations": {"foresail.dev/cpu-cap": "0.9"}}}


@pytest.mark.parametrize(
    ("kind", "parameters"), [(ActionKind.MIGRATE, {}), (ActionKind.RESOURCE_CAP, LIMITS[3][1])]
)
def test_taints_of_others_stay(kind: ActionKind, parameters: dict[str, float]) -> None:
    """A change names our own taint alone, so others can come and go meanwhile."""
    other = {"key": "gpu", "effect": "NoSchedule"}
    facts = Facts(time_seconds=0, node=node(taints=(other,)), pods=(pod("a"),))

    operation = expect_plan(kind, facts, **parameters).operations[0]

    change, undo = json.loads(operation.patch), json.loads(operation.undo)
    assert (change["remove"], undo) == ([], {"add": [], "remove": change["add"]})
    assert all(one["key"].startswith("foresail.dev/") for one in change["add"])
    assert operation.resource_version == ""
    again = Facts(time_seconds=0, node=node(taints=(other, *change["add"])), pods=(pod("a"),))
    assert Verb.TAINT not in {one.verb for one in expect_plan(kind, again, **parameters).operations}


def test_migrate_passes_over_what_is_protected() -> None:
    """Marked pods and pods of protected namespaces stay; others move, at most as many as allowed."""
    pods = (
        pod("system", "kube-system/Deployment/dns", cpu_request_cores=9.0),
        pod("marked", cpu_request_cores=8.0, protected=True),
        *(pod(f"p{number}") for number in range(4)),
    )

    plan = expect_plan(ActionKind.MIGRATE, Facts(time_seconds=0, node=node(), pods=pods))

    assert [operation.name for operation in plan.operations[1:]] == ["p0", "p1"]
    assert (plan.direction, plan.workloads) == ("move", ("default/Deployment/web",))


def test_replicate_passes_over_what_is_protected() -> None:
    """The marked Deployment with most pods is left out, the next one gets the replica."""
    pods = (pod("a"), pod("b"), pod("c", "default/Deployment/few"))
    marked = workload("default/Deployment/web", protected=True)
    facts = Facts(
        time_seconds=0,
        node=node(),
        pods=pods,
        workloads=(workload("default/Deployment/few"), marked),
    )

    assert expect_plan(ActionKind.REPLICATE, facts).operations[0].name == "few"
    alone = facts.model_copy(update={"workloads": (marked,)})
    assert expect_refusal(ActionKind.REPLICATE, alone) is Reason.PROTECTED


def waiting(name: str, **fields: Any) -> WorkloadFacts:
    """Return a Job that waits entirely."""
    return workload(f"a/Job/{name}", **{"replicas": 1, "pending_pods": 1, **fields})


@pytest.mark.parametrize("word", ["queue", "deprioritize", "reject"])
def test_nothing_is_held_that_may_not_or_need_not_be(word: str) -> None:
    """Not what is protected, suspended, held already, or wants no pods at all."""
    works = (
        waiting("marked", protected=True),
        waiting("suspended", suspended=True),
        waiting("held", annotations={HELD: '{"suspend": false}'}),
        waiting("wants-none", replicas=0, pending_pods=0),
        workload("kube-system/Job/own", replicas=1, pending_pods=1),
    )

    facts = Facts(time_seconds=0, workloads=works)

    assert expect_refusal(ActionKind.ADMISSION, facts, admission=word) is Reason.NO_WORKLOAD


def test_the_least_important_and_newest_is_held_first_and_five_at_most() -> None:
    """Low priority before high, new before old; what exceeds the limit waits for the next decision."""
    works = (
        waiting("important", priority=9, created_time_seconds=99),
        *(waiting(f"j{number}", created_time_seconds=number) for number in range(5)),
    )
    plan = expect_plan(
        ActionKind.ADMISSION, Facts(time_seconds=0, workloads=works), admission="queue"
    )
    assert [operation.name for operation in plan.operations] == ["j4", "j3", "j2", "j1", "j0"]
    assert plan.direction == "close"

    few = Facts(time_seconds=0, workloads=works[:2])
    names = [
        operation.name
        for operation in expect_plan(ActionKind.ADMISSION, few, admission="queue").operations
    ]
    assert names == ["j0", "important"]


def test_the_most_important_and_oldest_is_given_back_first() -> None:
    """High priority before low, old before new."""
    held = {"annotations": {HELD: '{"suspend": false}'}, "suspended": True}
    works = (
        waiting("new", created_time_seconds=2, **held),
        waiting("old", created_time_seconds=1, **held),
        waiting("important", priority=9, created_time_seconds=3, **held),
    )

    plan = expect_plan(ActionKind.ADMISSION, Facts(time_seconds=0, workloads=works))

    assert [operation.name for operation in plan.operations] == ["important", "old", "new"]
    assert plan.direction == "open"
    undo = json.loads(plan.operations[0].undo)
    assert undo == {
        "metadata": {"annotations": {HELD: '{"suspend": false}'}},
        "spec": {"suspend": True},
    }


def test_a_held_jobs_annotation_can_only_let_it_run() -> None:
    """Whatever else somebody writes there is not applied to the Job."""
    for text in ('{"suspend": true}', '{"parallelism": 900}', "null"):
        one = waiting("j", annotations={HELD: text}, suspended=True)
        facts = Facts(time_seconds=0, workloads=(one,))
        assert expect_refusal(ActionKind.ADMISSION, facts) is Reason.ALREADY_IN_STATE
