"""The smallest change lets the pod run, and half of it does not."""

from __future__ import annotations

from typing import Any

import pytest

from lab.explanations.obstacles import Obstacle
from lab.explanations.scheduling import explain_scheduling
from lab.explanations.smallest_change import open_nodes, smallest_changes
from tests.explanations.clusters import frozen, node, pod, the

GPU_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}


def required(member: str, terms: list[Any]) -> dict[str, Any]:
    """Return an affinity with required terms."""
    return {"affinity": {member: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


CASES: list[tuple[list[Any], list[Any], dict[str, Any], Obstacle, str, str]] = [
    (
        [node("a"), node("b", "6")],
        [],
        {"cpu": "9"},
        Obstacle.CPU,
        "request 6 of cpu instead of 9",
        "b",
    ),
    (
        [node("a", memory="2Gi"), node("b", memory="3Gi")],
        [],
        {"memory": "5Gi"},
        Obstacle.MEMORY,
        "request 3Gi of memory instead of 5Gi",
        "b",
    ),
    (
        [node("a", taints=[GPU_TAINT])],
        [],
        {},
        Obstacle.TAINTS,
        "tolerate dedicated=gpu:NoSchedule",
        "a",
    ),
    ([node("a", unschedulable=True)], [], {}, Obstacle.NODE_STATE, "uncordon a", "a"),
    (
        [node("a", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])],
        [],
        {},
        Obstacle.NODE_STATE,
        "a without node.kubernetes.io/not-ready:NoSchedule",
        "a",
    ),
    (
        [node("a", labels={"disk": "hdd"})],
        [],
        {"nodeSelector": {"disk": "ssd", "kubernetes.io/hostname": "a"}},
        Obstacle.SELECTOR,
        "no node selector disk=ssd",
        "a",
    ),
    (
        [node("a", labels={"zone": "x"})],
        [],
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "zone", "operator": "In", "values": ["x"]},
                                    {"key": "disk", "operator": "Exists"},
                                ]
                            }
                        ]
                    }
                }
            }
        },
        Obstacle.SELECTOR,
        "no node affinity disk Exists",
        "a",
    ),
    (
        [node("a")],
        [pod("other", labels={"app": "web"}, nodeName="a")],
        required("podAntiAffinity", [WEB]),
        Obstacle.ANTI_AFFINITY,
        "no required pod anti-affinity over kubernetes.io/hostname",
        "a",
    ),
    (
        [node("a")],
        [],
        required("podAffinity", [WEB]),
        Obstacle.AFFINITY,
        "no required pod affinity over kubernetes.io/hostname",
        "a",
    ),
]


@pytest.mark.parametrize(
    ("nodes", "others", "wish", "obstacle", "step", "where"), CASES, ids=[one[4] for one in CASES]
)
def test_one_obstacle_is_named_and_made_small(
    nodes: list[Any],
    others: list[Any],
    wish: dict[str, Any],
    obstacle: Obstacle,
    step: str,
    where: str,
) -> None:
    """Each kind of obstacle alone: what to change, on which node, and it works."""
    cluster = frozen(nodes, [*others, pod("new", **wish)])
    new = the(cluster, "new")
    changes = smallest_changes(cluster, new)

    assert explain_scheduling(cluster, new).feasible == ()
    assert [(one.obstacles, one.steps, one.node) for one in changes] == [
        ((obstacle,), (step,), where)
    ]
    assert where in open_nodes(cluster, new, changes[0].spec)
    assert changes[0].half is None or open_nodes(cluster, new, changes[0].half) == ()


def test_a_skew_is_raised_as_little_as_will_do() -> None:
    """Four pods in the only zone with room: a skew of five, not of a hundred."""
    zones = [node("a", "8", labels={"zone": "x"}), node("b", "1", labels={"zone": "y"})]
    running = [pod(f"web-{number}", labels={"app": "web"}, nodeName="a") for number in range(4)]
    filler = pod("filler", nodeName="b")
    rule = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    new = pod("new", labels={"app": "web"}, topologySpreadConstraints=[rule])
    cluster = frozen(zones, [*running, filler, new])

    assert smallest_changes(cluster, the(cluster, "new"))[0].steps == (
        "allow a skew of 5 over zone",
    )


def test_two_things_together_are_said_together() -> None:
    """Neither a toleration nor less CPU alone would do."""
    cluster = frozen([node("a", "2", taints=[GPU_TAINT])], [pod("new", "3")])
    (change,) = smallest_changes(cluster, the(cluster, "new"))

    assert change.steps == ("request 2 of cpu instead of 3", "tolerate dedicated=gpu:NoSchedule")
    assert change.half is not None
    assert open_nodes(cluster, the(cluster, "new"), change.half) == ()


def test_host_ports_that_others_have() -> None:
    """The one port that is taken, not the other."""
    taken = pod("other", nodeName="a")
    taken["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 80}]
    new = pod("new")
    ports = [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 81}]
    new["spec"]["containers"][0]["ports"] = ports
    cluster = frozen([node("a")], [taken, new])

    assert smallest_changes(cluster, the(cluster, "new"))[0].steps == ("no host port 80",)


def test_what_no_change_of_a_pod_helps() -> None:
    """No nodes, a claim that is not there, and a neighbour that keeps it away."""
    lonely = frozen([], [pod("new")])
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "none"}}
    without = frozen([node("a")], [pod("new", volumes=[claim])])
    jealous = pod("other", nodeName="a", **required("podAntiAffinity", [WEB]))
    kept_away = frozen([node("a")], [jealous, pod("new", labels={"app": "web"})])

    for cluster in (lonely, without, kept_away):
        assert explain_scheduling(cluster, the(cluster, "new")).feasible == ()
        assert smallest_changes(cluster, the(cluster, "new")) == ()


def test_requests_of_several_containers_are_cut_the_largest_first() -> None:
    """The pod's sum is what has to fit; small containers keep theirs."""
    new = pod("new", "3")
    second = {"name": "d", "image": "a:1", "resources": {"requests": {"cpu": "500m"}}}
    new["spec"]["containers"].append(second)
    cluster = frozen([node("a", "2")], [new])
    (change,) = smallest_changes(cluster, the(cluster, "new"))

    requests = [one["resources"]["requests"]["cpu"] for one in change.spec["containers"]]
    assert requests == ["1500m", "500m"]


def test_a_pod_that_is_resized_counts_with_the_larger_of_its_amounts() -> None:
    """What is allocated until the kubelet has given it back is not free."""
    said = [{"name": "c", "allocatedResources": {"cpu": "3", "memory": "1Gi"}}]
    shrinking = pod("other", "1", nodeName="a", status={"containerStatuses": said})
    cluster = frozen([node("a")], [shrinking, pod("new", "2")])

    answer = explain_scheduling(cluster, the(cluster, "new"))
    assert answer.counts == {"Insufficient cpu": 1}
