"""Score plugins, one table each; expected values are worked out by hand from upstream's formulas.

All paths are below pkg/scheduler/framework/plugins of kubernetes/kubernetes.
"""

from __future__ import annotations

from typing import Any

import pytest

from inputs.errors import ConfigError
from twin.config.scheduling import SchedulerConfig
from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
MIB = 2**20


def three() -> Cluster:
    """4 cores and 8 GiB each: a empty, b with 1 core and 6 GiB taken, c with 3 cores and 2 GiB."""
    cluster = Cluster()
    for name in "abc":
        cluster.node(name)
    cluster.pod("on-b", "1", "6Gi", on="b")
    cluster.pod("on-c", "3", "2Gi", on="c")
    return cluster


def with_strategy(name: str, shape: tuple[tuple[int, int], ...] = ((0, 0), (100, 10))) -> Cluster:
    """The cluster of `three`, scored by another strategy."""
    cluster = Cluster(SchedulerConfig(strategy=name, ratio_shape=shape))  # type: ignore[arg-type]
    for name in "abc":
        cluster.node(name)
    cluster.pod("on-b", "1", "6Gi", on="b")
    cluster.pod("on-c", "3", "2Gi", on="c")
    return cluster


def test_least_allocated() -> None:
    """noderesources/least_allocated.go, pod of 1 core and 2 GiB.

    a: (75 + 75) / 2; b: (50 + 0) / 2; c: (0 + 50) / 2.
    """
    cluster = three()

    scores = cluster.score("NodeResourcesFit", cluster.pod("p", "1", "2Gi"))
    assert scores == {"a": 75, "b": 25, "c": 25}


def test_least_allocated_assumes_something_of_pods_without_requests() -> None:
    """util/pod_resources.go: 100 millicores and 200 MiB a container.

    a: (4000 - 100) x 100 / 4000 = 97; (8192 - 200) x 100 / 8192 = 97; mean 97.
    """
    cluster = Cluster()
    cluster.node("a")
    cluster.node("b")
    cluster.pod("there", on="b")
    scores = cluster.score("NodeResourcesFit", cluster.pod("p"))

    assert scores == {"a": 97, "b": 95}  # b: 3800 x 100 / 4000 = 95; 7792 x 100 / 8192 = 95


def test_most_allocated() -> None:
    """noderesources/most_allocated.go: a (25 + 25) / 2; b (50 + 100) / 2; c (100 + 50) / 2."""
    cluster = with_strategy("MostAllocated")

    scores = cluster.score("NodeResourcesFit", cluster.pod("p", "1", "2Gi"))
    assert scores == {"a": 25, "b": 75, "c": 75}


def test_requested_to_capacity_ratio() -> None:
    """noderesources/requested_to_capacity_ratio.go with the shape 0: 10, 50: 4, 100: 0.

    Scores count tenfold: 25 % gives 100 - 60 x 25 / 50 = 70, 50 % 40, 100 % 0; a resource with
    score 0 is left out of the mean: a (70 + 70) / 2, b 40 / 1, c 40 / 1.
    """
    cluster = with_strategy("RequestedToCapacityRatio", ((0, 10), (50, 4), (100, 0)))

    scores = cluster.score("NodeResourcesFit", cluster.pod("p", "1", "2Gi"))
    assert scores == {"a": 70, "b": 40, "c": 40}


def test_balanced_allocation() -> None:
    """noderesources/balanced_allocation.go: 100 x (1 - |cpu - memory| / 2).

    a: 25 % and 25 %: 100. b: 50 % and 100 %: 75. c: 100 % and 50 %: 75.
    """
    cluster = three()
    plugin = "NodeResourcesBalancedAllocation"

    assert cluster.score(plugin, cluster.pod("p", "1", "2Gi")) == {"a": 100, "b": 75, "c": 75}
    assert cluster.score(plugin, cluster.pod("q")) is None  # best effort pods are not scored


def test_balanced_allocation_of_three_resources() -> None:
    """Used parts 0.5, 0.25 and 0: mean 0.25, variance 0.125 / 3, deviation 0.2041: 79 points."""
    config = SchedulerConfig(balanced_resources=("cpu", "memory", "nvidia.com/gpu"))
    cluster = Cluster(config)
    cluster.node("a", others={"nvidia.com/gpu": "2"})
    cluster.node("b", others={"nvidia.com/gpu": "2"})
    cluster.pod("there", requests={"nvidia.com/gpu": "1"}, on="b")
    pod = cluster.pod("p", "2", "2Gi", requests={"nvidia.com/gpu": "1"})

    # a: 0.5, 0.25, 0.5: mean 0.4167, deviation 0.1179; b: 0.5, 0.25, 1.0: 0.3118
    assert cluster.score("NodeResourcesBalancedAllocation", pod) == {"a": 88, "b": 68}
    plain = cluster.pod("q", "2", "2Gi")  # no GPU asked: only cpu and memory count
    assert cluster.score("NodeResourcesBalancedAllocation", plain) == {"a": 87, "b": 87}


