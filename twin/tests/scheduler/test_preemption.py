"""Preemption: who is displaced, who is not, and what everybody is told.

Upstream: pkg/scheduler/framework/preemption/preemption.go and plugins/defaultpreemption.
"""

from __future__ import annotations

from typing import Any

import pytest

from twin.config.scheduling import SchedulerConfig
from twin.records import PodRecord
from twin.scheduling.default_preemption import PreemptionCandidate, cheapest
from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
NO_VICTIMS = "No preemption victims found for incoming pod"


def with_classes(config: SchedulerConfig | None = None) -> Cluster:
    """A cluster with the priority classes low (10), mid (50), high (100) and polite (100)."""
    cluster = Cluster(config)
    for name, value in (("low", 10), ("mid", 50), ("high", 100)):
        add_class(cluster, name, value)
    add_class(cluster, "polite", 100, preemptionPolicy="Never")
    return cluster


def add_class(cluster: Cluster, name: str, value: int, **fields: Any) -> None:
    """Create a priority class."""
    cluster.store.create(
        "priorityclasses", "", {"metadata": {"name": name}, "value": value, **fields}
    )


def leaving(cluster: Cluster) -> list[str]:
    """Return the names of pods that are being deleted."""
    return [
        pod["metadata"]["name"]
        for pod in cluster.store.list("pods")
        if "deletionTimestamp" in pod["metadata"]
    ]


def budget(cluster: Cluster, name: str, app: str, allowed: int) -> None:
    """Create a PodDisruptionBudget with a status."""
    spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
    cluster.store.create("poddisruptionbudgets", "default", {"metadata": {"name": name},
                                                             "spec": spec})  # fmt: skip
    obj = cluster.store.get("poddisruptionbudgets", "default", name)
    status = {**obj["status"], "disruptionsAllowed": allowed}
    cluster.store.replace(
        "poddisruptionbudgets", "default", name, {**obj, "status": status}, subresource="status"
    )


def go(cluster: Cluster, name: str) -> None:
    """Let a leaving pod end, as its kubelet would."""
    cluster.store.remove("pods", cluster.store.record("pods", "default", name))


def test_a_pod_of_higher_priority_displaces_one_and_gets_its_place() -> None:
    """The victim leaves gracefully with condition and KubeEvent; the pod is nominated, then bound."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("victim", "3", on="n", priorityClassName="low")
    pod = cluster.pod("vip", "2", priorityClassName="high")
    cluster.advance(1)

    assert leaving(cluster) == ["victim"]
    victim = cluster.store.get("pods", "default", "victim")
    condition = victim["status"]["conditions"][-1]
    assert (condition["type"], condition["status"]) == ("DisruptionTarget", "True")
    assert condition["reason"] == "PreemptionByScheduler"
    assert condition["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )
    events = [e for e in cluster.store.list("events") if e["reason"] == "Preempted"]
    assert [(e["type"], e["message"], e["involvedObject"]["name"]) for e in events] == [
        ("Normal", f"Preempted by pod {pod.uid} on node n", "victim")
    ]
    status = cluster.store.get("pods", "default", "vip")["status"]
    assert status["nominatedNodeName"] == "n"
    assert cluster.why("vip") == "0/1 nodes are available: 1 Insufficient cpu."
    go(cluster, "victim")
    cluster.advance(2)

    assert cluster.where("vip") == "n"
    assert "nominatedNodeName" not in cluster.store.get("pods", "default", "vip")["status"]


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        ("polite", "low", "preemption: not eligible due to preemptionPolicy=Never."),
        ("mid", "mid", f"preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."),
        ("low", "high", f"preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."),
    ],
)
def test_nobody_is_displaced_without_cause(mine: str, theirs: str, told: str) -> None:
    """Not by a pod whose class says Never, and not by one of equal or lower priority."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("there", "3", on="n", priorityClassName=theirs)
    cluster.pod("p", "2", priorityClassName=mine)
    cluster.advance(1)

    assert leaving(cluster) == []
    assert cluster.why("p") == (
        f"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, {told}"
    )


