"""Filter plugins, one table each: which nodes are out, and in which words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def spread(key: str = ZONE, skew: int = 1, **fields: Any) -> Object:
    """A hard spreading constraint over pods of app=web."""
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }


def zoned_cluster(*counts: int) -> Cluster:
    """Nodes z0-0, z0-1 ... in zones z0, z1 ...; the first of each zone holds `counts` web pods."""
    cluster = Cluster()
    for zone, count in enumerate(counts):
        for index in range(2):
            cluster.node(f"z{zone}-{index}", labels={ZONE: f"z{zone}"})
        for index in range(count):
            cluster.pod(f"w{zone}-{index}", labels={"app": "web"}, on=f"z{zone}-0")
    return cluster


@pytest.mark.parametrize(
    ("tolerations", "out"),
    [
        ([], {"node(s) had untolerated taint(s)": 1, "node(s) were unschedulable": 1}),
        ([{"key": "gpu", "operator": "Exists"}], {"node(s) were unschedulable": 1}),
        ([{"key": "gpu", "value": "a100", "effect": "NoExecute"}],
         {"node(s) had untolerated taint(s)": 1, "node(s) were unschedulable": 1}),
        ([{"operator": "Exists"}], {}),
    ],
)  # fmt: skip
def test_taints_and_cordons(tolerations: list[Object], out: dict[str, int]) -> None:
    """Hard taints and cordons keep pods away unless tolerated; PreferNoSchedule does not."""
    cluster = Cluster()
    cluster.node("plain", taints=[{"key": "soft", "effect": "PreferNoSchedule"}])
    cluster.node("gpu", taints=[{"key": "gpu", "value": "a100", "effect": "NoSchedule"}])
    cluster.node("cordoned", unschedulable=True)
    pod = cluster.pod("p", tolerations=tolerations)

    assert cluster.reasons(pod) == out


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ({"key": "disk", "operator": "In", "values": ["ssd"]}, ["a"]),
        ({"key": "disk", "operator": "NotIn", "values": ["ssd"]}, ["b", "c"]),
        ({"key": "disk", "operator": "Exists"}, ["a", "b"]),
        ({"key": "disk", "operator": "DoesNotExist"}, ["c"]),
        ({"key": "cores", "operator": "Gt", "values": ["16"]}, ["b"]),
        ({"key": "cores", "operator": "Lt", "values": ["16"]}, ["a"]),
    ],
)
def test_node_affinity(rule: Object, allowed: list[str]) -> None:
    """Each operator of a required node selector term; a missing label satisfies only negations."""
    cluster = Cluster()
    cluster.node("a", labels={"disk": "ssd", "cores": "8"})
    cluster.node("b", labels={"disk": "hdd", "cores": "32"})
    cluster.node("c")
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    pod = cluster.pod("p", affinity={"nodeAffinity": required})

    assert cluster.feasible(pod) == allowed
    refused = 3 - len(allowed)
    assert cluster.reasons(pod) == {"node(s) didn't match Pod's node affinity/selector": refused}


def test_affinity_to_a_node_by_its_name() -> None:
    """matchFields selects by metadata.name, as DaemonSet pods do."""
    cluster = Cluster()
    cluster.node("a")
    cluster.node("b")
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}

    pod = cluster.pod("p", affinity={"nodeAffinity": required})

    assert cluster.feasible(pod) == ["b"]
    assert cluster.reasons(pod) == {"node(s) didn't satisfy plugin(s) [NodeAffinity]": 1}


@pytest.mark.parametrize(
    "other", [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}, {}]
)
def test_a_term_without_names_leaves_each_node_to_its_own_look(other: Object) -> None:
    """Only when every term names its nodes are the others out before a filter looks at them."""
    cluster = Cluster()
    cluster.node("a")
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}, other]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    pod = cluster.pod("p", affinity={"nodeAffinity": required})

    assert cluster.reasons(pod) == {"node(s) didn't match Pod's node affinity/selector": 1}


@pytest.mark.parametrize(
    ("asked", "reasons"),
    [
        ({"cpu": "3"}, {"Insufficient cpu": 1}),
        ({"memory": "7Gi"}, {"Insufficient memory": 1}),
        ({"cpu": "3", "memory": "7Gi"}, {"Insufficient cpu": 1, "Insufficient memory": 1}),
        ({"nvidia.com/gpu": "1"}, {"Insufficient nvidia.com/gpu": 1}),
        ({"example.com/nic": "2"}, {"Insufficient example.com/nic": 1}),
        ({"ephemeral-storage": "2Gi"}, {"Insufficient ephemeral-storage": 1}),
        ({}, {}),
    ],
)
def test_resources(asked: dict[str, str], reasons: dict[str, int]) -> None:
    """2 of 4 cores, 2 of 8 GiB, both GPUs, 3 of 4 NICs and 9 of 10 GiB of storage are taken."""
    cluster = Cluster()
    others = {"nvidia.com/gpu": "2", "example.com/nic": "4", "ephemeral-storage": "10Gi"}
    cluster.node("n", others=others)
    held = {"nvidia.com/gpu": "2", "example.com/nic": "3", "ephemeral-storage": "9Gi"}
    cluster.pod("there", "2", "2Gi", requests=held, on="n")

    assert cluster.reasons(cluster.pod("p", requests=asked)) == reasons


def test_a_full_node_takes_no_pod_and_an_overfull_one_those_that_ask_for_nothing() -> None:
    """Pod slots count for every pod; a resource that a pod does not request never keeps it out."""
    cluster = Cluster()
    cluster.node("full", pods="1")
    cluster.node("overfull", cpu="1")
    cluster.pod("a", on="full")
    cluster.pod("b", "3", on="overfull")
    pod = cluster.pod("p")

    assert cluster.feasible(pod) == ["overfull"]
    assert cluster.reasons(pod) == {"Too many pods": 1}


def test_init_containers_sidecars_and_overhead_count() -> None:
    """max(containers 1 + sidecar 1, sidecar 1 + init 2) + overhead 0.5 = 3.5 cores."""
    cluster = Cluster()
    cluster.node("n")

    def container(name: str, cpu: str, **fields: Any) -> Object:
        resources = {"requests": {"cpu": cpu}}
        return {"name": name, "image": "x:1", "resources": resources, **fields}

    pod = cluster.store.create_record(
        "pods",
        "default",
        {
            "metadata": {"name": "p"},
            "spec": {
                "containers": [container("c", "1")],
                "initContainers": [
                    container("s", "1", restartPolicy="Always"),
                    container("i", "2"),
                ],
                "overhead": {"cpu": "500m"},
            },
        },
    )

    assert pod.shape.needs.amounts.tolist() == [3_500, 0, 0, 1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mine", "free"),
    [
        ({"hostPort": 80}, ["b"]),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, ["b"]),
        ({"hostPort": 80, "protocol": "UDP"}, ["a", "b"]),
        ({"hostPort": 81}, ["a", "b"]),
        ({"hostPort": 443, "hostIP": "10.0.0.2"}, ["a", "b"]),
        ({"hostPort": 443, "hostIP": "10.0.0.1"}, ["b"]),
        ({}, ["a", "b"]),
    ],
)
def test_host_ports(mine: Object, free: list[str]) -> None:
    """Same protocol and port collide on the same address, and on any when one has none."""
    cluster = Cluster()
    cluster.node("a")
    cluster.node("b")
    held = [{"containerPort": 1, "hostPort": 80},
            {"containerPort": 2, "hostPort": 443, "hostIP": "10.0.0.1"}]  # fmt: skip
    cluster.pod("there", ports=held, on="a")
    pod = cluster.pod("p", ports=[{"containerPort": 1, **mine}])

    assert cluster.feasible(pod) == free
    text = "node(s) didn't have free ports for the requested pod ports"
    assert cluster.reasons(pod) == ({text: 1} if free == ["b"] else {})


@pytest.mark.parametrize(
    ("counts", "constraint", "zones"),
    [
        ((1, 0, 0), spread(), ["z1", "z2"]),  # 1 + 1 - 0 > 1 in z0
        ((1, 1, 0), spread(), ["z2"]),
        ((1, 1, 1), spread(), ["z0", "z1", "z2"]),
        ((2, 1, 0), spread(skew=2), ["z1", "z2"]),  # 2 + 1 - 0 > 2
        ((1, 1, 1), spread(minDomains=4), []),  # too few zones: the least counts as 0
        ((0, 0, 0), spread(minDomains=4), ["z0", "z1", "z2"]),
        ((3, 0, 0), spread(labelSelector={"matchLabels": {"app": "db"}}), ["z0", "z1", "z2"]),
    ],
)
def test_hard_spreading(counts: tuple[int, ...], constraint: Object, zones: list[str]) -> None:
    """podtopologyspread/filtering.go: matching + self - least of all domains <= maxSkew."""
    cluster = zoned_cluster(*counts)
    pod = cluster.pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint])
    refused = 6 - 2 * len(zones)

    assert cluster.feasible(pod) == [f"{zone}-{index}" for zone in zones for index in range(2)]
    text = "node(s) didn't match pod topology spread constraints"
    assert cluster.reasons(pod) == ({text: refused} if refused else {})


def test_spreading_needs_the_label_and_says_so() -> None:
    """A node without the topology label is out, and preemption cannot change that."""
    cluster = zoned_cluster(0, 0)
    cluster.node("bare")
    pod = cluster.pod("p", labels={"app": "web"}, topologySpreadConstraints=[spread()])
    text = "node(s) didn't match pod topology spread constraints (missing required label)"

    assert cluster.reasons(pod) == {text: 1}


def test_which_nodes_and_pods_a_spreading_counts() -> None:
    """Nodes that the pod cannot select do not count by default, tainted ones do unless asked;
    pods of other namespaces and those being deleted do not.
    """
    cluster = zoned_cluster(1, 1)
    cluster.node("z2-0", labels={ZONE: "z2"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    cluster.namespace("other")
    cluster.pod("elsewhere", labels={"app": "web"}, namespace="other", on="z1-1")
    leaving = cluster.pod("leaving", labels={"app": "web"}, on="z1-1")
    cluster.store.delete("pods", "default", leaving.name)
    labels = {"app": "web"}
    plain = cluster.pod("p", labels=labels, topologySpreadConstraints=[spread()])
    honors = spread(nodeTaintsPolicy="Honor")
    strict = cluster.pod("q", labels=labels, topologySpreadConstraints=[honors])

    assert cluster.feasible(plain) == []  # z2 is empty, so z0 and z1 would skew by 2
    assert cluster.feasible(strict) == ["z0-0", "z0-1", "z1-0", "z1-1"]


def test_spreading_by_keys_of_the_pod() -> None:
    """matchLabelKeys counts only pods with the pod's own value: each revision spreads alone."""
    cluster = zoned_cluster(0, 0)
    cluster.pod("old", labels={"app": "web", "rev": "1"}, on="z0-0")
    constraint = spread(matchLabelKeys=["rev"])
    pod = cluster.pod(
        "p", labels={"app": "web", "rev": "2"}, topologySpreadConstraints=[constraint]
    )

    assert len(cluster.feasible(pod)) == 4


