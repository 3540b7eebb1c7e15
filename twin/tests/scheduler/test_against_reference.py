"""The vectorised plugins say what a slow and obvious implementation of the same rules says."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from twin.records import PodRecord
from twin.scheduling.cycle import Cycle
from twin.tests.scheduler import reference, reference_scores
from twin.tests.scheduler.cluster import Cluster
from twin.tests.scheduler.worlds import add_pod, build, facts_of

SEEDS = st.integers(min_value=0, max_value=10**9)


def record_of(cluster: Cluster, pod: reference.Object) -> PodRecord:
    """Return the live record of a served pod."""
    head = pod["metadata"]
    record = cluster.store.record("pods", head["namespace"], head["name"])
    assert isinstance(record, PodRecord)
    return record


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_feasible_nodes_and_reasons(seed: int) -> None:
    """For every node the same verdict, and the same count of each reason over all nodes."""
    rng, cluster = Random(seed), Cluster()
    build(rng, cluster, nodes=rng.randrange(1, 12), pods=rng.randrange(0, 30))
    for index in range(4):
        pod = add_pod(rng, cluster, f"new{index}")
        facts, record = facts_of(cluster), record_of(cluster, pod)
        verdicts = {name: reference.reasons(facts, pod, node) for name, node in facts.nodes.items()}
        assert cluster.feasible(record) == [
            name for name in cluster.nodes.names if not verdicts[name]
        ]
        counted = Counter(reason for found in verdicts.values() for reason in found)
        assert cluster.reasons(record) == counted
        cluster.store.delete("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_totals_of_scores(seed: int) -> None:
    """The weighted totals of all plugins differ between nodes by exactly as much."""
    rng, cluster = Random(seed), Cluster()
    build(rng, cluster, nodes=rng.randrange(2, 12), pods=rng.randrange(0, 30))
    pod = add_pod(rng, cluster, "new")
    facts, record = facts_of(cluster), record_of(cluster, pod)
    mask = Cycle(cluster.scheduler.plugins, record).feasible()
    rows = mask.nonzero()[0]
    if not len(rows):
        return
    scores = cluster.scheduler.plugins.scores(record, rows).tolist()
    nodes = [facts.nodes[cluster.nodes.names[row]] for row in rows]
    totals = reference_scores.totals(facts, pod, nodes)

    apart = [mine - theirs for mine, theirs in zip(scores, totals, strict=True)]
    assert apart == [apart[0]] * len(apart)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_trials_agree_with_the_changed_cluster(seed: int) -> None:
    """Pods taken from a node in thought change the verdict as their deletion does."""
    rng, cluster = Random(seed), Cluster()
    build(rng, cluster, nodes=rng.randrange(1, 6), pods=rng.randrange(1, 25))
    pod = add_pod(rng, cluster, "new")
    record = record_of(cluster, pod)
    row = rng.randrange(cluster.nodes.count)
    there = list(cluster.world.pods_on.get(cluster.nodes.names[row], {}).values())
    others = [other for other in there if rng.random() < 0.5 and other.deletion_at is None]
    allowed = cluster.scheduler.plugins.rules.rules(record.shape).allowed[row]
    trial = Cycle(cluster.scheduler.plugins, record).trial(row)
    for other in others:
        trial.shift(other, -1)
    would = bool(allowed) and not trial.reasons()
    for other in others:
        cluster.store.delete("pods", other.namespace, other.name, grace_period_seconds=0)
    facts = facts_of(cluster)

    assert would == (not reference.reasons(facts, pod, facts.nodes[cluster.nodes.names[row]]))


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_a_busy_cluster_never_breaks_a_rule(seed: int) -> None:
    """Whatever the scheduler binds, the reference would have allowed at that moment."""
    rng, cluster = Random(seed), Cluster()
    build(rng, cluster, nodes=6, pods=8)
    for index in range(8):
        before = facts_of(cluster)
        pod = add_pod(rng, cluster, f"new{index}")
        cluster.advance(0.02)
        record = record_of(cluster, pod)
        if record.node_name:
            assert reference.reasons(before, pod, before.nodes[record.node_name]) == []
        else:
            verdicts = [reference.reasons(before, pod, node) for node in before.nodes.values()]
            assert all(verdicts)
            reasons = Counter(reason for found in verdicts for reason in found)
            listed = ", ".join(sorted(f"{count} {text}" for text, count in reasons.items()))
            assert record.unschedulable.startswith(f"0/6 nodes are available: {listed}.")