def test_equals_stay_even_beside_lesser_ones() -> None:
    """A pod that would need the room of its equals, too, displaces nobody."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("equal", "2", on="n", priorityClassName="mid")
    cluster.pod("lesser", "1", on="n", priorityClassName="low")
    cluster.pod("p", "4", priorityClassName="mid")
    cluster.advance(1)

    assert leaving(cluster) == []


def test_it_says_where_preemption_cannot_help() -> None:
    """Nodes refused by their own object or size are hopeless; one that stays too full says why."""
    cluster = with_classes()
    cluster.node("small", cpu="1")
    cluster.node("tainted", taints=[{"key": "k", "effect": "NoSchedule"}])
    cluster.node("alone")
    cluster.node("full")
    cluster.pod("vip", "3", on="alone", priorityClassName="high")
    cluster.pod("vip2", "3", on="full", priorityClassName="high")
    cluster.pod("small-fry", "1", on="full", priorityClassName="low")
    cluster.pod("p", "2", priorityClassName="mid")
    cluster.advance(1)

    assert leaving(cluster) == []
    assert cluster.why("p") == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


def test_switched_off_it_says_nothing() -> None:
    """Without DefaultPreemption a pod waits, and its sentence ends with the filters' reasons."""
    cluster = with_classes(SchedulerConfig(preemption=False))
    cluster.node("n")
    cluster.pod("there", "3", on="n", priorityClassName="low")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(1)

    assert leaving(cluster) == []
    assert cluster.why("p") == "0/1 nodes are available: 1 Insufficient cpu."


def test_as_few_as_possible_go_and_the_least_important_first() -> None:
    """Of 4 pods with 1 core each, two low ones go for 2 cores; mid and the rest are reprieved."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("mid", "1", on="n", priorityClassName="mid")
    for index in range(3):
        cluster.pod(f"low{index}", "1", on="n", priorityClassName="low")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(1)
    gone = leaving(cluster)

    assert len(gone) == 2
    assert all(name.startswith("low") for name in gone)


def test_of_equal_pods_the_older_ones_stay() -> None:
    """util/utils.go, MoreImportantPod: the longer a pod runs, the later it goes."""
    cluster = with_classes()
    cluster.node("n", cpu="3")
    for age, name in ((30.0, "old"), (10.0, "new"), (20.0, "between")):
        record = cluster.pod(name, "1", on="n", priorityClassName="low")
        record.started_at = cluster.clock.now - age
    cluster.pod("p", "1", priorityClassName="high")
    cluster.advance(1)

    assert leaving(cluster) == ["new"]


def test_budgets_are_kept_if_any_other_way_is_there() -> None:
    """On one node the pod without budget goes; between nodes the one without violation is taken."""
    cluster = with_classes()
    cluster.node("n")
    budget(cluster, "web", "web", 0)
    cluster.pod("guarded", "2", labels={"app": "web"}, on="n", priorityClassName="low")
    cluster.pod("free", "2", labels={"app": "x"}, on="n", priorityClassName="mid")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(1)
    assert leaving(cluster) == ["free"]

    cluster = with_classes()
    budget(cluster, "web", "web", 0)
    cluster.node("a")
    cluster.node("b")
    cluster.pod("guarded", "3", labels={"app": "web"}, on="a", priorityClassName="low")
    cluster.pod("free", "3", on="b", priorityClassName="mid")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(1)
    assert leaving(cluster) == ["free"]


def test_a_budget_is_violated_if_there_is_no_other_way() -> None:
    """Budgets are best effort: the pod of highest priority gets its place."""
    cluster = with_classes()
    cluster.node("n")
    budget(cluster, "web", "web", 0)
    cluster.pod("guarded", "3", labels={"app": "web"}, on="n", priorityClassName="low")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(1)

    assert leaving(cluster) == ["guarded"]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([("a", "mid", "3"), ("b", "low", "3")], "b"),  # lowest highest victim
        ([("a", "low", "1"), ("a", "low", "3"), ("b", "low", "3")], "b"),  # smaller sum
    ],
)
def test_the_node_with_the_smallest_loss(pods: list[tuple[str, str, str]], expected: str) -> None:
    """preemption.go, pickOneNodeForPreemption: criteria in their order."""
    cluster = with_classes()
    cluster.node("a")
    cluster.node("b")
    for index, (node, name, cpu) in enumerate(pods):
        cluster.pod(f"{node}-{index}", cpu, on=node, priorityClassName=name)
    cluster.pod("p", "4", priorityClassName="high")
    cluster.advance(1)

    assert {name[0] for name in leaving(cluster)} == {expected}


def test_the_later_start_breaks_a_tie() -> None:
    """Among equal candidates the one whose most important victim started last is taken."""
    cluster = with_classes()
    cluster.node("n")
    made: list[PodRecord] = []
    for name, start in (("x", 5.0), ("y", 7.0), ("z", 6.0)):
        record = cluster.pod(name, "1", on="n", priorityClassName="low")
        record.started_at = start
        made.append(record)
    candidates = [PreemptionCandidate(row, (pod,), 0) for row, pod in enumerate(made)]

    assert cheapest(candidates, now=10.0).row == 1


def test_room_that_is_being_made_is_kept_for_the_one_it_is_made_for() -> None:
    """Until the victim is gone a second pod of the same priority does not take the rest."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("victim", "3", on="n", priorityClassName="low")
    cluster.pod("first", "2", priorityClassName="high")
    cluster.advance(1)
    cluster.pod("thief", "1", priorityClassName="high")
    cluster.pod("second", "1", priorityClassName="high")
    cluster.advance(1)
    assert [cluster.where(name) for name in ("thief", "second")] == ["", ""]
    go(cluster, "victim")
    cluster.advance(15)

    assert [cluster.where(name) for name in ("first", "thief", "second")] == ["n", "n", "n"]


