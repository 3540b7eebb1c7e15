"""Whatever preemption finds in random clusters, trying it out by hand confirms."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from twin.records import PodRecord
from twin.scheduling.cycle import Cycle
from twin.tests.scheduler import reference
from twin.tests.scheduler.cluster import Cluster
from twin.tests.scheduler.reference import Facts, Object
from twin.tests.scheduler.worlds import add_pod, build, facts_of

CLASSES = {"low": 1, "mid": 5, "high": 9}


def uid_of(pod: Object) -> str:
    """Return the uid of a served pod."""
    return str(pod["metadata"]["uid"])


def without(facts: Facts, uids: set[str]) -> Facts:
    """Return the facts as they would be without some pods."""
    rest = [pod for pod in facts.pods if uid_of(pod) not in uids]
    return Facts(facts.nodes, rest, facts.namespaces)


def is_refused(facts: Facts, pod: Object, node: str, gone: set[str]) -> bool:
    """True when a node is out for a pod even if some others were gone."""
    return bool(reference.reasons(without(facts, gone), pod, facts.nodes[node]))


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=100, deadline=None)
def test_victims_are_enough_and_none_is_too_many(seed: int) -> None:
    """Without its victims the node is free for the pod, with any one of them it is not; where no
    victims are found, not even the going of all lower pods of any one node would help.
    """
    rng, cluster = Random(seed), Cluster()
    for name, value in CLASSES.items():
        cluster.store.create("priorityclasses", "", {"metadata": {"name": name}, "value": value})
    build(rng, cluster, nodes=rng.randrange(1, 5), pods=0)
    for index in range(rng.randrange(0, 30)):
        name = rng.choice(list(CLASSES))
        add_pod(rng, cluster, f"there{index}", cluster.nodes.names[rng.randrange(cluster.nodes.count)],
                priorityClassName=name)  # fmt: skip
    pod = add_pod(rng, cluster, "vip", priorityClassName=rng.choice(["mid", "high"]))
    head, facts = pod["metadata"], facts_of(cluster)
    record = cluster.store.record("pods", head["namespace"], head["name"])
    assert isinstance(record, PodRecord)
    cycle = Cycle(cluster.scheduler.plugins, record)
    if cycle.feasible().any():
        return
    actual = cluster.scheduler._preemption.find(cycle, cycle.diagnose()).candidate
    lower = {
        node: {
            uid_of(other)
            for other in facts.on(node)
            if other["spec"]["priority"] < pod["spec"]["priority"]
        }
        for node in facts.nodes
    }
    if actual is None:
        attracted = reference.terms_of(pod, "podAffinity", reference.REQUIRED)
        for node, uids in lower.items():
            helped = uids and not is_refused(facts, pod, node, uids)
            assert attracted or not helped, node
        return
    node, victims = cluster.nodes.names[actual.row], {victim.uid for victim in actual.victims}
    assert victims <= lower[node]
    assert not is_refused(facts, pod, node, victims)
    if not reference.terms_of(pod, "podAffinity", reference.REQUIRED):
        for uid in victims:
            assert is_refused(facts, pod, node, victims - {uid})