def term(app: str, key: str = ZONE, **fields: Any) -> Object:
    """A pod affinity term over pods of an app."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def near(*terms: Object) -> Object:
    """Required pod affinity."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def far(*terms: Object) -> Object:
    """Required pod anti-affinity."""
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


@pytest.mark.parametrize(
    ("affinity", "nodes", "reason"),
    [
        (near(term("web")), ["z0-0", "z0-1"], "node(s) didn't match pod affinity rules"),
        (near(term("web", HOST)), ["z0-0"], "node(s) didn't match pod affinity rules"),
        (near(term("nobody")), [], "node(s) didn't match pod affinity rules"),
        (far(term("web")), ["z1-0", "z1-1"], "node(s) didn't match pod anti-affinity rules"),
        (far(term("web", HOST)), ["z0-1", "z1-0", "z1-1"],
         "node(s) didn't match pod anti-affinity rules"),
        (near(term("web", namespaces=["other"])), [], "node(s) didn't match pod affinity rules"),
        (near(term("web", namespaceSelector={})), ["z0-0", "z0-1"],
         "node(s) didn't match pod affinity rules"),
    ],
)  # fmt: skip
def test_pod_affinity(affinity: Object, nodes: list[str], reason: str) -> None:
    """interpodaffinity/filtering.go, with one web pod on z0-0 and no other."""
    cluster = zoned_cluster(1, 0)
    pod = cluster.pod("p", affinity=affinity)

    assert cluster.feasible(pod) == nodes
    assert cluster.reasons(pod) == {reason: 4 - len(nodes)}