def test_while_its_victims_are_leaving_a_pod_displaces_nobody_else() -> None:
    """A retry finds the room still being made, and says so."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("victim", "3", on="n", priorityClassName="low")
    cluster.pod("p", "2", priorityClassName="high")
    cluster.advance(301)  # the flush tries it again

    assert cluster.why("p") == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a "
        "terminating pod on the nominated node."
    )
    assert cluster.store.get("pods", "default", "p")["status"]["nominatedNodeName"] == "n"


def test_a_still_more_important_pod_takes_the_nomination_over() -> None:
    """The lower pod that waits for the same node loses its nomination and looks elsewhere."""
    cluster = with_classes()
    cluster.node("n")
    cluster.pod("victim", "4", on="n", priorityClassName="low")
    cluster.pod("mid", "3", priorityClassName="mid")
    cluster.advance(1)
    cluster.pod("high", "4", priorityClassName="high")
    cluster.advance(1)
    nominated = {
        pod["metadata"]["name"]: pod["status"].get("nominatedNodeName", "")
        for pod in cluster.store.list("pods")
    }

    assert nominated == {"victim": "", "mid": "", "high": "n"}


def test_pods_in_the_way_are_displaced_for_anti_affinity_ports_and_spreading_too() -> None:
    """Whatever refuses a node and would not without its lower pods makes them victims."""
    term = {"topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "web"}}}  # fmt: skip
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
    port = [{"containerPort": 80, "hostPort": 80}]
    cases: list[Object] = [
        {"affinity": {"podAntiAffinity": required}},
        {"ports": port},
        {"labels": {"app": "web"}, "topologySpreadConstraints": [spread]},
    ]
    for wishes in cases:
        cluster = with_classes()
        cluster.node("n")
        cluster.pod("innocent", "1", on="n", priorityClassName="low")
        cluster.pod("there", "1", labels={"app": "web"}, ports=port, on="n",
                    priorityClassName="low")  # fmt: skip
        cluster.pod("p", "1", priorityClassName="high", **wishes)
        cluster.advance(1)
        assert leaving(cluster) == ["there"], wishes


def test_enough_candidates_end_the_search() -> None:
    """minCandidateNodesAbsolute: with 1, the first node from a drawn one on is taken."""
    chosen = set()
    for seed in range(12):
        config = SchedulerConfig(candidate_nodes_absolute=1, candidate_nodes_percentage=0)
        cluster = Cluster(config, seed=seed)
        add_class(cluster, "high", 100)
        for index in range(4):
            cluster.node(f"n{index}")
            cluster.pod(f"v{index}", "3", on=f"n{index}")
        cluster.pod("p", "2", priorityClassName="high")
        cluster.advance(1)
        chosen.add(tuple(leaving(cluster)))

    assert all(len(names) == 1 for names in chosen)
    assert len(chosen) > 1
