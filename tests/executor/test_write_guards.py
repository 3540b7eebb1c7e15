"""Guards over what an operation would touch: each alone, at both sides of what it allows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.outcome import Mode, Operation, Verb
from schemas.reasons import Reason
from services.executor.execution.planning import exclude_forbidden
from services.executor.facts import Facts, NodeFacts, PodFacts, WorkloadFacts
from services.executor.guards import Needs, Question, ask_guards
from services.executor.ledger import Ledger, PendingDecision
from services.executor.reach import Marked, Reach, ReachedNode, ReachedPod, Scope, scope_of
from services.executor.reading.marked_objects import WorkloadSpec
from services.executor.reading.reach import removes_pods
from services.executor.settings import ExecutorSettings
from services.protection import control_plane_mark, do_not_disrupt_mark
from tests.builders import make_action

SHOP = Scope(namespaces=("shop",), nodes="pool=shop")
NAMED = {"pool": "shop"}
MARK = (Marked(what="statefulset db", mark="karpenter.sh/do-not-disrupt=true"),)


def question(*reaches: Reach, scope: Scope = SHOP, **settings: Any) -> Question:
    """Ask about operations that touch this."""
    due = PendingDecision(
        cycle=1,
        decision_id="d",
        observation_id="o",
        action=make_action(),
        score=0.5,
        cluster_time_seconds=0.0,
    )
    policy = ExecutorSettings(**settings)
    return Question(due, Ledger(), policy, 0.0, reaches=reaches, scope=scope)


def failed_numbers(
    *reaches: Reach, scope: Scope = SHOP, **settings: Any
) -> dict[str, float | None]:
    """Return the measured number of each guard that fails."""
    guard_question = question(*reaches, scope=scope, **settings)
    return {
        check.guard: check.measured
        for check in ask_guards(Needs.REACH, guard_question)
        if not check.passed
    }


def pod(name: str = "web-0", namespace: str = "shop", **fields: Any) -> ReachedPod:
    """Return a pod that would be removed."""
    return ReachedPod(**{"namespace": namespace, "name": name, "removed": True, **fields})


def evicts(reached_pod: ReachedPod, *nodes: ReachedNode) -> Reach:
    """Return what an eviction touches."""
    return Reach(
        resource="pods",
        namespace=reached_pod.namespace,
        name=reached_pod.name,
        pods=(reached_pod,),
        nodes=nodes,
    )


def worker(name: str = "n", **fields: Any) -> ReachedNode:
    """Return a worker on which a removed pod runs."""
    return ReachedNode(**{"name": name, "written": False, **fields})


def writes(node: ReachedNode, *pods: ReachedPod) -> Reach:
    """Return what a write of a node touches."""
    written = node.model_copy(update={"written": True})
    return Reach(resource="nodes", namespace="", name=node.name, nodes=(written,), pods=pods)


def beside(name: str = "web-0", namespace: str = "shop", **fields: Any) -> ReachedPod:
    """Return a pod that runs on a node to be written."""
    return pod(name, namespace, **{"removed": False, **fields})


def test_a_plain_pod_of_a_named_namespace_may_go() -> None:
    """Nothing stands in the way of what is named and unmarked."""
    assert failed_numbers(evicts(pod(), worker())) == {}


@pytest.mark.parametrize("namespace", ["shop-test", "sho", "Shop", "other", ""])
def test_names_are_exact(namespace: str) -> None:
    """A namespace that begins like a named one, or is none, is not the named one."""
    assert "named_namespaces" in failed_numbers(evicts(pod(namespace=namespace)))


def test_every_object_outside_is_counted() -> None:
    """The measured number is how many objects lie outside, and the first one is named."""
    guard_question = question(evicts(pod("a", "x")), evicts(pod("b", "x")), evicts(pod()))
    (answer,) = [check for check in ask_guards(Needs.REACH, guard_question) if not check.passed]

    assert (answer.measured, answer.limit, answer.unit) == (2, 0, "objects")
    assert answer.reason is Reason.NAMESPACE_NOT_NAMED
    assert "x/a" in answer.text
    assert "shop" in answer.text


def test_kinds_that_are_never_written_are_refused_everywhere() -> None:
    """A Secret of a named namespace is out of bounds, too, even in the embedded cluster."""
    secret = Reach(resource="secrets", namespace="shop", name="token")
    everywhere = Scope(namespaces=None, nodes="")
    assert failed_numbers(secret) == {"named_namespaces": 1}
    assert failed_numbers(secret, scope=everywhere) == {"named_namespaces": 1}


def test_a_node_needs_the_label() -> None:
    """A node without the label is not written, one with another value neither."""
    assert failed_numbers(writes(worker(labels=NAMED))) == {}
    assert failed_numbers(writes(worker())) == {"named_nodes": 1}
    assert failed_numbers(writes(worker(labels={"pool": "x"}))) == {"named_nodes": 1}


def test_no_node_is_written_without_the_setting() -> None:
    """Where no label is set, no label helps."""
    scope = Scope(namespaces=("shop",), nodes="")
    assert failed_numbers(writes(worker(labels={"": ""})), scope=scope) == {"named_nodes": 1}


def test_a_node_is_written_only_while_its_pods_are_of_named_namespaces() -> None:
    """One pod of others is enough; those of DaemonSets and static ones run everywhere."""
    node = worker(labels=NAMED)
    assert failed_numbers(writes(node, beside())) == {}
    assert failed_numbers(writes(node, beside(), beside("x", "other"))) == {"named_nodes": 1}
    assert failed_numbers(writes(node, beside("x", "other", daemon=True))) == {}
    assert failed_numbers(writes(node, beside("x", "kube-system", static=True))) == {}
    assert failed_numbers(writes(node, beside("dns", "kube-system"))) == {"named_nodes": 1}


@pytest.mark.parametrize(
    "reach",
    [
        writes(worker(labels=NAMED, control_plane="role")),
        evicts(pod(), worker(control_plane="role")),
    ],
)
def test_the_control_plane_stays_as_it_is(reach: Reach) -> None:
    """Neither the node is written nor a pod of it removed, whatever else is allowed."""
    assert failed_numbers(reach) == {"control_plane": 1}
    assert failed_numbers(reach, scope=Scope(namespaces=None, nodes="")) == {"control_plane": 1}


@pytest.mark.parametrize(
    "reach",
    [
        evicts(pod(marked=MARK)),
        evicts(pod(), worker(mark="karpenter.sh/do-not-disrupt=true")),
        Reach(resource="deployments", namespace="shop", name="web", marked=MARK),
        Reach(resource="deployments", namespace="shop", name="web", pods=(pod(marked=MARK),)),
        writes(worker(labels=NAMED), beside(marked=MARK)),
        writes(worker(labels=NAMED, mark="foresail.dev/do-not-disrupt=true")),
    ],
    ids=["pod", "its node", "workload", "a pod of it", "a pod beside", "node"],
)
def test_what_is_marked_is_left_alone(reach: Reach) -> None:
    """A mark anywhere in what is touched refuses the whole operation."""
    assert failed_numbers(reach) == {"do_not_disrupt": 1}
    assert failed_numbers(reach, scope=Scope(namespaces=None, nodes="")) == {"do_not_disrupt": 1}


def test_kube_system_is_never_touched_even_if_nothing_protects_it() -> None:
    """Leaving it out of the protected ones and naming it does not open it."""
    scope = Scope(namespaces=("kube-system",), nodes="")
    reach = evicts(pod("dns", "kube-system"))
    assert failed_numbers(reach, scope=scope, protected_namespaces=()) == {"system_pods": 2}


def test_a_static_pod_is_never_removed() -> None:
    """Only its kubelet could; evicting the copy would only confuse."""
    assert failed_numbers(evicts(pod(static=True))) == {"system_pods": 1}


@pytest.mark.parametrize(
    ("names", "mode", "simulated", "expected"),
    [
        (None, Mode.ACTIVE, True, None),
        (None, Mode.ACTIVE, False, ()),
        ((), Mode.ACTIVE, True, ()),
        ((), Mode.ACTIVE, False, ()),
        (("shop",), Mode.ACTIVE, True, ("shop",)),
        (("shop",), Mode.SHADOW, False, ("shop",)),
        (None, Mode.SHADOW, False, None),
        ((), Mode.SHADOW, False, None),
    ],
)
def test_what_may_be_written_in_each_mode(
    names: tuple[str, ...] | None,
    mode: Mode,
    simulated: bool,
    expected: tuple[str, ...] | None,
) -> None:
    """Everything only in the embedded cluster, or as a dry run without names; no names are no rights."""
    scope = scope_of(ExecutorSettings(namespaces=names), mode, simulated=simulated)
    assert scope.namespaces == expected


@pytest.mark.parametrize(
    ("annotations", "labels", "protects"),
    [
        ({"foresail.dev/do-not-disrupt": "true"}, {}, True),
        ({}, {"foresail.dev/do-not-disrupt": "true"}, True),
        ({"karpenter.sh/do-not-disrupt": "true"}, {}, True),
        ({"karpenter.sh/do-not-disrupt": "1h"}, {}, True),
        ({"karpenter.sh/do-not-disrupt": "True "}, {}, True),
        ({"karpenter.sh/do-not-disrupt": ""}, {}, True),
        ({"karpenter.sh/do-not-disrupt": "false"}, {}, False),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, {}, True),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, {}, False),
        ({"karpenter.sh/do-not-disrupts": "true"}, {}, False),
        ({}, {}, False),
    ],
)
def test_marks(annotations: dict[str, str], labels: dict[str, str], protects: bool) -> None:
    """Three marks protect; a value that is not understood protects, too."""
    assert bool(do_not_disrupt_mark(annotations, labels)) is protects


@pytest.mark.parametrize(
    ("labels", "taints", "found"),
    [
        (["node-role.kubernetes.io/control-plane"], [], True),
        ([], ["node-role.kubernetes.io/control-plane"], True),
        (["node-role.kubernetes.io/master"], [], True),
        ([], ["node-role.kubernetes.io/master"], True),
        (["node-role.kubernetes.io/worker"], ["foresail.dev/risk"], False),
    ],
)
def test_signs_of_the_control_plane(labels: list[str], taints: list[str], found: bool) -> None:
    """The role's label or its taint, of today or of old."""
    assert bool(control_plane_mark(labels, taints)) is found