def test_taint_toleration() -> None:
    """tainttoleration/taint_toleration.go: 100 less intolerable soft taints x 100 / most of them."""
    cluster = Cluster()
    soft = [{"key": key, "effect": "PreferNoSchedule"} for key in "xyz"]
    for name, count in (("none", 0), ("one", 1), ("three", 3)):
        cluster.node(name, taints=soft[:count])
    pod = cluster.pod("p")
    assert cluster.score("TaintToleration", pod) == {"none": 100, "one": 67, "three": 0}

    tolerant = cluster.pod("q", tolerations=[{"key": "x", "operator": "Exists"}])
    assert cluster.score("TaintToleration", tolerant) == {"none": 100, "one": 100, "three": 0}


def test_preferred_node_affinity() -> None:
    """nodeaffinity/node_affinity.go: sums of weights, scaled so that the most is 100."""
    cluster = Cluster()
    cluster.node("both", labels={"disk": "ssd", "zone": "near"})
    cluster.node("one", labels={"disk": "ssd"})
    cluster.node("none")

    def preference(weight: int, key: str, value: str) -> Object:
        rule = {"key": key, "operator": "In", "values": [value]}
        return {"weight": weight, "preference": {"matchExpressions": [rule]}}

    wishes = [preference(20, "disk", "ssd"), preference(40, "zone", "near")]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": wishes}
    pod = cluster.pod("p", affinity={"nodeAffinity": preferred})

    assert cluster.score("NodeAffinity", pod) == {"both": 100, "one": 33, "none": 0}


def test_soft_spreading() -> None:
    """podtopologyspread/scoring.go over zones with 3, 1 and 0 pods, maxSkew 1.

    Weight ln(3 zones + 2) = 1.6094: raw 4.83, 1.61, 0 rounded to 5, 2, 0; most 5, least 0:
    100 x (5 + 0 - raw) / 5.
    """
    cluster = Cluster()
    for zone, count in enumerate((3, 1, 0)):
        cluster.node(f"n{zone}", labels={ZONE: f"z{zone}"})
        for index in range(count):
            cluster.pod(f"w{zone}-{index}", labels={"app": "web"}, on=f"n{zone}")
    constraint = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pod = cluster.pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint])
    assert cluster.score("PodTopologySpread", pod) == {"n0": 0, "n1": 60, "n2": 100}

    cluster.node("bare")  # without the label: 0, and it does not count as a domain
    assert cluster.score("PodTopologySpread", pod) == {"n0": 0, "n1": 60, "n2": 100, "bare": 0}


def owner(kind: str, name: str, uid: str) -> list[Object]:
    """A controlling owner."""
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def test_default_spreading_of_a_replica_set() -> None:
    """podtopologyspread/plugin.go: hostname with maxSkew 3 and zone with maxSkew 5.

    Hosts a, b (zone z) and c (no zone) with 2, 0, 0 pods of the set; 3 candidates, and 2 "zones"
    (one of them no label). Host: count x ln(5) + 2; zone, where there is a label: 2 x ln(4) + 4.
    a: 3.219 + 2 + 2.773 + 4 = 11.99 -> 12; b: 2 + 6.773 = 8.77 -> 9; c: 2.
    Normalised: 100 x (12 + 2 - raw) / 12 = 16, 41, 100.
    """
    cluster = Cluster()
    cluster.node("a", labels={ZONE: "z"})
    cluster.node("b", labels={ZONE: "z"})
    cluster.node("c")
    template = {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "x:1"}]}}  # fmt: skip
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = cluster.store.create(
        "replicasets", "default", {"metadata": {"name": "web"}, "spec": spec}
    )
    owners = owner("ReplicaSet", "web", made["metadata"]["uid"])
    for index in range(2):
        cluster.pod(f"w{index}", labels={"app": "web"}, owners=owners, on="a")
    pod = cluster.pod("p", labels={"app": "web"}, owners=owners)

    assert cluster.score("PodTopologySpread", pod) == {"a": 16, "b": 41, "c": 100}


def test_default_spreading_by_services_only_and_switched_off() -> None:
    """Pods of a Service spread as well; pods of a Job, or with no default constraints, do not."""
    for defaults in (None, ()):
        config = SchedulerConfig() if defaults is None else SchedulerConfig(default_spreading=())
        cluster = Cluster(config)
        cluster.node("a")
        cluster.node("b")
        cluster.pod("there", labels={"app": "web"}, on="a")
        job = cluster.pod("j", labels={"app": "web"}, owners=owner("Job", "j", "1"))
        assert cluster.score("PodTopologySpread", job) is None
        service = {
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }
        cluster.store.create("services", "default", service)
        scores = cluster.score("PodTopologySpread", cluster.pod("p", labels={"app": "web"}))
        # 1 x ln(4) + 2 = 3.39 -> 3 and 2: 100 x (3 + 2 - 3) / 3 and 100
        assert scores == ({"a": 66, "b": 100} if defaults is None else None)