def test_the_first_of_pods_that_want_to_be_together_may_start_anywhere() -> None:
    """A pod that matches its own affinity passes while no pod matches; the next has to follow."""
    cluster = zoned_cluster(0, 0)
    cluster.node("bare")
    first = cluster.pod("a", labels={"app": "db"}, affinity=near(term("db")))
    assert cluster.feasible(first) == ["z0-0", "z0-1", "z1-0", "z1-1"]
    cluster.advance(1)
    zone = cluster.where("a")[:2]

    second = cluster.pod("b", labels={"app": "db"}, affinity=near(term("db")))
    assert cluster.feasible(second) == [f"{zone}-0", f"{zone}-1"]


def test_anti_affinity_is_symmetric() -> None:
    """A pod that is there keeps away the pods that its own anti-affinity selects."""
    cluster = zoned_cluster(0, 0)
    cluster.pod("hermit", affinity=far(term("web")), on="z0-0")
    pod = cluster.pod("p", labels={"app": "web"})

    assert cluster.feasible(pod) == ["z1-0", "z1-1"]
    assert cluster.reasons(pod) == {"node(s) didn't satisfy existing pods anti-affinity rules": 2}
    assert len(cluster.feasible(cluster.pod("q", labels={"app": "db"}))) == 4


def test_both_terms_have_to_be_satisfied_by_the_same_pods() -> None:
    """A pod that matches only one of two affinity terms counts for neither."""
    cluster = zoned_cluster(1, 0)
    both = near(term("web"), {**term("web", HOST), "labelSelector": {"matchLabels": {"tier": "x"}}})
    assert cluster.feasible(cluster.pod("p", affinity=both)) == []

    cluster.pod("full", labels={"app": "web", "tier": "x"}, on="z1-1")
    assert cluster.feasible(cluster.pod("q", affinity=both)) == ["z1-1"]


def test_gates_hold_a_pod_until_they_are_gone() -> None:
    """A gated pod is not tried, says so in its condition, and goes once the gates are removed."""
    cluster = Cluster()
    cluster.node("n")
    cluster.pod("p", schedulingGates=[{"name": "example.com/quota"}])
    cluster.advance(400)
    pod = copy.deepcopy(cluster.store.get("pods", "default", "p"))
    condition = pod["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    assert condition["message"] == "Scheduling is blocked due to non-empty scheduling gates"
    assert cluster.where("p") == ""

    del pod["spec"]["schedulingGates"]
    cluster.store.replace("pods", "default", "p", pod)
    cluster.advance(1)
    assert cluster.where("p") == "n"