@pytest.mark.parametrize(
    ("verb", "expected", "removes"),
    [
        (Verb.SCALE, {"replicas": 4}, False),
        (Verb.SCALE, {"replicas": 3}, False),
        (Verb.SCALE, {"replicas": 2}, True),
        (Verb.PATCH, {"patch": {"spec": {"replicas": 3}}}, False),
        (Verb.PATCH, {"patch": {"spec": {"replicas": 2}}}, True),
        (Verb.PATCH, {"patch": {"spec": {"replicas": None}}}, True),
        (Verb.PATCH, {"patch": {"spec": {"suspend": True}}}, True),
        (Verb.PATCH, {"patch": {"spec": {"suspend": False}}}, False),
        (Verb.PATCH, {"patch": {"spec": {"template": {}}}}, True),
        (Verb.PATCH, {"patch": {"metadata": {"annotations": {}}}}, False),
        (Verb.DELETE, {}, True),
    ],
)
def test_which_writes_end_pods(verb: Verb, expected: dict[str, Any], removes: bool) -> None:
    """Fewer replicas, a suspended Job, or a field that nobody knows to be harmless."""
    given = (
        {**expected, "patch": json.dumps(expected["patch"])} if "patch" in expected else expected
    )
    operation = Operation(
        verb=verb, resource="deployments", namespace="shop", name="web", text="", **given
    )
    assert removes_pods(operation, WorkloadSpec(replicas=3)) is removes


def test_what_is_forbidden_is_struck_out_and_nothing_else() -> None:
    """A marked pod, a foreign one and the node go; what may be moved stays to be chosen."""
    default: dict[str, Any] = {"workload": "w", "cpu_request_cores": 1.0}
    pods = tuple(
        PodFacts(namespace=where, name=name, uid=name, **default)
        for where, name in (("shop", "a"), ("shop", "b"), ("other", "c"))
    )
    node = NodeFacts(name="n", uid="n", resource_version="1", ready=True, unschedulable=False)
    job = WorkloadFacts(
        id="other/Job/j",
        kind="Job",
        namespace="other",
        name="j",
        uid="j",
        resource_version="1",
        replicas=1,
    )
    facts = Facts(time_seconds=0.0, node=node, pods=pods, workloads=(job,))
    guard_question = question(writes(worker("n")), evicts(pod("a", marked=MARK)), evicts(pod("b")))
    left = exclude_forbidden(facts, guard_question)

    assert left is not None
    assert [pod.protected for pod in left.pods] == [True, False, True]
    assert left.node is not None
    assert not left.node.writable
    assert left.workloads[0].protected
    assert exclude_forbidden(left, guard_question) is None