def weighted_term(app: str, weight: int, key: str = HOST) -> Object:
    """A preferred pod affinity term."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"weight": weight, "podAffinityTerm": term}


def test_pod_affinity_scores() -> None:
    """interpodaffinity/scoring.go: 2 cache pods x 10 on a, 1 noisy pod x -5 on b, neither on c.

    Raw 20, -5, 0 over -5 ... 20: 100, 0, 20.
    """
    cluster = Cluster()
    for name in "abc":
        cluster.node(name)
    for index in range(2):
        cluster.pod(f"cache{index}", labels={"app": "cache"}, on="a")
    cluster.pod("noisy", labels={"app": "noisy"}, on="b")
    wishes = {
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [weighted_term("cache", 10)]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [weighted_term("noisy", 5)]
        },
    }
    pod = cluster.pod("p", affinity=wishes)

    assert cluster.score("InterPodAffinity", pod) == {"a": 100, "b": 0, "c": 20}


def test_pods_that_are_there_have_a_say_in_the_score() -> None:
    """A required affinity of theirs counts hardPodAffinityWeight (1), a preferred one its weight.

    a: 1, b: 3, c: -2; over -2 ... 3: 60, 100, 0. With ignore_preferred_terms the plugin is silent.
    """
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    term = weighted_term("web", 1)["podAffinityTerm"]
    for ignore in (False, True):
        cluster = Cluster(SchedulerConfig(ignore_preferred_terms_of_existing_pods=ignore))
        for name in "abc":
            cluster.node(name)
        cluster.pod("a", labels={"app": "web"}, affinity={"podAffinity": {required: [term]}},
                    on="a")  # fmt: skip
        cluster.pod("b", affinity={"podAffinity": {preferred: [weighted_term("web", 3)]}}, on="b")
        cluster.pod(
            "c", affinity={"podAntiAffinity": {preferred: [weighted_term("web", 2)]}}, on="c"
        )
        scores = cluster.score("InterPodAffinity", cluster.pod("p", labels={"app": "web"}))
        assert scores == (None if ignore else {"a": 60, "b": 100, "c": 0})


def test_image_locality() -> None:
    """imagelocality/image_locality.go: 500 MiB on 2 of 4 nodes counts 250 MiB.

    100 x (250 - 23) / (1000 - 23) = 23; other nodes 0.
    """
    cluster = Cluster()
    images = (("app:1", 500 * MIB),)
    for name, shown in (("a", images), ("b", images), ("c", ()), ("d", ())):
        cluster.node(name, images=shown)
    pod = cluster.pod("p", image="app:1")
    assert cluster.score("ImageLocality", pod) == {"a": 23, "b": 23, "c": 0, "d": 0}
    assert cluster.score("ImageLocality", cluster.pod("q", image="other:1")) is None


def test_an_image_without_a_tag_is_the_latest() -> None:
    """imagelocality/image_locality.go, normalizedImageName: a registry's port is no tag."""
    cluster = Cluster()
    cluster.node("a", images=(("reg:5000/app", 500 * MIB),))
    cluster.node("b")
    scores = cluster.score("ImageLocality", cluster.pod("p", image="reg:5000/app:latest"))

    assert scores == {"a": 23, "b": 0}


def test_weights_are_the_documented_ones_and_can_be_changed() -> None:
    """apis/config/v1/default_plugins.go; a plugin that is left out does not score."""
    assert dict(SchedulerConfig().scores) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    cluster = Cluster(SchedulerConfig(scores=(("ImageLocality", 5),)))
    cluster.node("full", images=(("app:1", 900 * MIB),))
    cluster.node("empty")
    cluster.pod("there", "3", "7Gi", on="full")
    cluster.pod("p", "1", "1Gi")
    cluster.advance(1)

    assert cluster.where("p") == "full"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"filters": ("Nodes",)}, "scheduler.filters"),
        ({"scores": (("Luck", 1),)}, "scheduler.scores"),
        ({"scores": (("ImageLocality", 0),)}, "scheduler.scores.ImageLocality"),
        ({"strategy": "Random"}, "scheduler.strategy"),
        ({"percentage_of_nodes_to_score": 101}, "scheduler.percentage_of_nodes_to_score"),
    ],
)
def test_bad_settings_are_named(fields: dict[str, Any], field: str) -> None:
    """A plugin that does not exist, a weight of zero and the like say which field is wrong."""
    with pytest.raises(ConfigError, match=field):
        SchedulerConfig(**fields)
